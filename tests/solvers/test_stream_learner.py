"""The compiled stream loop against the papers' algorithms in plain Python, step by step."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2

import steelyard as sy
import steelyard.measures as m
from reference import streams as reference
from steelyard import _core
from steelyard.measures.stages import stages
from steelyard.rows import Rows
from steelyard.solvers.stream.learner import Learner, balanced_order
from steelyard.solvers.stream.problem import NeymanPearson, Problem, Scan
from steelyard.solvers.stream.settings import SAMPLE


def rows(n=160, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.6, 1, -1)
    y[:2] = [-1, 1]
    return X, y


def walk(model, X, y):
    """The model after every row."""
    path = []
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None, :], [label], classes=[-1, 1])
        path.append(model.coef_.ravel().copy())
    return np.array(path)


def reference_walk(algorithm, X, y, what="w"):
    path = []
    for x, label in zip(X, y, strict=True):
        algorithm.step(x, label)
        path.append(np.array(algorithm.mean() if what == "mean" else getattr(algorithm, what)))
    return np.array(path)


def letter(measure, **options):
    defaults = {"guard": False, "refresh": 1, "eta0": 0.5, "fit_intercept": False, "average": False, "random_state": 0}
    return sy.OnlineClassifier(measure, **{**defaults, **options})


NESTED = {
    "NegKLD": (m.NegKLD(), reference.first, reference.neg_kld, reference.neg_kld, ((-99, 99), (-99, 99))),
    "GMean": (m.GMean(), reference.first, reference.g_mean, reference.g_mean, ((0, 1), (0, 1))),
    "BAKLD": (
        m.BAKLD(0.3),
        reference.weighted_sum(0.3),
        reference.balanced_accuracy,
        reference.neg_kld,
        ((0, 1), (-99, 99)),
    ),
    "QMeasure": (m.QMeasure(2), reference.harmonic(2), reference.balanced_accuracy, reference.nss, ((0, 1), (0, 1))),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("dual_rates", ["counts", "surrogate"])
@pytest.mark.parametrize("reward", ["hinge", "logistic"])
def test_nemsis_is_algorithm_1(name, dual_rates, reward):
    measure, psi, zeta1, zeta2, ranges = NESTED[name]
    X, y = rows()
    ours = walk(letter(measure, dual_rates=dual_rates, reward=reward), X, y)
    algorithm = reference.Nemsis(4, psi, zeta1, zeta2, 0.5, kind=reward, counts=dual_rates == "counts", ranges=ranges)
    np.testing.assert_allclose(ours, reference_walk(algorithm, X, y), rtol=1e-8, atol=1e-10)
    assert np.abs(ours[-1]).max() > 1e-3


def test_the_nested_means_matter():
    # Were q the value at the mean rates, and not the mean of linearised values, the duals of a nested measure would
    # differ.
    _, psi, zeta1, zeta2, ranges = NESTED["QMeasure"]
    X, y = rows()
    algorithm = reference.Nemsis(4, psi, zeta1, zeta2, 0.5, ranges=ranges)
    path = reference_walk(algorithm, X, y)
    flat = reference.Nemsis(4, psi, zeta1, zeta2, 0.5, ranges=ranges)
    flat.update_duals = lambda: _forget_means(flat)
    assert np.abs(reference_walk(flat, X, y) - path).max() > 1e-3


def _forget_means(algorithm):
    algorithm.duals = None
    reference.Nemsis.update_duals(algorithm)


def test_average_and_radius():
    measure, psi, zeta1, zeta2, ranges = NESTED["GMean"]
    X, y = rows()
    ours = walk(letter(measure, average=True, radius=0.7, dual_rates="surrogate"), X, y)
    algorithm = reference.Nemsis(4, psi, zeta1, zeta2, 0.5, radius=0.7, ranges=ranges)
    np.testing.assert_allclose(ours, reference_walk(algorithm, X, y, "mean"), rtol=1e-8, atol=1e-10)
    assert np.linalg.norm(algorithm.w) <= 0.7 + 1e-12


@pytest.mark.parametrize("dual_rates", ["counts", "surrogate"])
def test_scan_is_algorithm_3(dual_rates):
    X, y = rows(300)
    model = letter(m.CQReward(), dual_rates=dual_rates, solver=Scan(epoch=20, growth=2.0))
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None, :], [label], classes=[-1, 1])

    def denominator(P, N, p, e):
        value, slopes = reference.nss(P, N, p, e)
        return 2 - value, (-slopes[0], -slopes[1])

    algorithm = reference.Scan(4, reference.balanced_accuracy, denominator, 0.5, 20, counts=dual_rates == "counts")
    for x, label in zip(X, y, strict=True):
        algorithm.step(x, label)
    np.testing.assert_allclose(model.coef_.ravel(), algorithm.model, rtol=1e-8, atol=1e-10)
    assert 0.3 < algorithm.level < 1.0
    assert model._learner._core.level == pytest.approx(algorithm.level, rel=1e-9)


@pytest.mark.parametrize("kind", ["sigmoid", "ramp", "arctan", "erf"])
@pytest.mark.parametrize("balanced", [False, True])
def test_neyman_pearson_is_algorithm_4(kind, balanced):
    X, y = rows()
    model = letter(
        m.Recall(),
        subject_to=m.fpr <= 0.1,
        reward=kind,
        eta0=0.3,
        alpha=0.01,
        solver=NeymanPearson(gain=0.05, balanced=balanced),
    )
    algorithm = reference.NeymanPearson(4, 0.1, kind=kind, gamma0=0.3, lam_c=0.01, nu=0.05, balanced=balanced)
    np.testing.assert_allclose(walk(model, X, y), reference_walk(algorithm, X, y), rtol=1e-8, atol=1e-10)
    assert model._learner._core.multiplier == pytest.approx(algorithm.lam, rel=1e-9)


def test_q_value_form():
    X, y = rows()
    model = letter(
        m.Recall(), subject_to=m.fpr <= 0.1 * m.tpr, reward="sigmoid", eta0=0.3, solver=NeymanPearson(gain=0.05)
    )
    algorithm = reference.NeymanPearson(4, q=0.1, gamma0=0.3, nu=0.05)
    np.testing.assert_allclose(walk(model, X, y), reference_walk(algorithm, X, y), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("dual_rates", ["counts", "surrogate"])
def test_spade_is_its_reference(name, dual_rates):
    measure, psi, zeta1, zeta2, ranges = NESTED[name]
    X, y = rows()
    ours = walk(letter(measure, solver="spade", dual_rates=dual_rates), X, y)
    algorithm = reference.Spade(4, psi, zeta1, zeta2, 0.5, counts=dual_rates == "counts", ranges=ranges)
    np.testing.assert_allclose(ours, reference_walk(algorithm, X, y), rtol=1e-8, atol=1e-10)
    assert np.abs(ours[-1] - walk(letter(measure, dual_rates=dual_rates), X, y)[-1]).max() > 1e-6  # NEMSIS averages


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_sampling_is_algorithm_4_on_rows_picked_from_each_class_alike(weighted):
    X, y = rows(2000)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    model = letter(
        m.Recall(), subject_to=m.fpr <= 0.1, reward="sigmoid", eta0=0.3, max_iter=2,
        solver=NeymanPearson(gain=0.001, balanced=True),
    ).fit(X, y, sample_weight=weight)  # fmt: skip
    algorithm = reference.NeymanPearson(4, 0.1, gamma0=0.3, nu=0.001, balanced=True)
    seed = model._learner.problem.seed
    orders = [balanced_order(y.astype(np.int8), weight, (seed, number)) for number in (0, 1)]
    for i in np.concatenate(orders):
        algorithm.step(X[i], y[i])
    np.testing.assert_allclose(model.coef_.ravel(), algorithm.w, rtol=1e-8, atol=1e-10)
    picked = np.bincount(orders[0], minlength=len(y))
    assert abs(picked[y > 0].sum() - 1000) < 100  # 0.2 of the rows are positive
    assert not np.array_equal(*orders)
    if weighted:
        assert picked[weight == 0].sum() == 0
        assert picked[(weight == 2) & (y < 0)].mean() > 1.5 * picked[(weight == 1) & (y < 0)].mean()


def test_balanced_sampling_has_the_smaller_variance_when_one_class_is_rare():
    """Steps on rows as they come, weighed by one over the share of their class, have the same mean; that their
    variance is smaller holds for equal shares only."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = np.where(X[:, 0] > 2.0, 1, -1).astype(np.int8)
    pull = (y / 2)[:, None] * X  # the first step of either algorithm, from w = 0: slope 1/4, coefficients 1
    share = np.where(y > 0, np.mean(y > 0), np.mean(y < 0))
    as_they_come = pull / share[:, None]
    picked = 2 * pull[balanced_order(y, None, (0, 0))]
    np.testing.assert_allclose(picked.mean(axis=0), as_they_come.mean(axis=0), atol=0.05)
    assert picked.var(axis=0).sum() < 0.3 * as_they_come.var(axis=0).sum()


@pytest.mark.parametrize(
    ("solver", "options", "message"),
    [
        (NeymanPearson(balanced=True), {"measure": m.Recall(), "subject_to": m.fpr <= 0.1}, "rows more than once"),
        (Scan(epoch=100), {"measure": m.CQReward()}, "there are no epochs"),
    ],
)
def test_what_the_guard_does_not_take(solver, options, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        sy.OnlineClassifier(solver=solver, **options).fit(X, y)


def test_the_reservoir_is_a_uniform_sample_of_each_class():
    n, runs, bins = 20_000, 40, 20
    X = np.arange(n, dtype=float)[:, None]  # the score of a kept row is its number
    y = np.where(np.arange(n) % 2 == 0, 1, -1).astype(np.int8)
    for side in (0, 1):
        counts = np.zeros(bins)
        for seed in range(runs):
            learner = Learner(Problem(m.GMean(), seed=seed), 1)
            for start in range(0, n, 7000):
                learner.learn(X[start : start + 7000], y[start : start + 7000])
            kept = np.asarray(learner._core.reservoir_scores(side, np.ones(1)))
            assert len(np.unique(kept)) == len(kept) == SAMPLE.rows
            assert np.array_equal(y[kept.astype(int)] > 0, np.full(SAMPLE.rows, side == 1))
            counts += np.histogram(kept, bins, range=(0, n))[0]
        mean = runs * SAMPLE.rows / bins
        spread = np.sum((counts - mean) ** 2) / mean / (1 - SAMPLE.rows / (n / 2))
        assert spread < chi2.ppf(0.9999, bins - 1)


def test_stages_of_named_measures():
    count = {type(one).__name__: len(stages(one)) for one in (m.NegKLD(), m.BAKLD(), m.GMean(), m.QMeasure())}
    assert count == {"NegKLD": 1, "BAKLD": 1, "GMean": 1, "QMeasure": 3}
    deep = m.harmonic_mean(m.QMeasure(), m.GMean())
    assert len(stages(deep)) == 5


def tape(*steps):
    """Instructions (op, left, right, number); 0 is an input, 1 a constant, 2 a sum, 7 a logarithm."""
    op, left, right, number = zip(*steps, strict=True)
    return *(np.array(x, dtype=np.int32) for x in (op, left, right)), np.array(number, dtype=float)


@pytest.mark.parametrize(
    "steps",
    [
        [(0, 4, 0, 0.0)],  # an input that there is not
        [(0, -1, 0, 0.0)],
        [(7, 0, 0, 0.0)],  # itself
        [(0, 0, 0, 0.0), (2, 0, 2, 0.0)],  # a later one
        [(0, 0, 0, 0.0), (2, 0, -7, 0.0)],
        [(0, 0, 0, 0.0), (12, 0, 0, 0.0)],  # an operation that there is not
        [(-1, 0, 0, 0.0)],
    ],
)
def test_no_tape_reads_outside(steps):
    for make in (_core.Tape, lambda *parts: _core.evaluate_tape(*parts, np.zeros((1, 4)))):
        with pytest.raises(ValueError, match=r"refers to none before it|unknown operation"):
            make(*tape(*steps))


def test_tapes_of_wrong_lengths_and_arguments_that_an_operation_does_not_have():
    parts = tape((0, 0, 0, 0.0), (7, 0, 10**9, 0.0))  # a logarithm has no second argument
    values, _ = _core.evaluate_tape(*parts, np.full((1, 4), 0.5))
    assert values[0] == np.log(0.5)
    for k in range(4):
        with pytest.raises(ValueError, match="one length"):
            _core.Tape(*(part[:1] if j == k else part for j, part in enumerate(parts)))
    one = _core.Tape(*tape((0, 0, 0, 0.0)))
    for wrong in ([], [_core.Stage(one, 0, -1, 0.0, 1.0)], [_core.Stage(one, -3, -1, 0.0, 1.0)]):
        with pytest.raises(ValueError, match="stage"):
            _core.Duals().set_objective(wrong)


def test_what_the_core_refuses():
    X, y = rows()
    signs = y.astype(np.int8)
    with pytest.raises(ValueError, match="tape of a measure"):
        _core.StreamLearner(_core.LearnerSettings(), 4, _core.Duals())
    with pytest.raises(ValueError, match="hash them to fewer"):
        Learner(Problem(m.GMean()), 2**31)
    learner = Learner(Problem(m.GMean()), 4)
    for wrong, message in [
        ((X, signs[:-1]), "entries; there are 160 rows"),
        ((X, signs, np.ones(3)), "entries; there are 160 rows"),
        ((X[:, :3], signs), "number of columns has changed"),
        ((Rows.of(X[:, :3]).with_constant(), signs), "intercept of its own"),
    ]:
        with pytest.raises(ValueError, match=message):
            learner.learn(*wrong)
    assert learner.n_rows == 0


def test_a_part_of_rows_is_learned_like_a_copy_of_it():
    X, y = rows(2000)
    which = np.random.default_rng(0).permutation(2000)[:700]
    for table in (X, X.astype(np.float32), np.asfortranarray(X), sp.csr_matrix(X)):
        view, copy = (Learner(Problem(m.GMean()), 4) for _ in range(2))
        view.learn(Rows.of(table).take(which), y[which].astype(np.int8))
        copy.learn(table[which], y[which].astype(np.int8))
        assert np.array_equal(view.model().w, copy.model().w)
