"""The pieces of the q-value solver against their definitions, one at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import expit

import steelyard as sy
from steelyard.solvers.decoys import q_value as qv
from steelyard.solvers.decoys import steps
from steelyard.solvers.decoys.landmarks import place
from steelyard.statistics.target_decoy import chance_right


def rows(seed=0, n=1500, share=0.25):
    rng = np.random.default_rng(seed)
    right = rng.random(n) < share
    target = right | (rng.random(n) < 0.5)
    X = rng.normal(size=(n, 4))
    X[right] += [2.0, 2.0, 0.0, 0.0]
    return steps.Matches.of(X, target).with_ones()


def accepted(scores, data, max_q):
    return (data.is_target & (sy.q_values(scores, data.is_target) <= max_q)).sum()


@pytest.mark.parametrize("share", [0.06, 0.1, 0.25])
def test_a_climb_does_not_end_where_nothing_is_accepted(share):
    """Where few are right the smoothed objective is largest with every row below the threshold."""
    data, aim = rows(1, 6000, share), steps.Aim(0.01)
    start = steps.mixture(data, steps.logistic(data, aim), aim)
    counts = [steps.accepted_around(data.rows.scores(w), data, 0.01) for w in (start, steps.annealed(data, start, aim))]
    assert 0 < counts[0] < 2 * counts[1]


def test_the_best_column_is_the_best_one():
    data = rows()
    counts = {
        (j, sign): np.mean([accepted(sign * data.rows.source[:, j], data, 0.2 * times) for times in steps.OPTIONS.around])
        for j in range(4) for sign in (1, -1)
    }  # fmt: skip
    j, sign = max(counts, key=counts.get)
    w = steps.best_column(data, steps.Aim(0.2))
    assert w[j] == sign
    assert np.count_nonzero(w) == 1
    flipped = steps.Matches.of(-data.rows.source, data.is_target).with_ones()
    assert steps.best_column(flipped, steps.Aim(0.2))[j] == -sign
    sparse = steps.Matches.of(sp.csr_matrix(data.rows.source), data.is_target).with_ones()
    assert np.array_equal(steps.best_column(sparse, steps.Aim(0.2)), w)


def test_levelling_keeps_the_ranking_and_sets_the_scale():
    data, w = rows(), np.array([1.0, 0.5, 0.1, 0.0, 3.0])
    level = steps.levelled(w, data, 0.05)
    scores = data.rows.scores(level)
    assert np.array_equal(np.argsort(scores), np.argsort(data.rows.scores(w)))
    assert np.median(scores[~data.is_target]) == pytest.approx(-1.0)
    assert (data.is_target & (scores >= -1e-9)).sum() == accepted(scores, data, 0.05)


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=20), st.sampled_from([0.1, 0.5, 1.0])
)
def test_the_threshold_of_the_longest_list_within_the_cap(table, max_q):
    scores, target = (np.array(column) for column in zip(*table, strict=True))
    scores = scores.astype(float)
    found, count = qv.threshold(scores, steps.Matches(None, target, np.ones(len(target))), max_q)
    lists = [
        (target & (scores >= u)).sum() for u in scores
        if (~target & (scores >= u)).sum() <= max_q * (target & (scores >= u)).sum() and (target & (scores >= u)).any()
    ]  # fmt: skip
    assert count == max(lists, default=0)
    called = scores > found
    assert (called & target).sum() == count
    assert (called & ~target).sum() <= max_q * count


def test_the_exchange_rate_makes_the_threshold_stationary():
    """Moving the threshold trades targets for decoys at the rate r, so that the Lagrangian does not change."""
    rng = np.random.default_rng(0)
    n = 400_000
    right = rng.random(n) < 0.2
    target = right | (rng.random(n) < 0.5)
    scores = rng.normal(size=n) + 3.0 * right
    data = steps.Matches.of(scores[:, None], target)
    rate = steps.exchange_rate(scores, chance_right(scores, target, data.weight), data, 0.02)
    threshold = steps.cut(scores, target, data.weight, 0.02).threshold
    near = np.abs(scores - threshold) < 0.05
    assert rate == pytest.approx((near & target).sum() / (near & ~target).sum(), rel=0.15)


def test_the_ascent_climbs_and_its_gradient_is_right():
    data = rows(1)
    gain = np.where(data.is_target, 1.0, -5.0)
    value = lambda w: -(gain @ expit(data.rows.scores(w) / 0.5)) / np.abs(gain).sum()

    def slope(w):
        s = expit(data.rows.scores(w) / 0.5)
        return -data.rows.sums(gain * s * (1 - s)) / (0.5 * np.abs(gain).sum())

    start = np.array([1.0, 0.2, 0.3, 0.1, -3.0])
    assert check_grad(value, slope, start) < 1e-6
    end = steps._climb(data, start, 0.5, gain, steps=30)
    assert value(end) < value(start) - 1e-4
    assert np.abs(slope(end)).max() < 0.1 * np.abs(slope(start)).max()


def test_the_mixture_finds_the_direction_of_the_right_targets():
    data = rows(2, 6000)
    w = steps.mixture(data, np.array([1.0, 0, 0, 0, 0]), steps.Aim(0.05))
    assert w[0] == pytest.approx(w[1], rel=0.3)
    assert np.abs(w[2:4]).max() < 0.2 * w[0]


@pytest.mark.parametrize("last", ["loop", "mixture"])
def test_nothing_to_start_from_is_left_as_it_is(last):
    data = steps.Matches.of(np.r_[np.ones(50), np.zeros(50)][:, None], np.arange(100) >= 50).with_ones()
    w = np.array([1.0, 0.0])  # every decoy above every target
    assert np.array_equal(getattr(steps, last)(data, w, steps.Aim(0.01)), w)


@pytest.mark.parametrize("kernel", [None, qv.LandmarkKernel(0.1, 20)])
def test_the_recipe_is_the_one_that_rows_left_out_speak_for(kernel):
    data = rows(3, 3000)
    folds = np.array_split(np.random.default_rng(0).permutation(3000), 3)
    found = qv.solve(data.rows.source, data.is_target, steps.Aim(0.05), folds, kernel=kernel)
    curved = {"rbf mixture", "rbf mean"} if kernel else set()
    assert set(found.held_out) == {"loop", "mixture", "annealed", "mean", "firm", "column"} | curved
    left_out, _ = qv._left_out(
        steps.Matches.of(data.rows.source, data.is_target), steps.Aim(0.05), folds, kernel, qv._Told()
    )
    counts = qv.counted(left_out, data.take(np.concatenate(folds)), 0.05)
    assert found.recipe == qv.choose(counts)
    assert found.held_out == {name: pytest.approx(count.mean()) for name, count in counts.items()}


def test_the_default_is_left_only_for_a_clear_gain():
    """A kernel that rows left out find worse neither is taken nor lets another recipe in by being weak."""
    choose = lambda **counts: qv.choose({name.replace("_", " "): np.array([count]) for name, count in counts.items()})
    clear = 1000 * (1 + qv.CLEARLY)
    assert choose(loop=clear - 1, mixture=1000.0) == "mixture"
    assert choose(loop=clear + 1, mixture=1000.0) == "loop"
    assert choose(loop=clear - 1, mixture=1000.0, rbf_mean=900.0, rbf_mixture=850.0) == "mixture"
    assert choose(loop=clear - 1, mixture=1000.0, rbf_mean=1001.0) == "rbf mean"
    assert choose(mixture=1000.0, rbf_mean=1001.0, rbf_mixture=1002.0) == "rbf mean"
    assert choose(mixture=1000.0, rbf_mean=1000.0, rbf_mixture=clear + 1) == "rbf mixture"
    assert choose(mixture=0.0, loop=1.0) == "loop"
    assert qv.choose({}) == "mixture"


def test_lists_of_too_few_decoys_are_counted_at_a_higher_cap():
    data = rows(4, 3000)
    scores = {"mixture": data.rows.scores([1.0, 1.0, 0.0, 0.0, 0.0]), "loop": data.rows.source[:, 0]}
    around = lambda name, cap: [accepted(scores[name], data, cap * times) for times in steps.OPTIONS.around]
    caps = 0.002 * 2.0 ** np.arange(8)
    enough = [cap for cap in caps if cap * max(np.mean(around(name, cap)) for name in scores) >= qv.DECOYS]
    assert enough[0] > 0.002
    counts = qv.counted(scores, data, 0.002)
    assert {name: count.tolist() for name, count in counts.items()} == {n: around(n, enough[0]) for n in scores}
    assert qv.counted(scores, data, 0.2)["loop"].tolist() == around("loop", 0.2)
    worst = steps.Matches(None, np.arange(200) % 2 == 0, np.ones(200))
    assert not qv.counted({"mixture": np.arange(200) % 2.0}, worst, 0.1)["mixture"].any()  # no list: the doubling ends


def test_landmarks_have_the_kernel_as_inner_products():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 3))
    Z = place(points, 0.7)(points)
    kernel = np.exp(-0.7 * ((points[:, None] - points[None]) ** 2).sum(axis=2))
    assert np.allclose(Z @ Z.T, points @ points.T + kernel)
    assert np.allclose(place(points, 0.7)(sp.csr_matrix(points)), Z)
    doubled = place(np.vstack([points, points]), 0.7)(points)  # rank falls short of the number of landmarks
    assert np.allclose(doubled @ doubled.T, Z @ Z.T)
