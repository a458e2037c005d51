"""As few misses as possible under a cap on false alarms, with kernels, and with a promise for unseen data.

    min P(miss)   subject to   P(false alarm) <= max_fpr

Which solver trains the scores is in `_np_learners` (the nonconvex machines of 002 are
`solvers.kernel.neyman_pearson`); here the offset is set on rows that the scores were not trained on, because a rate
within the cap on the training rows is not within it on others.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..solvers.kernel.neyman_pearson import Machine, Task
from ..solvers.kernel.smo import Kernel
from ..statistics import order_statistic
from . import _np_learners as learners
from ._binary import BinaryMixin, check_weight, encode_labels
from ._kernel import kernel_params
from ._np_learners import Learner, Rows, Scorer, out_of_fold, threshold_at_cap
from ._rows_left_out import Promise, clopper_pearson, hold_out, make_folds

MACHINES = ("annealed", "uzawa", "dc", "cost-grid")
LINEAR = ("stochastic", "bundle")
SOLVERS = ("auto", *MACHINES, "generative", *LINEAR)
HAIR = 1e-6  # of the largest score
MANY_ROWS = 20_000  # above this a linear machine is left to the batch engine
CS = (0.1, 1.0, 10.0, 100.0)  # tried by C="auto"
GAMMAS = (0.1, 0.3, 1.0, 3.0, 10.0)  # times gamma="scale", tried by gamma="auto"


class NeymanPearsonClassifier(BinaryMixin, BaseEstimator):
    """As few misses as possible while at most a share `max_fpr` of the negatives raises a false alarm.

    A nonconvex SVM (Gasso et al.) spends its effort where the cap is decided, and gives up rows that cost too much. Its
    offset is set on scores of rows it was not trained on. Scale the features first (`StandardScaler`).

    Parameters
    ----------
    max_fpr : float, default=0.05
        The largest share of negatives called positive, strictly between 0 and 1.
    kernel : {"rbf", "linear", "poly", "precomputed"}, default="rbf"
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is ``1 / (n_features X.var())``; "auto" tries five values around it on rows left out.
    C : float or "auto", default=1.0
        Cost of a miss, as in an SVM; "auto" tries 0.1 to 100 on rows left out.
    ramp : float, default=1.0
        Half the width of the ramp loss: towards 0 it becomes the 0-1 loss.
    solver : str, default="auto"
        "annealed" (002, Algorithm 3), "uzawa" (Algorithms 1 and 2), "dc" (Algorithm 2 at equal costs), "cost-grid"
        (convex, costs from a grid: AC-SVM), "generative" (minimax probability machine); for linear kernels "stochastic"
        (Algorithm 4) and "bundle" (`MeasureClassifier`). "auto" is "annealed", or "bundle" for a linear kernel on more
        than 20,000 rows.
    offset : {"folds", "train"}, default="folds"
        "folds" sets the offset on out-of-fold scores, so that the cap is met in expectation on new rows; "train" on the
        training scores, as in the paper.
    delta : float, default=None
        If given, ``P(FPR > max_fpr) <= delta`` on unseen data: a share `cv` is held out, the order-statistic rule sets
        the offset on it, nothing is refitted. No sample weights then.
    cv : float, int or splitter, default=0.3
        The share held out with `delta`; a number of folds, a splitter or a list of splits for ``offset="folds"`` (5
        folds otherwise).
    init : {"zeros", "random"} or array of bool, default="zeros"
        Which rows are given up at the start (beta of the paper).
    bound : {"chebyshev", "gaussian"}, default="chebyshev"
        What "generative" assumes of the classes.
    degree, coef0 : as in `sklearn.svm.SVC`
    pos_label : label, default=None
        The positive class; the larger label by default.
    tol : float, default=1e-3
        How far optimality may be violated, as in `sklearn.svm.SVC`.
    cache_size : float, default=200
        MB of kernel values kept.
    max_iter : int, default=100
        Rounds of the nonconvex solvers.
    random_state : int or RandomState, default=None
        Draws the held-out share, folds are drawn too, and a random `init`.
    verbose : int, default=0
        1 prints a line at the end, 2 one for every round.

    Attributes
    ----------
    fpr_train_ : float
        Share of the training negatives called positive.
    fpr_heldout_, fpr_heldout_interval_ : float, (float, float)
        The same on the rows that set the offset, with its 95 % Clopper-Pearson interval; nan with ``offset="train"``.
    multiplier_ : float
        What a unit of false-alarm rate costs in units of miss rate: lambda / C of the paper. nan where there is none.
    support_, dual_coef_, intercept_ : support vectors of the kernel solvers (their rows), and the constant
    coef_ : ndarray of shape (1, n_features), for linear kernels
    C_, gamma_, solver_, n_iter_ : what was used
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import steelyard as sy
    >>> X, y = make_moons(3000, noise=0.35, random_state=1)
    >>> model = sy.NeymanPearsonClassifier(max_fpr=0.05, delta=0.1, random_state=0).fit(X[:1000], y[:1000])
    >>> called = model.predict(X[1000:])
    >>> [round(float(called[y[1000:] == k].mean()), 2) for k in (0, 1)]
    [0.02, 0.6]
    """

    def __init__(
        self,
        max_fpr: float = 0.05,
        *,
        kernel: str = "rbf",
        gamma: Any = "scale",
        C: Any = 1.0,
        ramp: float = 1.0,
        solver: str = "auto",
        offset: str = "folds",
        delta: float | None = None,
        cv: Any = 0.3,
        init: Any = "zeros",
        bound: str = "chebyshev",
        degree: int = 3,
        coef0: float = 0.0,
        pos_label: Any = None,
        tol: float = 1e-3,
        cache_size: float = 200.0,
        max_iter: int = 100,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_fpr = max_fpr
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.ramp = ramp
        self.solver = solver
        self.offset = offset
        self.delta = delta
        self.cv = cv
        self.init = init
        self.bound = bound
        self.degree = degree
        self.coef0 = coef0
        self.pos_label = pos_label
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    # -- training -----------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NeymanPearsonClassifier:
        """Train the scores and set the offset. `sample_weight` weighs rows in the costs and in the rates."""
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, is_positive, self._positive = encode_labels(y, self.pos_label)
        weight = check_weight(sample_weight, X, is_positive)
        random = check_random_state(self.random_state)
        rows = Rows(X, np.where(is_positive, 1.0, -1.0), np.ones(len(y)) if weight is None else weight)
        held = np.array([], dtype=int)
        if self.delta is not None:
            if sample_weight is not None:
                raise ValueError("the order-statistic promise is for unweighted rows; drop sample_weight or delta")
            held = hold_out(rows.y, Promise(self.max_fpr, self.delta, float(self.cv)), random)
        training = rows.weight.copy()
        training[held] = 0.0
        unused = (self.offset == "train" or self.delta is not None) and not self._searches
        folds = [] if unused and self.solver != "cost-grid" else make_folds(self.cv, rows, training, random)
        learner, scorer = self._train(rows, training, folds, random)
        if self.delta is not None:
            scores, seen = scorer.scores, held
        elif self.offset == "folds":
            if self._searches:  # other folds than those that chose C and gamma, whose scores there flatter them
                folds = make_folds(self.cv, rows, training, random)
            seen = np.concatenate(folds)
            scores = out_of_fold(learner, scorer, folds, training)
        else:
            scores, seen = scorer.scores, np.flatnonzero(training)
        self._set_offset(rows, scores, seen)
        self._report(rows, training, scores, seen, scorer)
        return self

    def _train(
        self, rows: Rows, training: np.ndarray, folds: Sequence[np.ndarray], random: np.random.RandomState
    ) -> tuple[Learner, Scorer]:
        self.solver_ = self._choose_solver(rows)
        watch = _print_round if self.verbose > 1 else None
        given_up = self._first_given_up(rows, random)
        seed = int(random.randint(2**31))
        best: tuple[float, Learner, Scorer] | None = None
        for gamma in self._gammas(rows, training):
            params = kernel_params(self.kernel, gamma, self.degree, self.coef0, rows.X, training)
            kernel = Kernel(rows.X, self.kernel, cache_size=self.cache_size, **params) if self._is_machine else None
            for C in CS if isinstance(self.C, str) else (float(self.C),):
                if kernel is not None:
                    task = Task(kernel, rows.y, training, self.max_fpr, C, self.ramp, self.tol, self.max_iter)
                    learner: Learner = learners.KernelLearner(rows, task, self.solver_, self.kernel, params, given_up)
                elif self.solver_ == "generative":
                    learner = learners.GenerativeLearner(rows, self.max_fpr, self.bound, self.kernel, params)
                else:
                    learner = getattr(learners, self.solver_)(rows, self.max_fpr, C, seed)
                scorer = learner.fit(training, folds, watch)
                missed = self._missed(rows, learner, scorer, folds, training) if self._searches else 0.0
                if best is None or missed < best[0]:
                    best = missed, learner, scorer
                    self.C_, self.gamma_ = C, params.get("gamma")
        assert best is not None
        return best[1], best[2]

    def _missed(
        self, rows: Rows, learner: Learner, scorer: Scorer, folds: Sequence[np.ndarray], training: np.ndarray
    ) -> float:
        """The share missed at the cap among rows left out: the paper's criterion once the offset is set there."""
        seen = np.concatenate(folds)
        scores = out_of_fold(learner, scorer, folds, training)[seen]
        return 1.0 - threshold_at_cap(scores, rows.y[seen] > 0, rows.weight[seen], self.max_fpr).tpr

    # -- the offset ---------------------------------------------------------------------------------------------
    def _set_offset(self, rows: Rows, scores: np.ndarray, seen: np.ndarray) -> None:
        positive, scores = rows.y[seen] > 0, scores[seen]
        if self.delta is None:
            threshold = threshold_at_cap(scores, positive, rows.weight[seen], self.max_fpr).threshold
        else:
            negative = scores[~positive]
            k = order_statistic.rank(len(negative), self.max_fpr, self.delta)
            threshold = float(np.partition(negative, k - 1)[k - 1])
        # A hair above: kernels are trained on in single precision, and a row must not pass the score that it tied with.
        self._threshold = threshold + HAIR * (1.0 + float(np.abs(scores).max()))

    def _report(self, rows: Rows, training: np.ndarray, scores: np.ndarray, seen: np.ndarray, scorer: Scorer) -> None:
        negative = rows.y < 0
        called = scorer.scores > self._threshold
        self.fpr_train_ = float(np.average(called[negative], weights=training[negative]))
        self.fpr_heldout_, self.fpr_heldout_interval_ = float("nan"), (float("nan"), float("nan"))
        if self.delta is not None or self.offset == "folds":
            alarms = scores[seen][negative[seen]] > self._threshold
            self.fpr_heldout_ = float(np.average(alarms, weights=rows.weight[seen][negative[seen]]))
            self.fpr_heldout_interval_ = clopper_pearson(int(alarms.sum()), len(alarms))
        balance = training[negative].sum() / training[~negative].sum()
        self.multiplier_ = float("nan") if scorer.ratio is None else float(scorer.ratio * balance)
        self.n_iter_ = scorer.n_iter
        self._score = scorer.score
        self.intercept_ = np.array([self._sign * (scorer.bias - self._threshold)])
        if scorer.machine is not None:
            self.support_ = np.flatnonzero(scorer.machine.dual.signed)
            self.dual_coef_ = self._sign * scorer.machine.dual.signed[self.support_].reshape(1, -1)
        if scorer.coef is not None:
            self.coef_ = self._sign * scorer.coef.reshape(1, -1)
        if scorer.trouble:
            warnings.warn(scorer.trouble, ConvergenceWarning, stacklevel=3)
        if self.verbose:
            print(
                f"NeymanPearsonClassifier: {self.solver_}, {self.n_iter_} rounds, FPR {self.fpr_train_:.4f} on the "
                f"training rows, {self.fpr_heldout_:.4f} on rows left out"
            )

    # -- parameters ---------------------------------------------------------------------------------------------
    def _first_given_up(self, rows: Rows, random: np.random.RandomState) -> np.ndarray | None:
        if isinstance(self.init, str):
            if self.init not in ("zeros", "random"):
                raise ValueError(f"init is 'zeros', 'random' or an array of bool; got {self.init!r}")
            return None if self.init == "zeros" else random.rand(len(rows.y)) < 0.5
        given_up = np.asarray(self.init, dtype=bool)
        if given_up.shape != rows.y.shape:
            raise ValueError(f"init must have one flag a row, {len(rows.y)}; got shape {given_up.shape}")
        return given_up

    @property
    def _searches(self) -> bool:
        return isinstance(self.C, str) or (isinstance(self.gamma, str) and self.gamma == "auto")

    @property
    def _is_machine(self) -> bool:
        return self.solver_ in MACHINES

    def _gammas(self, rows: Rows, training: np.ndarray) -> Sequence[Any]:
        if self.kernel not in ("rbf", "poly") or self.gamma != "auto":
            return (self.gamma,)
        scale = kernel_params(self.kernel, "scale", self.degree, self.coef0, rows.X, training)["gamma"]
        return tuple(factor * scale for factor in GAMMAS)

    def _choose_solver(self, rows: Rows) -> str:
        if self.solver in LINEAR and self.kernel != "linear":
            raise ValueError(f"solver={self.solver!r} is for kernel='linear'; got kernel={self.kernel!r}")
        if self.solver != "auto":
            return self.solver
        return "bundle" if self.kernel == "linear" and len(rows.y) > MANY_ROWS else "annealed"

    def _check_parameters(self) -> None:
        for name in ("max_fpr", "delta"):
            value = getattr(self, name)
            if name == "delta" and value is None:
                continue
            if not isinstance(value, numbers.Real) or not 0.0 < value < 1.0:
                raise ValueError(f"{name} lies strictly between 0 and 1; got {value!r}")
        for name in ("C", "ramp", "tol", "cache_size"):
            value = getattr(self, name)
            if name == "C" and isinstance(value, str) and value == "auto":
                continue
            if not isinstance(value, numbers.Real) or not 0.0 < value < np.inf:
                raise ValueError(f"{name} must be a finite number above 0; got {value!r}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver is one of {', '.join(SOLVERS)}; got {self.solver!r}")
        if self.offset not in ("folds", "train"):
            raise ValueError(f"offset is 'folds' or 'train'; got {self.offset!r}")
        if not isinstance(self.max_iter, numbers.Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter is a number of rounds, at least 1; got {self.max_iter!r}")
        if isinstance(self.cv, numbers.Integral):
            folds, share = self.cv >= 2 and not isinstance(self.cv, bool), False
        else:
            share = isinstance(self.cv, numbers.Real) and 0 < self.cv < 1
            folds = hasattr(self.cv, "split") or (hasattr(self.cv, "__iter__") and not isinstance(self.cv, str))
        if not (share or (folds and self.delta is None)):
            raise ValueError(
                f"cv is a held-out share in (0, 1), or without delta a number of folds or a splitter; got {self.cv!r}"
            )

    # -- prediction ---------------------------------------------------------------------------------------------
    def decision_function(self, X: Any) -> np.ndarray:
        """The score minus the threshold: above 0 is what `predict` calls ``classes_[1]``."""
        margin = self._margin(X)
        return self._sign * margin

    def predict(self, X: Any) -> np.ndarray:
        """Labels: the positive class where the score is strictly above the threshold."""
        return self._labels(self._margin(X) > 0)

    def _margin(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._score(X) - self._threshold

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _print_round(machine: Machine) -> None:
    print(
        f"round {machine.n_iter}: negatives cost {machine.ratio:.4g} times a positive, surrogate rate "
        f"{machine.false_alarms:.4f}, {int(machine.given_up.sum())} rows given up"
    )
