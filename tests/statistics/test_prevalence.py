"""The mathematics of counting against slow versions of it."""

import numpy as np
import pytest

from reference import counting as slow
from steelyard.statistics import prevalence

RNG = np.random.default_rng(0)


def as_batch(t):
    return prevalence.Batch(t[None], np.full(len(t), 1 / len(t)))


Y = (RNG.uniform(size=600) < 0.3).astype(int)
S = RNG.normal(size=600) + 1.5 * Y


def batch(p, n=400, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + 1.5 * (rng.uniform(size=n) < p)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.6, 1.0])
def test_acc_is_the_formula(p):
    called = (S > 0.75).astype(int)
    rates = prevalence.ClassMeans.of(np.eye(2)[called], Y)
    theirs = batch(p) > 0.75
    ours = prevalence.adjusted(np.array([1 - theirs.mean(), theirs.mean()]), rates)
    assert ours[1] == pytest.approx(slow.acc(called, Y, theirs), abs=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_most_likely_is_em(classes, seed):
    log_f = np.random.default_rng(seed).normal(size=(80, classes)) * 2
    np.testing.assert_allclose(prevalence.most_likely(log_f), slow.em(np.exp(log_f)), atol=2e-5)


@pytest.mark.parametrize("seed", [0, 2])
def test_most_likely_of_classes_that_resemble_each_other(seed):
    """EM creeps there: 2,000 plain steps end 0.04 to 0.06 short of where 100,000 do."""
    rng = np.random.default_rng(seed)
    y = rng.choice(4, 300, p=[0.1, 0.4, 0.3, 0.2])
    log_f = -0.5 * ((rng.normal(size=300) + 0.3 * y)[:, None] - 0.3 * np.arange(4)) ** 2
    np.testing.assert_allclose(prevalence.most_likely(log_f), slow.em(np.exp(log_f)), atol=1e-4)


def test_most_likely_reaches_the_corners():
    assert prevalence.most_likely(np.array([[0.0, -1.0], [0.0, -2.0]])).tolist() == [1.0, 0.0]
    assert prevalence.most_likely(np.array([[0.0, 1.0], [0.0, 2.0]])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("p", [0.0, 0.2, 0.9])
def test_median_sweep_is_the_loop(p):
    rows = batch(p, 150)
    assert prevalence.median_sweep(S, Y == 1, rows) == pytest.approx(slow.median_sweep(S, Y, rows), abs=0.01)


def test_median_sweep_of_noise_knows_nothing():
    assert prevalence.median_sweep(RNG.normal(size=4000), np.arange(4000) % 3 == 0, S) is None


def test_three_classes_are_the_best_point_of_a_grid():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 900)
    t = rng.dirichlet([1, 1, 1], 900) + np.eye(3)[y]
    t /= t.sum(axis=1, keepdims=True)
    rates = prevalence.ClassMeans.of(t, y)
    mean = rates.mean @ [0.15, 0.25, 0.6]
    np.testing.assert_allclose(prevalence.adjusted(mean, rates), [0.15, 0.25, 0.6], atol=1e-4)
    outside = rates.mean @ [-0.2, 0.5, 0.7]
    spread = sum(np.cov(part.T, bias=True) for part in rates.rows) / 3
    white = np.linalg.inv(np.linalg.cholesky(spread + 1e-6 * np.trace(spread) / 3 * np.eye(3) + 1e-12 * np.eye(3)))
    np.testing.assert_allclose(
        prevalence.adjusted(outside, rates), slow.nearest_on_simplex(outside, rates.mean, white), atol=0.006
    )


def test_likelihood_finds_the_ratio_of_normal_densities():
    rng = np.random.default_rng(3)
    y = (rng.uniform(size=200_000) < 0.2).astype(int)
    found = prevalence.Likelihood.fit((rng.normal(size=200_000) + 1.5 * y)[:, None], y, 2)
    at = np.array([[-1.0], [0.0], [2.0]])
    ratio = np.diff(found(at), axis=1).ravel()
    np.testing.assert_allclose(ratio, 1.5 * at.ravel() - 1.5**2 / 2, atol=0.05)


def test_scores_of_three_classes_are_calibrated_by_one_scale_and_what_many_rows_add_to_it():
    rng = np.random.default_rng(6)
    y = rng.choice(3, 60, p=[0.2, 0.3, 0.5])
    scores = [1.0, 0.0, 2.0] + 1.5 * np.eye(3)[y] + rng.normal(size=(60, 3))
    found = prevalence.Likelihood.fit(scores, y, 3)
    slowly = slow.calibrated(scores, y, 3, prevalence.PULL, prevalence.OFFSET, prevalence.RIDGE)
    slowly -= np.log(np.exp(slowly).sum(axis=1, keepdims=True))
    shares = np.bincount(y) / 60
    np.testing.assert_allclose(prevalence.posteriors(found(scores), shares), np.exp(slowly), atol=1e-3)


def test_few_rows_of_a_class_leave_right_probabilities_as_they_are():
    """Two classes with eight rows each: what these say of an offset between them is mostly chance."""
    rng = np.random.default_rng(8)
    counts, moved = np.array([8, 8, 200, 200]), []
    y = np.repeat(np.arange(4), counts)
    for _ in range(40):
        right = np.eye(4)[y] + rng.normal(size=(len(y), 4))  # log densities, up to what all classes share
        scores = right + np.log(counts / counts.sum())
        off = prevalence.Likelihood.fit(scores, y, 4)(scores) - right
        moved.append((off[:, 0] - off[:, 1]).mean())
    assert np.std(moved) < 0.1  # 0.065; offsets without a prior: 0.17


def test_a_model_fitted_to_balanced_classes_is_calibrated_too():
    """Its scores lack the logarithm of the prevalence, which no prior on single offsets may keep it from getting back."""
    rng = np.random.default_rng(9)
    counts = np.array([15, 600, 100])
    y = np.repeat(np.arange(3), counts)
    x = 1.5 * np.eye(3)[y] + rng.normal(size=(len(y), 3))
    plain, balanced = 1.5 * x + np.log(counts / counts.sum()), 1.5 * x
    gap = prevalence.Likelihood.fit(plain, y, 3)(plain) - prevalence.Likelihood.fit(balanced, y, 3)(balanced)
    np.testing.assert_allclose(gap - gap.mean(axis=1, keepdims=True), 0.0, atol=0.02)


def test_few_rows_of_many_classes_are_not_overfitted():
    """Right probabilities of ten classes, 20 rows of each to calibrate by: it must not make them much worse."""
    rng = np.random.default_rng(7)

    def draw(n):
        y = rng.integers(0, 10, n)
        return 2.0 * np.eye(10)[y] + rng.normal(size=(n, 10)), y

    found = prevalence.Likelihood.fit(*draw(200), 10)
    new, y = draw(20_000)
    ours, right = (prevalence.posteriors(f, np.full(10, 0.1))[np.arange(len(y)), y] for f in (found(new), 2.0 * new))
    assert -np.log(ours).mean() < -np.log(right).mean() + 0.25  # 0.18; a free K x K matrix: 0.65


@pytest.mark.parametrize("seed", range(5))
def test_shortest_mix_is_the_best_point_of_a_grid(seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(5, 3)) * 10.0 ** rng.integers(-6, 6)
    slowly = slow.nearest_on_simplex(np.zeros(5), columns, np.eye(5))
    np.testing.assert_allclose(prevalence.shortest_mix(columns), slowly, atol=0.006)


def test_memberships_at_the_likeliest_prevalence_repair_a_wrong_likelihood():
    """Classes of different spread: the logistic ratio is wrong, EMQ is biased, the adjusted count is not."""
    rng = np.random.default_rng(4)

    def draw(p):
        y = (rng.uniform(size=60_000) < p).astype(int)
        return (rng.normal(size=60_000) * np.where(y == 1, 3.0, 1.0) + 2.0 * y)[:, None], y

    score, y = draw(0.5)
    likelihood = prevalence.Likelihood.fit(score, y, 2)
    new, _ = draw(0.2)
    plain = prevalence.most_likely(likelihood(new))
    at = prevalence.inside(plain)
    rates = prevalence.ClassMeans.of(prevalence.posteriors(likelihood(score), at), y)
    repaired = prevalence.adjusted(prevalence.posteriors(likelihood(new), at).mean(axis=0), rates)
    assert abs(plain[1] - 0.2) > 0.04
    assert abs(repaired[1] - 0.2) < 0.01


def test_inside_keeps_to_the_simplex():
    for p in ([1.0, 0.0], [0.5, 0.5], [0.0, 0.3, 0.7]):
        moved = prevalence.inside(np.array(p), 0.02)
        assert moved.sum() == pytest.approx(1.0)
        assert moved.min() >= 0.02 - 1e-12


@pytest.mark.parametrize("p", [0.3, 0.6])
def test_interval_is_near_the_bootstrap(p):
    likelihood = prevalence.Likelihood.fit(S[:, None], Y, 2)
    at = likelihood.prevalence
    t, new = (prevalence.posteriors(likelihood(s[:, None]), at) for s in (S, batch(p)))
    ours = prevalence.interval(as_batch(new), prevalence.ClassMeans.of(t, Y), np.array([1 - p, p]), 1, 0.95)
    theirs = slow.bootstrap_interval(t[:, 1], Y, new[:, 1], 0.95, 4000, np.random.default_rng(0))
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_interval_without_information_is_everything():
    t = np.random.default_rng(5).dirichlet([1, 1], 500)
    ends = prevalence.interval(
        as_batch(t[:100]), prevalence.ClassMeans.of(t, np.arange(500) % 2), np.array([0.5, 0.5]), 1, 0.95
    )
    assert ends.tolist() == [0.0, 1.0]
    assert not prevalence.ClassMeans.of(np.full((500, 2), 0.5), np.arange(500) % 2).informative


def test_weights_are_repetitions():
    t = np.column_stack([1 - S / 5, S / 5])
    rates, twice = prevalence.ClassMeans.of(t, Y), np.repeat(np.arange(50), 2)
    weight = np.full(50, 2.0) / 100
    np.testing.assert_allclose(prevalence.Batch(t[None, :50], weight).mean, as_batch(t[twice]).mean)
    log_f = np.log(np.clip(t[:50], 0.01, None))
    weight[:10] *= 3
    weight /= weight.sum()
    rows = np.concatenate([np.repeat(np.arange(10), 3), np.arange(10, 50)])
    np.testing.assert_allclose(prevalence.most_likely(log_f, weight), prevalence.most_likely(log_f[rows]), atol=1e-9)
    assert prevalence.Batch(t[None, :50], weight).size < 50
    assert rates.informative


def test_interval_of_two_classes_mirrors():
    rates = prevalence.ClassMeans.of(np.column_stack([1 - S / 5, S / 5]), Y)
    new = batch(0.4) / 5
    one, other = (
        prevalence.interval(as_batch(np.column_stack([1 - new, new])), rates, np.array([0.6, 0.4]), c, 0.9)
        for c in (0, 1)
    )
    np.testing.assert_allclose(one, 1 - other[::-1], atol=1e-9)
