"""The exact cost path against the quadratic programme, the paper's algorithm as printed, and its own optimality conditions."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from reference.cost_path import algorithm_1, box_programme, costs, kkt_residual, objective
from steelyard.solvers.path import exact
from steelyard.solvers.path.exact import trace, trace_quantiles

KINDS = ("normal", "integers", "one_hot", "duplicates", "contradictions", "wide")


def sample(kind, rng, n=10):
    """Small data with forced ties; the last column is constant."""
    y = np.r_[1.0, -1.0, rng.choice([-1.0, 1.0], n - 2)]
    if kind == "normal":
        X = rng.normal(size=(n, 3))
    elif kind == "integers":
        X = rng.integers(-1, 2, (n, 3)).astype(float)
    elif kind == "one_hot":
        X = np.hstack([np.eye(3)[rng.integers(0, 3, n)], np.eye(2)[rng.integers(0, 2, n)]])
    elif kind == "wide":
        X = rng.normal(size=(n, 14))
    else:
        X = rng.normal(size=(n // 2, 3))[rng.integers(0, n // 2, n)]
        if kind == "contradictions":
            X[1], y[:2] = X[0], (1.0, -1.0)
    return np.c_[X, np.ones(n)], y


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_quadratic_programme_at_random_costs(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    cases = []
    for _ in range(300):
        X, y = sample(kind, rng)
        C, tau = 10.0 ** rng.uniform(-2, 1), rng.uniform(0, 1)
        cases.append((X, y, C, tau, trace(X, y, C).models(tau)[0]))
    Z = np.array([y[:, None] * X for X, y, *_ in cases])
    high = np.array([costs(y, tau, C) for _, y, C, tau, _ in cases])
    _, dual = box_programme(Z, np.ones_like(high), np.zeros_like(high), high)
    excess = [objective(X, y, w, tau, C) / d - 1 for (X, y, C, tau, w), d in zip(cases, dual, strict=True)]
    assert max(excess) < 1e-6
    assert min(excess) > -1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_optimality_conditions_hold_at_every_kink(kind):
    rng = np.random.default_rng(10 + KINDS.index(kind))
    for n in (8, 40, 150):
        for C in (0.01, 1.0, 100.0):
            X, y = sample(kind, rng, n)
            path = trace(X, y, C)
            assert path.audit() < 1e-8
            assert (np.diff(path.kinks) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_is_a_sum_of_rows_in_their_boxes(kind):
    """The same conditions by another road: from w alone, with bounded least squares for the rows on the margin."""
    rng = np.random.default_rng(20 + KINDS.index(kind))
    for C in (0.01, 1.0, 10.0):
        X, y = sample(kind, rng, 30)
        path = trace(X, y, C)
        tau = np.r_[path.kinks[:: max(1, len(path.kinks) // 25)], rng.uniform(0, 1, 5)]
        for t, w in zip(tau, path.models(tau), strict=True):
            assert kkt_residual(X, y, w, t, C) < 1e-8


def test_nearly_dependent_rows_on_the_margin():
    """Rows that differ by 1e-5 to 1e-4: multipliers known to a few digits only, models to 1e-8 all the same."""
    rng = np.random.default_rng(21)
    for scale in (1e-5, 1e-4):
        X, y = sample("normal", rng, 60)
        X[30:, :3], y[30:] = X[:30, :3] + scale * rng.normal(size=(30, 3)), y[:30]
        path = trace(X, y, 1.0)
        assert path.audit() < 1e-8
        for t in rng.uniform(0, 1, 10):
            assert kkt_residual(X, y, path.models(t)[0], t, 1.0) < 1e-8


def test_equals_algorithm_1_of_the_paper():
    """Without the constant column: with it every positive row has margin 1 at tau = 0, and the printed algorithm has no
    answer to ties."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, y = sample("normal", rng, 25)
        X = X[:, :3]
        lam = 10.0 ** rng.uniform(-1.5, 0)
        tau, w = algorithm_1(X, y, lam, exact_start=True)
        path = trace(X, y, 1 / (lam * len(y)))
        assert len(tau) > 3
        np.testing.assert_allclose(path.models(np.minimum(tau, 1.0)), w, atol=3e-8)
        inner = tau[(tau > 1e-6) & (tau < 1 - 1e-6)]
        np.testing.assert_allclose(inner, path.kinks[(path.kinks > 1e-6) & (path.kinks < 1 - 1e-6)], atol=1e-6)


def test_quantiles_equal_the_quadratic_programme():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(300, 10, 3)), np.ones((300, 10, 1))], axis=2)
    X[:100] = np.round(X[:100])
    X[100:200, 5:] = X[100:200, :5]
    y = rng.normal(size=(300, 10)).round(1)
    C, tau = 10.0 ** rng.uniform(-1, 1, (300, 1)), rng.uniform(0, 1, (300, 1))
    low, high = C * (tau - 1) + 0 * y, C * tau + 0 * y
    _, dual = box_programme(X, y, low, high)
    for k in range(300):
        path = trace_quantiles(X[k], y[k], C[k, 0])
        w = path.models(tau[k])[0]
        left = y[k] - X[k] @ w
        primal = 0.5 * w @ w + C[k, 0] * np.maximum(tau[k] * left, (tau[k] - 1) * left).sum()
        assert primal == pytest.approx(dual[k], rel=1e-6, abs=1e-7)
        assert path.audit() < 1e-8


def test_knots_and_single_models_agree():
    rng = np.random.default_rng(4)
    X, y = sample("integers", rng, 400)
    path = trace(X, y, 0.1)
    tau, w = map(np.concatenate, list(zip(*path.stretches(), strict=True))[:2])
    assert len(tau) == len(path.kinks) + 2 * len(path.legs)
    np.testing.assert_allclose(path.models(tau), w, atol=1e-9)
    between = (tau[1:] + tau[:-1]) / 2
    np.testing.assert_allclose(path.models(between), (w[1:] + w[:-1]) / 2, atol=1e-9)


def test_the_models_of_one_walk_serve_the_next_and_are_not_pickled(monkeypatch):
    path = trace(*sample("normal", np.random.default_rng(7), 60), 0.3)
    small = len(pickle.dumps(path))
    first = list(path.stretches())
    assert all(new is old for new, old in zip(path.stretches(), first, strict=True))
    assert len(pickle.dumps(path)) == small
    monkeypatch.setattr(exact, "KEPT", 0)  # a path with too many of them
    again = list(path.stretches())
    assert not any(new is old for new, old in zip(again, first, strict=True))
    for new, old in zip(again, first, strict=True):
        for a, b in zip(new, old, strict=True):
            np.testing.assert_array_equal(a, b)


def test_memory_is_events_and_few_checkpoints():
    X, _ = sample("normal", np.random.default_rng(5), 1500)
    path = trace(X, np.where(X @ [1.0, -2.0, 0.5, 0.1] > 0.0, 1.0, -1.0), 1.0)
    assert len(path.kinks) > 3000
    for leg in path.legs:
        assert leg.n_checkpoints < 4 * len(leg.tau) ** 0.5


@pytest.mark.parametrize("kind", ["normal", "one_hot"])
def test_sparse_rows_row_order_labels_and_weights(kind):
    X, y = sample(kind, np.random.default_rng(6), 60)
    tau = np.linspace(0, 1, 23)
    plain = trace(X, y, 0.3).models(tau)
    np.testing.assert_allclose(trace(csr_matrix(X), y, 0.3).models(tau), plain, atol=1e-7)
    np.testing.assert_allclose(trace(X[::-1], y[::-1], 0.3).models(tau), plain, atol=1e-7)
    np.testing.assert_allclose(-trace(X, -y, 0.3).models(1 - tau), plain, atol=1e-7)
    weight = np.random.default_rng(7).integers(1, 4, 60)
    heavy = trace(X, y, 0.3, sample_weight=weight).models(tau)
    np.testing.assert_allclose(trace(np.repeat(X, weight, 0), np.repeat(y, weight), 0.3).models(tau), heavy, atol=1e-7)


def test_a_part_of_the_range_is_that_part():
    X, y = sample("normal", np.random.default_rng(8), 80)
    whole, part = trace(X, y, 0.5), trace(X, y, 0.5, (0.3, 0.6))
    tau = np.linspace(0.3, 0.6, 17)
    np.testing.assert_allclose(part.models(tau), whole.models(tau), atol=1e-7)
    assert (part.start, part.end) == (0.3, 0.6)


@pytest.mark.parametrize("C", [1e-8, 1e8])
@pytest.mark.parametrize("kind", KINDS)
def test_extreme_regularisation(kind, C):
    X, y = sample(kind, np.random.default_rng(9), 12)
    path = trace(X, y, C)
    for tau in (0.1, 0.5, 0.9):
        high = costs(y, tau, C)[None]
        w, dual = box_programme((y[:, None] * X)[None], np.ones_like(high), 0 * high, high, 1000)
        ours = objective(X, y, path.models(tau)[0], tau, C)
        assert ours <= objective(X, y, w[0], tau, C) * (1 + 1e-6)
        if C < 1:
            assert ours == pytest.approx(dual[0], rel=1e-6)


def test_equal_rows_are_merged():
    X, y = sample("normal", np.random.default_rng(12), 20)
    weight = np.random.default_rng(13).uniform(0.5, 2.0, 80)
    copies = np.tile(np.arange(20), 4)
    once = trace(X, y, 0.5, sample_weight=np.bincount(copies, weight))
    for rows in (X[copies], csr_matrix(X[copies])):
        many = trace(rows, y[copies], 0.5, sample_weight=weight)
        assert many.problem.rows.n_rows == 20
        assert len(many.kinks) == len(once.kinks)
        np.testing.assert_allclose(many.models(np.linspace(0, 1, 9)), once.models(np.linspace(0, 1, 9)), atol=1e-9)
    assert trace(np.r_[X, X], np.r_[y, -y], 0.5).problem.rows.n_rows == 40


def test_paths_pickle():
    X, y = sample("normal", np.random.default_rng(11), 50)
    path = trace(X, y)
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.models([0.2, 0.7]), path.models([0.2, 0.7]))
    np.testing.assert_array_equal(again.kinks, path.kinks)
    assert again.audit() == path.audit()


def test_pickles_of_a_path_are_arrays():
    X, y = sample("normal", np.random.default_rng(11), 1500)
    log = trace(X, y).log
    numbers = 8 * log.n_checkpoints * (2 * 4 + 2 * 4 + 4) + 14 * len(log.tau) + len(X)
    assert len(pickle.dumps(log)) < 1.2 * numbers + 2000


def broken_states(state):
    """The state with one thing wrong at a time."""
    numbers, tau, row, origin, to, side, _, event, _, _, count, members, forces, a = state

    def changed(array, k, value):
        return np.r_[array[:k], np.array([value], dtype=array.dtype), array[k + 1 :]]

    k = int(np.flatnonzero(origin == 1)[0])  # a row that leaves the margin
    wrong = {
        1: [tau[:-1], tau[::-1].copy(), changed(tau, 3, np.nan)],
        2: [changed(row, 5, 10_000), changed(row, 5, -1), changed(row, k, (row[k] + 1) % len(side)), row[:-1]],
        3: [changed(origin, 2, 9), origin[:-1]],
        4: [changed(to, 2, 9), changed(to, 2, -5), to[:-1]],
        5: [changed(side, 0, 7), side[: row.max()], changed(side, 1, 1 - min(side[1], 1))],
        7: [changed(event, 0, 3), changed(event, len(event) - 1, 10**9), event[::-1].copy()],
        10: [changed(count, 0, -1), changed(count, 0, 10**12)],
        11: [changed(members, 0, -7), changed(members, 0, 10**9), members[:-1]],
        12: [forces[:-1]],
        13: [a[:-1]],
    }
    for place, values in wrong.items():
        for value in values:
            yield (*state[:place], value, *state[place + 1 :])
    yield state[:-1]
    yield ((0, *numbers[1:]), *state[1:])


def test_a_state_that_no_path_left_is_refused():
    from steelyard._core import PathLog

    X, y = sample("normal", np.random.default_rng(11), 300)
    path = trace(X, y)
    log = max(path.legs, key=lambda leg: len(leg.tau))
    state = log.__getstate__()
    PathLog.__new__(PathLog).__setstate__(state)
    of_a_kernel = PathLog.__new__(PathLog)
    of_a_kernel.__setstate__((*state[:6], True, *state[7:]))
    with pytest.raises(ValueError, match="other rows"):
        path.problem.on.recover(of_a_kernel, np.array([log.start]))
    for wrong in broken_states(state):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            PathLog.__new__(PathLog).__setstate__(wrong)


def test_a_log_belongs_to_its_rows():
    X, y = sample("normal", np.random.default_rng(11), 50)
    path, other = trace(X, y), trace(X[:30], y[:30])
    for call in (
        lambda: path.problem.on.recover(other.log, np.array([other.start])),
        lambda: path.problem.on.walk(other.log, 0, 2),
        lambda: path.problem.on.audit(other.log, np.ones(50), 1.0, 1),
    ):
        with pytest.raises(ValueError, match="other rows"):
            call()
    for tau in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="outside of the path"):
            path.models(tau)
    with pytest.raises(ValueError, match="knots"):
        path.problem.on.walk(path.log, 0, len(path.kinks) + 3)


@pytest.mark.parametrize("every", [0, -1])
def test_an_audit_of_no_knots_is_refused(every):
    X, y = sample("normal", np.random.default_rng(11), 20)
    with pytest.raises(ValueError, match="at least 1"):
        trace(X, y).audit(every)


def test_lengths_and_names_are_checked_at_the_core():
    from steelyard import _core
    from steelyard.rows import Rows

    X, y = sample("normal", np.random.default_rng(11), 20)
    rows, one = Rows.of(X).core, np.ones(20)
    box = np.zeros((20, 4))
    for arguments in ((one[:5], one, box), (one, one[:5], box), (one, one, box[:5]), (one, one, box[:, :3].copy())):
        with pytest.raises(ValueError, match=r"entries|four columns"):
            _core.PathOn(rows, *arguments, None)
    with pytest.raises(ValueError, match="entries"):
        _core.equal_rows(rows, one[:5])
    knots = np.array([0.0, 1.0])
    for norm, tau, w, way in ((one[:5], knots, np.ones((2, 4)), knots), (one, knots, np.ones((2, 3)), knots), (one, knots[:1], np.ones((2, 4)), knots), (one, knots, np.ones((2, 4)), knots[:1])):  # fmt: skip
        with pytest.raises(ValueError, match=r"entries|number a column|every knot"):
            _core.score_crossings(rows, norm, tau, w, way)
    with pytest.raises(ValueError, match="entries"):
        _core.trace_approximately(rows, y[:5], None, 1.0, (0.0, 1.0), 1e-3, "coordinate", 0)
    with pytest.raises(ValueError, match="are solved by"):
        _core.trace_approximately(rows, y, None, 1.0, (0.0, 1.0), 1e-3, "fast", 0)


@pytest.mark.parametrize("tau_range", [(0.5, 0.5), (-0.1, 1.0), (0.2, 1.1), (0.8, 0.2), 0.5, (0.1, 0.2, 0.3)])
def test_bad_ranges_are_refused(tau_range):
    with pytest.raises(ValueError, match="tau_range"):
        trace(np.eye(2), [1, -1], tau_range=tau_range)


@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan])
def test_bad_C_is_refused(C):
    with pytest.raises(ValueError, match="C must be positive"):
        trace(np.eye(2), [1, -1], C)
