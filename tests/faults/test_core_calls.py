"""Odd calls of the core: fuzz_core.py for a moment, for five minutes a binding with ``STEELYARD_FAULTS=full``; and what it found."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from faults import only_full
from faults.fuzz_core import BINDINGS
from faults.inputs import in_fork
from steelyard import _core
from steelyard.solvers.status import Ended

ROWS = np.random.default_rng(0).normal(size=(6, 3))
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])


def fuzzed(seed, seconds, *names):
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "fuzz_core.py"), str(seed), str(seconds), *names],
        capture_output=True, text=True, timeout=120 + 20 * seconds * len(names),  # these are seconds of a processor
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    every = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [found["binding"] for found in every] == list(names)
    for found in every:
        assert found["tries"], found
        assert not found["crashed"], found
        assert found["answered"], f"no call of {found['binding']} made sense: the fuzzer tries nothing"


def test_odd_calls_of_the_core_end():
    fuzzed(1, 0.2, *BINDINGS)


@pytest.mark.slow
@only_full
@pytest.mark.parametrize("name", BINDINGS)
def test_odd_calls_of_every_binding_end(name):
    fuzzed(3, 300, name)


def rows():
    return _core.Rows.dense(ROWS)


def grid(tol=1e-3, costs=((1.0, 1.0),), C=(1.0,)):
    made = _core.CostGrid()
    made.tol, made.costs, made.C = tol, list(costs), list(C)
    return made


def endless(costs=((1.0, 2.0),), weight=None, loss="logistic", solver="coordinate", X=ROWS):
    """With as many passes as there may be."""
    made = grid(costs=costs)
    made.max_passes, made.loss, made.solver = np.inf, loss, solver
    return _core.solve_cost_grid(_core.Rows.dense(X), np.resize(SIGNS, len(X)), weight, made)


def risks(y=SIGNS, weight=None):
    return _core.ClassRisks(rows(), y, weight, "hinge", 1)


def tape(n_inputs=4, reads=0):
    return _core.Tape(*[np.full(1, k, dtype=np.int32) for k in (0, reads, 0)], np.zeros(1), n_inputs)


def offset(n_classes, lift_reads=0, formula_reads=0, more=()):
    """The best offset of class 0, for the mean of a rate over the classes."""
    measure = _core.ClassMeasure([(0, 0, tape(10**6, lift_reads))], tape(10**6, formula_reads))
    constraints = [_core.ClassConstraint(measure, *(measure for _ in more))] if more else []
    goal = _core.ClassGoal(measure, constraints, 0.1, False, 1e-9, 1e-9, 1e-9)
    scores = np.ones((6, n_classes))
    return _core.best_offset(scores, scores, np.zeros(n_classes), 0, goal)


def kernel(name, degree=2, X=None, view=None):
    made = _core.Rows.dense(ROWS if X is None else X)
    spec = _core.KernelSpec(name, 1.0, 0.5, degree, 0.0)
    return _core.KernelMatrix(made if view is None else made.view(view, 0.0), spec, 1e6).product(np.ones(6))


def wide_rows():
    return _core.Rows.csr(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(2, dtype=np.int64), 2**62)


def wide_risks():
    return _core.ClassRisks(wide_rows(), np.ones(1), None, "hinge", 1)


def exact_path(seed):
    """Of a regression without residuals in a kernel of three dimensions: more rows reach the margin than these."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(100, 1))
    box = np.tile([-1.0, 1.0, 0.0, 1.0], (100, 1))
    given = _core.PathOn(_core.Rows.dense(X), np.ones(100), X[:, 0], box, ("poly", 1.0, 1.0, 2, 1.0, 1e6))
    (log,) = given.trace((0.1, 0.9), 0)
    return given.recover(log, draw.uniform(log.start, log.end, 20)).shape


INSIDE = ("DualSettings",)  # reached as a part of another: LearnerSettings.duals
ONE = np.zeros(1, dtype=np.int64)
ENDED = {
    "no models to score with": lambda: rows().scores(np.zeros((0, 3)), 1).shape,
    "rows without columns": lambda: _core.Rows.dense(np.zeros((6, 0))).sums(np.zeros((2, 6)), 1).shape,
    "a grid without costs": lambda: _core.solve_cost_grid(rows(), SIGNS, None, grid(costs=())),
    "a grid without C": lambda: _core.solve_cost_grid(rows(), SIGNS, None, grid(C=())),
    "a grid on rows without columns": lambda: len(
        _core.solve_cost_grid(_core.Rows.dense(np.zeros((6, 0), dtype=np.float32)), SIGNS, None, grid())
    ),
    "a cost below zero": lambda: endless(costs=[(-1e308, 2.0)]),
    "a weight below zero": lambda: endless(weight=np.array([1.0, 1.0, -1e308, 1.0, 1.0, 1.0])),
    "a cost that no step is seen beside": lambda: endless(costs=[(1e306, 2.0)]),
    "a cost of NaN": lambda: endless(costs=[(np.nan, 2.0)], loss="squared_hinge"),
    "a tolerance of NaN": lambda: _core.solve_cost_grid(rows(), SIGNS, None, grid(tol=np.nan)),
    "a tolerance of minus infinity": lambda: _core.trace_approximately(
        rows(), SIGNS, None, 1.0, (0.1, 0.9), -np.inf, "coordinate_first", 0
    ),
    "labels too few": lambda: risks(SIGNS[:2]),
    "weights too few": lambda: risks(weight=np.ones(2)),
    "no track begun": lambda: risks().look(ONE, np.zeros((1, 3))),
    "a track that is none": lambda: risks().cut(ONE + 99),
    "a tolerance below the rounding of the gap": lambda: _core.trace_approximately(
        rows(), SIGNS, None, 1.0, (0.1, 0.9), 5e-324, "coordinate_first", 0
    ),
    "a degree of two thousand million": lambda: kernel("poly", 2**31 - 1),
    "a precomputed kernel without columns": lambda: kernel(
        "precomputed", X=np.zeros((6, 0)), view=np.arange(6, dtype=np.int64)
    ),
    "an offset among one class": lambda: offset(1),
    "a lift that reads what is not there": lambda: offset(3, lift_reads=10**6 - 1),
    "a formula that reads what is not there": lambda: offset(3, formula_reads=10**6 - 1),
    "a constraint without its whole": lambda: offset(3, more=(0,)),
    "costs that are text": lambda: grid(costs=["a"]),
    "draws of 2^62 rows": lambda: _core.draw_rows(2**62, 20, 0),
    "calls of 2^58 models on no rows": lambda: _core.calls_drawn(
        np.zeros((0, 2**58), dtype=bool), np.zeros((0, 63), dtype=np.uint8)
    ),
    "scores by 2^58 models of no columns": lambda: _core.Rows.dense(np.zeros((64, 0))).scores(np.zeros((2**58, 0)), 1),
    "sums of 2^62 columns": lambda: wide_rows().sums(np.zeros((4, 1)), 1),
    "cuts of 2^62 columns": lambda: wide_risks().cut(np.zeros(2, dtype=np.int64)),
    "proposals of 2^62 columns": lambda: _core.Masters(4, 2**62, True, 10).propose(
        np.arange(4, dtype=np.int64), np.ones(4), 1
    ),
    "quantiles of scores with NaN among them": lambda: _core.score_units(
        np.where(np.arange(4000) % 7, np.arange(4000) % 97, np.nan)[:, None], np.array([0.1, 0.5, 0.9])
    ),
    "a path with more rows on the margin than dimensions": lambda: [exact_path(seed) for seed in (0, 27)],
    "a share that is NaN": lambda: _core.score_units(ROWS, np.array([0.5, np.nan, 0.1])),
}


@pytest.mark.parametrize("name", ENDED)
def test_calls_that_crashed_or_hung_once(name):
    def run():
        try:
            return "answered", repr(ENDED[name]())
        except (ValueError, TypeError, IndexError, MemoryError) as error:
            return "refused", str(error)

    assert in_fork(run)[0] in ("answered", "refused")


@pytest.mark.parametrize("solver", ["coordinate", "newton_first"])  # one problem, and eight side by side
def test_a_descent_that_comes_no_closer_says_so(solver):
    X = np.random.default_rng(0).normal(size=(64, 8))
    _, primal, gap, passes, ended, where = endless(costs=[(1e300, 1.0)], solver=solver, X=X)[0]
    assert (Ended(ended), where) == (
        Ended.TROUBLE,
        "coordinate descent comes no closer: take smaller costs, or scale X",
    )
    assert np.isfinite(primal)
    assert gap > 0.5
    assert 3e4 < passes < 1e6


def test_every_binding_is_tried():
    tried = "".join((Path(__file__).parent / name).read_text() for name in ("fuzz_core.py", "odd_arguments.py"))
    names = [name for name in vars(_core) if not name.startswith("_")]
    assert len(names) > 30
    assert not [name for name in names if f"_core.{name}" not in tried and name not in INSIDE]
