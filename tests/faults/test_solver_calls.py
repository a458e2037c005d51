"""Solvers called directly, without an estimator's checks: an error or a right answer, and no certificate that is none."""

import contextlib
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import reference.cost_sensitive as reference
from faults.inputs import in_fork
from steelyard.solvers import cost_sensitive
from steelyard.solvers.kernel import smo
from steelyard.solvers.path import approximate, exact
from steelyard.solvers.structural import cutting_planes
from steelyard.statistics import frontier

RNG = np.random.default_rng(0)
N, D = 60, 4
X = RNG.normal(size=(N, D))
Y = np.where(X[:, 0] + RNG.normal(size=N) > 0.2, 1.0, -1.0)


def grid(solver, loss="hinge"):
    def call(X=X, y=Y, weight=None, C=1.0):
        found = cost_sensitive.solve_grid(X, y, [(1.0, 2.0)], [C], 1e-3, sample_weight=weight, solver=solver, loss=loss)
        return found[0][0] if isinstance(found[0], (list, tuple)) else found[0]

    return call


def by_kernel(X=X, y=Y, weight=None, C=1.0):
    box = np.full(np.shape(X)[0], C) if weight is None else C * np.asarray(weight, dtype=float)
    return smo.solve(smo.Kernel(X, "rbf", gamma=0.1), y, 1.0, 0.0, box, max_iter=20_000)


SOLVERS = {
    "coordinate": grid("coordinate"),
    "newton": grid("newton", "squared_hinge"),
    "bundle": grid("bundle"),
    "bundle, logistic": grid("bundle", "logistic"),
    "exact": lambda X=X, y=Y, weight=None, C=1.0: exact.trace(X, y, C, sample_weight=weight),
    "quantiles": lambda X=X, y=Y, weight=None, C=1.0: exact.trace_quantiles(X, y, C, sample_weight=weight),
    "exact, rbf": lambda X=X, y=Y, weight=None, C=1.0: exact.trace(
        X, y, C, sample_weight=weight, kernel=exact.PathKernel("rbf", 0.1)
    ),
    "approximate": lambda X=X, y=Y, weight=None, C=1.0: approximate.trace(X, y, C, sample_weight=weight),
    "structural": lambda X=X, y=Y, weight=None, C=1.0: cutting_planes.solve(X, np.asarray(y) > 0, C=C),
    "smo": by_kernel,
}
WITHOUT_WEIGHTS = ("structural",)
WITHOUT_LABELS_CHECK = ("structural", "quantiles")  # any flags, and any numbers, will do


def with_(array, where, value):
    made = np.array(array, dtype=float)
    made[where] = value
    return made


def broken(**parts):
    """X as CSR, with a number of one of its arrays set, or the end of one cut off."""
    made = sp.csr_matrix(X)
    for name, change in parts.items():
        if isinstance(change, slice):
            setattr(made, name, getattr(made, name)[change])
        else:
            getattr(made, name)[change[0]] = change[1]
    return made


REFUSED = {
    "labels too few": {"y": Y[:-1]},
    "labels too many": {"y": np.append(Y, 1.0)},
    "labels in two columns": {"y": np.column_stack([Y, Y])},
    "label NaN": {"y": with_(Y, 3, np.nan)},
    "label 2": {"y": with_(Y, 3, 2.0)},
    "X of one dimension": {"X": X[:, 0]},
    "X with NaN": {"X": with_(X, (3, 2), np.nan)},
    "X with infinity": {"X": with_(X, (3, 2), np.inf)},
    "CSR, column -1": {"X": broken(indices=(9, -1))},
    "CSR, column beyond the last": {"X": broken(indices=(9, D + 2))},
    "CSR, column of 10^9": {"X": broken(indices=(9, 10**9))},
    "CSR, row starts that fall": {"X": broken(indptr=(5, N * D - 1))},
    "CSR, row start -1": {"X": broken(indptr=(5, -1))},
    "CSR, row starts beyond the data": {"X": broken(indptr=(-1, 10**6))},
    "CSR, fewer columns than values": {"X": broken(indices=slice(-3))},
    "CSR, too few row starts": {"X": broken(indptr=slice(-3))},
    "CSR with NaN": {"X": broken(data=(9, np.nan))},
    "weights too few": {"weight": np.ones(N - 1)},
    "weight NaN": {"weight": with_(np.ones(N), 3, np.nan)},
    "weight infinite": {"weight": with_(np.ones(N), 3, np.inf)},
    "weight below zero": {"weight": with_(np.ones(N), 3, -1.0)},
    "C of zero": {"C": 0.0},
    "C below zero": {"C": -1.0},
    "C NaN": {"C": np.nan},
    "C infinite": {"C": np.inf},
}


def is_spared(name, what):
    about = next(iter(REFUSED[what]))
    if (name, what) == ("smo", "C of zero"):
        return True  # boxes of one point
    return (about == "weight" and name in WITHOUT_WEIGHTS) or (
        what in ("label NaN", "label 2") and name in WITHOUT_LABELS_CHECK and (name, what) != ("quantiles", "label NaN")
    )


def outcome(call, given):
    def run():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                call(**given)
            except (ValueError, TypeError, IndexError) as error:
                return type(error).__name__, str(error)
            return "answered", ""

    return in_fork(run)


@pytest.mark.parametrize("name", SOLVERS)
def test_what_makes_no_sense_is_refused(name):
    wrong = {}
    for what, given in REFUSED.items():
        if is_spared(name, what):
            continue
        ended = outcome(SOLVERS[name], given)
        if ended[0] not in ("ValueError", "TypeError", "IndexError") or not ended[1]:
            wrong[what] = ended
    assert not wrong


def numbers_of(found):
    """What a result claims: its objective and gap if it has them, and its model."""
    model = (
        found.models(0.5)
        if hasattr(found, "models")
        else next(getattr(found, name) for name in ("w", "coef", "signed") if hasattr(found, name))
    )
    return getattr(found, "objective", 0.0), getattr(found, "gap", 0.0), np.asarray(model)


@pytest.mark.parametrize("C", [1e-300, 1e-30, 1e30, 1e308])
@pytest.mark.parametrize("name", SOLVERS)
def test_no_C_makes_a_certificate_that_is_none(name, C):
    """An error, or a finite model; and where a gap is called closed, the objective is that of a model."""

    def run():
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = SOLVERS[name](C=C)
                objective, gap, model = numbers_of(found)  # a path that has ended before has no model there
            except ValueError as error:
                return "refused", str(error)
            status = getattr(found, "status", "")
            if not np.isfinite(model).all():
                return "not finite", str(status)
            if str(status) == "solved" and not (np.isfinite(objective) and np.isfinite(gap)):
                return "a certificate of infinity", str(status)
            return "answered", str(status)

    assert in_fork(run)[0] in ("refused", "answered")


BY_LOSS = ("coordinate", "newton", "bundle")
ODD_WEIGHTS = {
    "none": None,
    "zeros": np.where(np.arange(N) % 3 == 0, 0.0, 1.0),
    "apart": np.where(np.arange(N) % 3 == 0, 1e-12, 1.0),
    "one row": np.where(np.arange(N) == 5, 1e6, 1e-6),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weights", ODD_WEIGHTS)
@pytest.mark.parametrize("loss", cost_sensitive.LOSSES)
def test_what_is_called_solved_is_within_its_gap(loss, weights):
    """The objective is that of the model, and no model of anybody lies below the bound that the gap says."""
    weight = ODD_WEIGHTS[weights]
    solved = 0
    for C in (1e-300, 1e-30, 1e-6, 1.0, 1e6, 1e30, 1e308):
        found = []
        for solver in BY_LOSS:
            with contextlib.suppress(ValueError):
                found.append(grid(solver, loss)(weight=weight, C=C))
        cost = reference.row_costs(Y, 1.0, 2.0, C, weight)
        values = [reference.objective(X, Y, one.w, cost, loss) for one in found]
        for one, value in zip(found, values, strict=True):
            if one.converged:
                solved += 1
                assert one.gap <= 1e-3
                assert one.objective == pytest.approx(value, rel=1e-9, abs=0.0), (C, one.solver)
                assert one.objective * (1.0 - one.gap) <= min(values) * (1.0 + 1e-9), (C, one.solver)
    assert solved >= 9


@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in WITHOUT_WEIGHTS])
def test_rows_without_weight_are_not_there(name):
    """Zeros as weights of the last rows: the same model as without these rows, to the solver's tolerance."""
    weight = np.r_[np.ones(N - 15), np.zeros(15)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = SOLVERS[name](weight=weight)
        other = SOLVERS[name](X=X[: N - 15], y=Y[: N - 15])
    a, b = numbers_of(one), numbers_of(other)
    assert a[0] == pytest.approx(b[0], rel=5e-3)
    if a[2].shape == b[2].shape:
        assert np.abs(a[2] - b[2]).max() <= 0.05 * max(1.0, np.abs(b[2]).max())


@pytest.mark.parametrize("name", SOLVERS)
def test_columns_that_a_row_names_twice_are_added_up(name):
    twice = sp.csr_matrix((N, D))
    twice.data, twice.indices = np.repeat(X.ravel() / 2, 2), np.tile(np.repeat(np.arange(D, dtype=np.int32), 2), N)
    twice.indptr = np.arange(N + 1, dtype=np.int32) * 2 * D
    one, other = numbers_of(SOLVERS[name](X=twice)), numbers_of(SOLVERS[name]())
    assert one[0] == pytest.approx(other[0], rel=1e-9)
    assert one[2].shape == other[2].shape
    assert np.abs(one[2] - other[2]).max() <= 1e-6 * max(1.0, np.abs(other[2]).max())


def test_scores_that_are_no_numbers_have_no_frontier():
    for scores in (with_(X[:, 0], 3, np.nan), X[:-1, 0], X):
        with pytest.raises((ValueError, TypeError)):
            frontier.scan(scores, Y > 0)
