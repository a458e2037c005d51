"""
The compiled core of steelyard. Private: use the Python layers above it.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def evaluate_tape(op: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], number: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
    """Values and gradients of a tape at points (m, 4)."""

def scan_frontier(scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], positive: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """Thresholds, TPR and TNR of every operating point, by rising threshold."""

class Rows:
    """Rows of numbers in memory, or a view of them; see steelyard/rows.py."""

    @staticmethod
    def dense(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)]) -> Rows:
        """float32 or float64, each row in one piece."""

    @staticmethod
    def csr(values: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int) -> Rows: ...

    def view(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, constant: float) -> Rows:
        """
        Rows `which` (None: those it has), with one more column of this constant unless it is 0.
        """

    def first_fault(self) -> tuple[str, int]:
        """What is wrong ("" if nothing), and in which row."""

    def scores(self, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """x_i . w for every row i (down) and every w (across)."""

    def sums(self, coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """sum_i a_i x_i, one for each row of coefficients."""

    def squared_norms(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """|x_i|^2."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_cols(self) -> int: ...

class CostGrid:
    """Every pair of costs (c_pos, c_neg) with every C (ascending), and how."""

    def __init__(self) -> None: ...

    @property
    def costs(self) -> list[tuple[float, float]]: ...

    @costs.setter
    def costs(self, arg: Sequence[tuple[float, float]], /) -> None: ...

    @property
    def C(self) -> list[float]: ...

    @C.setter
    def C(self, arg: Sequence[float], /) -> None: ...

    @property
    def loss(self) -> str: ...

    @loss.setter
    def loss(self, arg: str, /) -> None: ...

    @property
    def solver(self) -> str: ...

    @solver.setter
    def solver(self, arg: str, /) -> None: ...

    @property
    def tol(self) -> float: ...

    @tol.setter
    def tol(self, arg: float, /) -> None: ...

    @property
    def max_passes(self) -> float: ...

    @max_passes.setter
    def max_passes(self, arg: float, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    @property
    def n_threads(self) -> int: ...

    @n_threads.setter
    def n_threads(self, arg: int, /) -> None: ...

def solve_cost_grid(rows: Rows, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, grid: CostGrid) -> list:
    """Pair-major: tuples (w, objective, gap, passes, how it ended, where)."""

class ClassRisks:
    """The class risks of rows in memory; see solvers/linear/bundle.py."""

    def __init__(self, rows: Rows, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, loss: str, n_threads: int) -> None: ...

    @property
    def n_cols(self) -> int: ...

    def begin(self, n_tracks: int) -> None: ...

    def look(self, tracks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def risks(self, tracks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], at: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    def search(self, tracks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], caps: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], wp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def move(self, tracks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], best: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cut: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    def cut(self, tracks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]: ...

class Masters:
    """The master problems of all tracks of a bundle, and their cuts."""

    def __init__(self, n_tracks: int, n_cols: int, share_cuts: bool, idle: int) -> None: ...

    @property
    def n_cuts(self) -> int: ...

    def set_caps(self, caps: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """(negative, positive) for every track."""

    def propose(self, tracks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slack: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Dual values, and points."""

    def add(self, tracks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], g: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Two cuts a track, the negative class first."""

def solve_master(g: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], side: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], cap_positive: float, cap_negative: float, slack: float, max_pivots: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], float]:
    """
    Weights of the cuts, w and the dual value of the bundle's master problem.
    """

def line_search(cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], m: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], wp: float, pp: float, loss: str) -> float:
    """
    The step l >= 0 that minimises 1/2 |w + l p|^2 + sum cost loss(m + l s).
    """

class DualSettings:
    def __init__(self) -> None: ...

    @property
    def guard(self) -> bool: ...

    @guard.setter
    def guard(self, arg: bool, /) -> None: ...

    @property
    def counts(self) -> bool: ...

    @counts.setter
    def counts(self, arg: bool, /) -> None: ...

    @property
    def forget(self) -> bool: ...

    @forget.setter
    def forget(self, arg: bool, /) -> None: ...

    @property
    def scan(self) -> bool: ...

    @scan.setter
    def scan(self, arg: bool, /) -> None: ...

    @property
    def constrained(self) -> bool: ...

    @constrained.setter
    def constrained(self, arg: bool, /) -> None: ...

    @property
    def balanced(self) -> bool: ...

    @balanced.setter
    def balanced(self, arg: bool, /) -> None: ...

    @property
    def gain(self) -> float: ...

    @gain.setter
    def gain(self, arg: float, /) -> None: ...

    @property
    def floor(self) -> float: ...

    @floor.setter
    def floor(self, arg: float, /) -> None: ...

    @property
    def clip(self) -> float: ...

    @clip.setter
    def clip(self, arg: float, /) -> None: ...

class LearnerSettings:
    def __init__(self) -> None: ...

    @property
    def duals(self) -> DualSettings: ...

    @duals.setter
    def duals(self, arg: DualSettings, /) -> None: ...

    @property
    def reward(self) -> int: ...

    @reward.setter
    def reward(self, arg: int, /) -> None: ...

    @property
    def steps(self) -> int: ...

    @steps.setter
    def steps(self, arg: int, /) -> None: ...

    @property
    def width(self) -> float: ...

    @width.setter
    def width(self, arg: float, /) -> None: ...

    @property
    def eta0(self) -> float: ...

    @eta0.setter
    def eta0(self, arg: float, /) -> None: ...

    @property
    def unit_step(self) -> float: ...

    @unit_step.setter
    def unit_step(self, arg: float, /) -> None: ...

    @property
    def alpha(self) -> float: ...

    @alpha.setter
    def alpha(self, arg: float, /) -> None: ...

    @property
    def radius(self) -> float: ...

    @radius.setter
    def radius(self, arg: float, /) -> None: ...

    @property
    def growth(self) -> float: ...

    @growth.setter
    def growth(self, arg: float, /) -> None: ...

    @property
    def intercept(self) -> bool: ...

    @intercept.setter
    def intercept(self, arg: bool, /) -> None: ...

    @property
    def refresh(self) -> int: ...

    @refresh.setter
    def refresh(self, arg: int, /) -> None: ...

    @property
    def epoch(self) -> float: ...

    @epoch.setter
    def epoch(self, arg: float, /) -> None: ...

    @property
    def epoch_growth(self) -> float: ...

    @epoch_growth.setter
    def epoch_growth(self, arg: float, /) -> None: ...

    @property
    def capacity(self) -> int: ...

    @capacity.setter
    def capacity(self, arg: int, /) -> None: ...

    @property
    def held_out(self) -> tuple[float, float]: ...

    @held_out.setter
    def held_out(self, arg: tuple[float, float], /) -> None: ...

    @property
    def held_while_wide(self) -> float: ...

    @held_while_wide.setter
    def held_while_wide(self, arg: float, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

class Pass:
    def __init__(self) -> None: ...

    @property
    def shuffle(self) -> bool: ...

    @shuffle.setter
    def shuffle(self, arg: bool, /) -> None: ...

    @property
    def first(self) -> bool: ...

    @first.setter
    def first(self, arg: bool, /) -> None: ...

    @property
    def disposable(self) -> bool: ...

    @disposable.setter
    def disposable(self, arg: bool, /) -> None: ...

    @property
    def number(self) -> int: ...

    @number.setter
    def number(self, arg: int, /) -> None: ...

class Tape:
    def __init__(self, arg0: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], arg2: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], arg3: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

class Stage:
    def __init__(self, arg0: Tape, arg1: int, arg2: int, arg3: float, arg4: float, /) -> None: ...

class Duals:
    def __init__(self) -> None: ...

    def set_measure(self, arg: Tape, /) -> None: ...

    def set_constraint(self, arg: Tape, /) -> None: ...

    def set_objective(self, arg: Sequence[Stage], /) -> None: ...

    def set_denominator(self, arg: Sequence[Stage], /) -> None: ...

class StreamLearner:
    def __init__(self, arg0: LearnerSettings, arg1: int, arg2: Duals, /) -> None: ...

    def learn_dense(self, X: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, run: Pass) -> int: ...

    def learn_sparse(self, values: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, y: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, run: Pass) -> int: ...

    def coefficients(self, arg: bool, /) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def intercept(self, arg: bool, /) -> float: ...

    def reservoir_scores(self, arg0: int, arg1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def reservoir_rows(self, arg: int, /) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def reservoir_offered(self) -> tuple[int, int]: ...

    def reservoir_weights(self, arg: int, /) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def history(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def rows(self) -> float: ...

    @property
    def class_mass(self) -> tuple[float, float]: ...

    @property
    def rates(self) -> tuple[float, float]: ...

    @property
    def multiplier(self) -> float: ...

    @property
    def level(self) -> float: ...

    @property
    def spread(self) -> float: ...

    def save(self) -> bytes: ...

    def load(self, arg: bytes, /) -> None: ...

class ConfusionLoss:
    """A loss of the confusion matrix, and how its table is searched."""

    @staticmethod
    def of_counts(counts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], search: str) -> ConfusionLoss:
        """The loss for 0 .. n calls."""

    @staticmethod
    def of_measure(op: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], number: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], smoothing: float, scale: float, top: float, search: str, mixed: int, least: int, most: int) -> ConfusionLoss:
        """scale (top - measure), over matrices with least .. most calls."""

def most_violated(loss: ConfusionLoss, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], positive: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], kappa: float) -> tuple[int, int, float]:
    """
    Called positives, called negatives and the value of the most violated confusion matrix.
    """

class StructuralOptions:
    def __init__(self, C: float, *, smallest_mu: float, idle: int, max_pivots: int, n_threads: int) -> None: ...

class StructuralSvm:
    """The cutting planes of a structural SVM, one step at a time."""

    def __init__(self, rows: Rows, positive: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: ConfusionLoss, options: StructuralOptions) -> None: ...

    def step(self, slack: float) -> tuple[float, float, int, str]:
        """One cut: the best objective so far, the lower bound, and the status."""

    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The best w so far."""

class PathLog:
    """Events and checkpoints of a traced path."""

    @property
    def tau(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def n_checkpoints(self) -> int: ...

    @property
    def start(self) -> float: ...

    @property
    def end(self) -> float: ...

    @property
    def interrupted(self) -> bool: ...

    @property
    def start_events(self) -> int: ...

    @property
    def refactored(self) -> int: ...

    @property
    def drift(self) -> float: ...

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

def equal_rows(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None, starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_cols: int, label: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[int]:
    """For every row the first one with the same entries and the same label."""

class PathOn:
    """
    The rows of a path with their signs, targets and boxes, and the path on them.
    """

    def __init__(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None, starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_cols: int, sign: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], box: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], kernel: tuple[str, float, float, int, float, float] | None) -> None:
        """
        box has the columns low, low_rate, high, high_rate; kernel is (name, gamma, coef0, degree, constant, cache bytes).
        """

    def trace(self, start: float, end: float, seed: int) -> PathLog:
        """Every kink of the path from start to end."""

    def recover(self, log: PathLog, tau: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        The model at each tau, from the nearest checkpoint: w, or the rows' coefficients.
        """

    def walk(self, log: PathLog, first: int, last: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        The models at the knots first .. last - 1 (start, events, end), and for a kernel how fast they move from there on.
        """

    def audit(self, log: PathLog, original: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], unit: float, every: int) -> float:
        """
        The largest violation of the optimality conditions at every so many knots.
        """

    @property
    def n_computed(self) -> int:
        """Rows of the kernel matrix computed so far."""

def trace_approximately(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None, starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_cols: int, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], C: float, start: float, end: float, tol: float, solver: str, seed: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], float, float, bool]:
    """
    Knots and models (tau, w) with a certified gap at every tau: tau, w, gap, passes, interrupted.
    """

def score_crossings(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None, starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_cols: int, norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tau: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], way: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Row, tau and new sign of every sign change of the rows' scores along the models w at tau; way is how far they have moved.
    """

class KernelMatrix:
    """A kernel matrix whose rows are computed when needed, and cached."""

    @staticmethod
    def dense(X: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], kernel: str, gamma: float, coef0: float, degree: int, cache_bytes: float) -> KernelMatrix: ...

    @staticmethod
    def sparse(values: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int, kernel: str, gamma: float, coef0: float, degree: int, cache_bytes: float) -> KernelMatrix: ...

    def product(self, b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """K b; only the rows with b != 0 are computed."""

    def solve(self, q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Kb: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tol: float, max_steps: int, shrinking: bool) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], float, float, float, int, bool]:
        """
        From a feasible b with its K b: b, K b, bias, objective, violation, steps, and whether tol was reached.
        """

    @property
    def n_computed(self) -> int:
        """Rows computed so far: cache hits do not count."""

    @property
    def n_slots(self) -> int:
        """Rows that fit the cache."""
