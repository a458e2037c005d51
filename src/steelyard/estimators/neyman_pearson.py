"""As few misses as possible under a cap on false alarms, with kernels, and with a promise for unseen data.

    min P(miss)   subject to   P(false alarm) <= max_fpr

A problem (`solvers.kernel.neyman_pearson`: the nonconvex machines of Gasso et al.), a learner that trains on it
(`_np_learners`), and a rule for the offset (`solvers.kernel.offset`): the offset is set on rows that the scores were
not trained on (`_np_offset`), because a rate within the cap on the training rows is not within it on others.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..solvers.kernel.expansion import LinearScore
from ..solvers.kernel.minimax import BOUNDS
from ..solvers.kernel.neyman_pearson import METHODS, Machine, NeymanPearsonProblem
from ..solvers.kernel.offset import at_cap
from ..solvers.kernel.smo import KERNELS, Kernel, KernelFunction
from ..statistics.intervals import clopper_pearson
from ..statistics.promises.promise import Promise
from ._binary import BinaryMixin, Labels, check_weight
from ._border import as_before, rows_and_y, rows_to_score
from ._kernel import kernel_params
from ._np_learners import Candidate, Finished, MachineLearner, MinimaxLearner, SignedRows
from ._np_offset import Judged, OffsetRule, Parts
from ._parameters import ANYTHING, COUNT, CV, NOTHING, POSITIVE, RANDOM, SHARE, Checked, ListOf, Number, Table, Words
from ._progress import Steps, say

Array = NDArray[np.float64]

# Above this a linear machine is better trained elsewhere: on 10,000 rows of 20 columns it takes 5 times as long as
# `MeasureClassifier`, and the time grows with the square of the rows; of more, the default cache holds an eighth.
MANY_ROWS = 20_000
CS = (0.1, 1.0, 10.0, 100.0)  # tried by C="auto": those of Table II in benchmarks/papers/neyman_pearson.py
GAMMAS = (0.1, 0.3, 1.0, 3.0, 10.0)  # times gamma="scale", tried by gamma="search": a decade to either side

Tried = tuple[float, Candidate, Any]  # the share missed among rows left out, what misses it, and trained


class NeymanPearsonClassifier(Checked, BinaryMixin, BaseEstimator):
    """As few misses as possible while at most a share `max_fpr` of the negatives raises a false alarm.

    A nonconvex SVM (Gasso et al.) spends its effort where the cap is decided, and gives up rows that cost too much. Its
    offset is set on scores of rows it was not trained on. Scale the features first (`StandardScaler`).

    Parameters
    ----------
    max_fpr : float, default=0.05
        The largest share of negatives called positive, strictly between 0 and 1.
    kernel : {"rbf", "linear", "poly", "precomputed"}, default="rbf"
    gamma : {"scale", "auto", "search"}, float or list of floats, default="scale"
        "scale" is ``1 / (n_features X.var())`` and "auto" ``1 / n_features``, as in `sklearn.svm.SVC`; a list is tried
        on rows left out, and "search" is five values around "scale".
    C : float, "auto" or list of floats, default=1.0
        Cost of a miss, as in an SVM; a list is tried on rows left out, and "auto" is 0.1 to 100.
    ramp : float, default=1.0
        Half the width of the ramp loss: towards 0 it becomes the 0-1 loss.
    solver : str, default="auto"
        "annealed" (Algorithm 3 of Gasso et al.), "uzawa" (Algorithms 1 and 2), "dc" (Algorithm 2 at equal costs),
        "cost-grid" (convex, costs from a grid: AC-SVM), "generative" (minimax probability machine). "auto" is
        "annealed"; for a linear kernel on more than 20,000 rows it says what to use instead (`MeasureClassifier`,
        `OnlineClassifier`).
    offset : {"folds", "train"}, default="folds"
        "folds" sets the offset on out-of-fold scores, so that the cap is met in expectation on new rows; "train" on the
        training scores, as in the paper.
    delta : float, default=None
        If given, ``P(FPR > max_fpr) <= delta`` on unseen data: a share `cv` is held out, the order-statistic rule sets
        the offset on it, nothing is refitted. No sample weights then.
    cv : float, int or splitter, default=None
        The rows that set the offset: a number of folds, a splitter or a list of splits (each row is left out once, the
        machine is trained on all); or a share such as 0.3 (held out, and not trained on), as `delta` needs. None is 5
        folds, or a share of 0.3 with `delta`.
    init : {"zeros", "random"}, default="zeros"
        Which rows are given up at the start (beta of the paper): none, or half of them.
    bound : {"chebyshev", "gaussian"}, default="chebyshev"
        What "generative" assumes of the classes.
    degree, coef0 : as in `sklearn.svm.SVC`
    pos_label : label, default=None
        The positive class; the larger label by default.
    tol : float, default=1e-3
        How far optimality may be violated, as in `sklearn.svm.SVC`.
    cache_size : float, default=200
        MB of kernel values kept; beside them dense rows are held once more, in the order that is fastest.
    max_iter : int, default=100
        Rounds of the nonconvex solvers.
    random_state : int or RandomState, default=None
        Draws the held-out share, other folds after a search over C or gamma, and a random `init`.
    verbose : int, default=0
        1 shows how many of the fits are done (of each C and gamma that is tried, without the folds, and for the
        offset), the round, the best so far and the time left; 2 every round.

    Attributes
    ----------
    fpr_train_ : float
        Share of the training negatives called positive.
    fpr_heldout_, fpr_heldout_interval_ : float, (float, float)
        The same on the rows that set the offset, with its 95 % Clopper-Pearson interval; nan with ``offset="train"``.
    promise_ : Promise or None
        With `delta`: what was promised, on how many rows, with what p-value, and `attainable(delta)`.
    multiplier_ : float
        What a unit of false-alarm rate costs in units of miss rate: lambda / C of the paper. nan where there is none.
    support_, dual_coef_, intercept_ : support vectors of the kernel solvers (their rows), and the constant
    coef_ : ndarray of shape (1, n_features), for linear kernels
    C_, gamma_, solver_, n_iter_ : what was used
    classes_ : ndarray of shape (2,)

    See Also
    --------
    ThresholdClassifier : The same promise for any model, and for other limits.
    NeymanPearsonDisplay : The curve with its cap and a band.
    Watch : Whether the cap still holds.

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

    promise_: Promise | None = None  # models of files from before there were any have none

    _parameters: ClassVar[Table] = {
        "max_fpr": (SHARE,),
        "kernel": (Words(*KERNELS),),
        "gamma": (Words("scale", "auto", "search"), POSITIVE, ListOf(POSITIVE)),
        "C": (POSITIVE, Words("auto"), ListOf(POSITIVE)),
        "ramp": (POSITIVE,),
        "solver": (Words("auto", *METHODS, "generative"),),
        "offset": (Words("folds", "train"),),
        "delta": (NOTHING, SHARE),
        "cv": (NOTHING, CV),
        "init": (Words("zeros", "random"),),
        "bound": (Words(*BOUNDS),),
        "degree": (COUNT,),
        "coef0": (Number(),),
        "pos_label": (ANYTHING,),
        "tol": (POSITIVE,),
        "cache_size": (POSITIVE,),
        "max_iter": (COUNT,),
        "random_state": (RANDOM,),
        "verbose": (ANYTHING,),
    }

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
        cv: Any = None,
        init: str = "zeros",
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
        rule = OffsetRule(self.max_fpr, self.offset, self.cv, self.delta)
        rule.check()
        with as_before(self):
            rows, y = rows_and_y(self, X, y)
            labels = Labels.of(y, self.pos_label)
            weight = check_weight(sample_weight, rows, labels.is_positive)
            if self.delta is not None and weight is not None:
                raise ValueError("the order-statistic promise is for unweighted rows; drop sample_weight or delta")
            random = check_random_state(self.random_state)
            given = SignedRows(rows, labels.signs, np.ones(rows.n_rows) if weight is None else weight)
            parts = rule.split(given, random)
            if rule.leaves_out or self._searches or self.solver == "cost-grid":
                parts = rule.with_folds(parts, random)
            with Steps(self.verbose, total=self._n_fits(parts, rule)) as steps:
                best: Tried | None = None
                for one in self._candidates(parts, random, steps):
                    best = self._better(best, one, one.learner.train(), parts, steps)
                assert best is not None
                _, candidate, trained = best
                if self._searches and rule.leaves_out:  # not by the folds that chose C and gamma: these flatter them
                    parts = rule.with_folds(parts, random, again=True)
                finished = candidate.learner.finished(trained)
                judged = rule.judged(parts, candidate.learner, trained, finished, partial(_tell, steps, candidate))
            self._take_labels(labels)
            self._take(candidate, finished, parts, rule.threshold(judged))
            unseen = judged if rule.leaves_out or rule.share is not None else None
            self._take_rates(parts.training, candidate.learner.scores(trained), unseen)
            self.promise_ = rule.promise(judged)
            if finished.trouble:
                warnings.warn(finished.trouble, ConvergenceWarning, stacklevel=2)
        return self

    def _n_fits(self, parts: Parts, rule: OffsetRule) -> int:
        """Of every candidate, and of it without each of the folds where there is a choice; and for the offset."""
        folds, tried = len(parts.folds), len(self._Cs) * len(self._gammas(parts.training))
        return tried * (1 + folds * self._searches) + folds * rule.leaves_out

    def _better(self, best: Tried | None, one: Candidate, trained: Any, parts: Parts, steps: Steps) -> Tried:
        """The one that misses less among rows left out, where there is a choice."""
        if not self._searches:
            steps.step(f"{one}, trained")
            return 0.0, one, trained
        missed = self._missed(parts, one, trained, steps)
        if best is None or missed < best[0]:
            best = missed, one, trained
        steps.step(f"{one}, misses {missed:.4f}; best so far {best[0]:.4f}, {best[1]}")
        return best

    def _candidates(self, parts: Parts, random: np.random.RandomState, steps: Steps) -> Iterator[Candidate]:
        """A learner for every gamma and C that is tried."""
        training, method = parts.training, self._method(parts.training)
        watch = partial(self._tell_round, steps) if self.verbose else None
        first = random.rand(len(training.y)) < 0.5 if self.init == "random" else None
        for gamma in self._gammas(training):
            params = kernel_params(self.kernel, gamma, self.degree, self.coef0, training.rows, training.weight)
            if method == "generative":  # which has no C
                function = KernelFunction(self.kernel, **params)
                minimax = MinimaxLearner.on(training, self.max_fpr, self.bound, function, params)
                yield Candidate(minimax, method, None, params.get("gamma"))
                continue
            kernel = Kernel(training.rows, self.kernel, cache_size=self.cache_size, **params)
            for C in self._Cs:
                problem = NeymanPearsonProblem(
                    kernel, training.y, training.weight, self.max_fpr, float(C), self.ramp, self.tol, self.max_iter,
                    method, first,
                )  # fmt: skip
                yield Candidate(MachineLearner(problem, parts.folds, watch), method, float(C), params.get("gamma"))

    def _tell_round(self, steps: Steps, machine: Machine) -> None:
        steps.say(
            f"round {machine.n_iter} of {self.max_iter} at most, negatives cost {machine.ratio:.4g} times a positive, "
            f"surrogate rate {machine.false_alarms:.4f}, {int(machine.given_up.sum())} rows given up"
        )

    def _missed(self, parts: Parts, candidate: Candidate, trained: Any, steps: Steps) -> float:
        """The share missed at the cap among rows left out: the paper's criterion once the offset is set there."""
        judged = parts.left_out(candidate.learner, trained, partial(_tell, steps, candidate))
        return 1.0 - at_cap(judged.scores, judged.is_positive, judged.weight, self.max_fpr).tpr

    # -- what is kept -------------------------------------------------------------------------------------------
    def _take(self, candidate: Candidate, finished: Finished, parts: Parts, threshold: float) -> None:
        for name in ("support_", "dual_coef_", "coef_"):
            self.__dict__.pop(name, None)
        self._score, self._threshold = finished.score, threshold
        self.C_, self.gamma_ = candidate.C, candidate.gamma
        self.solver_, self.n_iter_ = candidate.method, finished.n_iter
        self.intercept_ = np.array([self._sign * (finished.score.bias - threshold)])
        if finished.coefficients is not None:
            support = np.flatnonzero(finished.coefficients)
            self.support_ = parts.used[support]
            self.dual_coef_ = self._sign * finished.coefficients[support].reshape(1, -1)
        if self.kernel == "linear" and isinstance(finished.score, LinearScore):
            self.coef_ = self._sign * finished.score.w.reshape(1, -1)
        weight, negative = parts.training.weight, parts.training.y < 0
        balance = weight[negative].sum() / weight[~negative].sum()
        self.multiplier_ = float("nan") if finished.ratio is None else float(finished.ratio * balance)

    def _take_rates(self, training: SignedRows, scores: Array, judged: Judged | None) -> None:
        negative = training.y < 0
        alarms = scores[negative] > self._threshold
        self.fpr_train_ = float(np.average(alarms, weights=training.weight[negative]))
        self.fpr_heldout_, self.fpr_heldout_interval_ = float("nan"), (float("nan"), float("nan"))
        if judged is not None:
            alarms = judged.scores[~judged.is_positive] > self._threshold
            self.fpr_heldout_ = float(np.average(alarms, weights=judged.weight[~judged.is_positive]))
            self.fpr_heldout_interval_ = clopper_pearson(int(alarms.sum()), len(alarms))
        if self.verbose:
            say(
                f"NeymanPearsonClassifier: {self.solver_}, {self.n_iter_} rounds, FPR {self.fpr_train_:.4f} on the "
                f"training rows, {self.fpr_heldout_:.4f} on rows left out"
            )

    # -- parameters ---------------------------------------------------------------------------------------------
    @property
    def _searches(self) -> bool:
        return (self.solver != "generative" and not _is_number(self.C)) or self._searches_gamma

    @property
    def _Cs(self) -> Sequence[float]:
        return CS if isinstance(self.C, str) else np.atleast_1d(self.C).tolist()

    @property
    def _searches_gamma(self) -> bool:
        fixed = _is_number(self.gamma) or (isinstance(self.gamma, str) and self.gamma in ("scale", "auto"))
        return self.kernel in ("rbf", "poly") and not fixed

    def _gammas(self, training: SignedRows) -> Sequence[Any]:
        if not self._searches_gamma:
            return (self.gamma,)
        if not isinstance(self.gamma, str):
            return tuple(self.gamma)
        scale = kernel_params(self.kernel, "scale", self.degree, self.coef0, training.rows, training.weight)["gamma"]
        return tuple(factor * scale for factor in GAMMAS)

    def _method(self, training: SignedRows) -> str:
        if self.solver != "auto":
            return self.solver
        if self.kernel == "linear" and len(training.y) > MANY_ROWS:
            cap = f"Recall(), subject_to=fpr <= {self.max_fpr:g}"
            raise ValueError(
                f"kernel='linear' on {len(training.y)} rows needs no kernel machine, whose time grows with the square "
                f"of the rows. Write MeasureClassifier({cap}), or OnlineClassifier({cap}) for a stream of rows; "
                "solver='annealed' trains the machine all the same"
            )
        return "annealed"

    # -- prediction ---------------------------------------------------------------------------------------------
    def decision_function(self, X: Any) -> np.ndarray:
        """The score minus the threshold: above 0 is what `predict` calls ``classes_[1]``."""
        margin = self._margin(X)
        return self._sign * margin

    def predict(self, X: Any) -> np.ndarray:
        """Labels: the positive class where the score is strictly above the threshold."""
        return self._labels(self._margin(X) > 0)

    def _margin(self, X: Any) -> Array:
        rows = rows_to_score(self, X)
        return self._score(rows) - self._threshold

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real)


def _tell(steps: Steps, candidate: Candidate, fold: int, folds: int) -> None:
    steps.step(f"{candidate}, without fold {fold} of {folds}")
