"""A linear classifier learned in one pass over a stream, for the measure that is reported.

Given rows one chunk at a time, a measure of the two rates and perhaps a constraint on them, learn ``w.x + b``. The
mathematics is in `solvers.stream.learner` and the loop in ``src/core/stream/learner.hpp``; here is the scikit-learn
side: parameters, labels, chunks, checkpoints.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..elsewhere import is_dask, is_elsewhere
from ..measures import BAKLD, Constraint, Measure
from ..rows import Rows, explain
from ..solvers.status import Ended
from ..solvers.stream.class_learner import LinearModels
from ..solvers.stream.learner import BadRowError, LinearModel
from ..solvers.stream.problem import BY_NAME, REWARDS, Pass
from ..statistics.frontier import InfeasibleError
from ..streams.checkpoint import Checkpoint
from ._binary import Labels, positive_label
from ._border import as_before, rows_and_y, rows_to_score
from ._lazy import lazily
from ._linear import LinearMixin
from ._offsets import ClassLabels
from ._parameters import (
    ANY_MEASURE,
    ANYTHING,
    COUNT,
    FLAG,
    NOT_NEGATIVE,
    NOTHING,
    POSITIVE,
    RANDOM,
    A,
    Checked,
    Table,
    Words,
    check_parameter,
)
from ._progress import Progress
from ._stream_chunks import ChunksMixin
from ._stream_labels import (
    check_classes,
    first_classes,
    first_labels,
    known_codes,
    known_labels,
    signs_and_weight,
)
from ._stream_problem import AnyLearner, new_learner, problem_of
from ._turns import in_turn

SPREAD = 1e4  # a column so much smaller than another adds less than the rounding of a float32 to a squared distance
SCALES_SEEN = 1024  # rows: the learner looks at the columns of the first 256 that it may learn from


class OnlineClassifier(Checked, ChunksMixin, LinearMixin, BaseEstimator):
    """A linear classifier for any measure of TPR and TNR, learned row by row at memory speed.

    Each row pulls the model with the weight that the measure gives its class at the rates reached so far, so that one
    pass over the data maximises the measure itself: quantification errors, F-beta, G-mean, ratios, or the recall
    under a cap on false alarms. Scale the features (`sklearn.preprocessing.StandardScaler`) as for any linear model.

    Parameters
    ----------
    measure : Measure, default=BAKLD()
        What to maximise; for several classes a lifted measure such as ``macro(FBeta(1))`` (docs/classes.md).
    subject_to : Constraint, default=None
        One constraint that is linear in the rates: ``fpr <= 0.01``, ``Precision() >= 0.9``, ``fpr <= 0.01 * tpr``, ...
    solver : {"auto", "nemsis", "scan", "neyman-pearson", "spade", "1pmb", "frontier"} or options, default="auto"
        "auto" reads the measure: concave -> NEMSIS, ratio -> SCAN, a constraint -> stochastic Neyman-Pearson. Options
        are objects such as ``steelyard.solvers.stream.problem.Scan(epoch=1000, growth=2)``.
    reward : {"hinge", "logistic", "sigmoid", "ramp", "arctan", "erf"}, default="hinge"
        Surrogate of a right answer; the last four are for "neyman-pearson", where they can pay at a low cap. With the
        guard they take over from the hinge after 20,000 rows.
    dual_rates : {"counts", "surrogate"}, default="counts"
        What the weights follow: the rates themselves (the papers' NS form), or means of the reward.
    guard : bool, default=True
        Weights are kept non-negative and the offset is the exact best threshold on a sample of the stream. False is
        the papers' algorithm to the letter. With a constraint, short streams are read again from the sample
        and rows are left out in turn to judge the threshold, so that the constraint holds on unseen rows too.
    eta0 : "auto" or float, default="auto"
        Step length. "auto": steps per coordinate that need no tuning. A number: the papers' ``eta0 / sqrt(t)``.
    alpha : float, default=0.0
        Weight decay.
    radius : float, default=None
        Keep ``|w|`` within this radius.
    average : bool, default=True
        Use the mean of the iterates, not the last one.
    max_iter : int, default=1
        Passes of `fit` over the data.
    shuffle : bool, default=True
        Shuffle the rows in `fit`; chunks of `partial_fit` are always taken in their order.
    refresh : int, default=16
        Rows between updates of the class weights.
    fit_intercept : bool, default=True
    pos_label : label, default=None
        The positive class; the larger label by default.
    warm_start : bool, default=False
        `fit` goes on from where the model is.
    random_state : int or RandomState, default=None
    verbose : int, default=0
        1 shows progress.

    Notes
    -----
    A call that fails, or that Ctrl-C ends, leaves the classifier as it was; threads that train one classifier take
    turns. Where no threshold meets the constraint on the sample of the stream, `fit` and `fit_stream` raise
    `InfeasibleError` with the closest point. `partial_fit` goes on, since more rows may mend it: meanwhile the closest
    point is used, and `predict` and `decision_function` warn.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features), of several classes (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    solver_ : str
        The solver that was used.
    history_ : dict of ndarray
        Learning curve: `rows`, and since the mark before `tpr`, `tnr` and `measure` of rows not learned yet; at the
        mark `weight_negative`, `weight_positive`, `multiplier` and `level`. Empty for "1pmb". Of several
        classes `rows`, `measure` and `weights`.
    n_iter_ : int

    See Also
    --------
    MeasureClassifier : For data in memory.
    StreamQuantifier : The prevalence of a stream, with an alarm.
    steelyard.streams : Readers of files, chunk by chunk.

    Examples
    --------
    >>> import numpy as np, steelyard as sy, steelyard.measures as m
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 10)); y = (X[:, 0] + 0.3 * rng.normal(size=20_000) > 1.5).astype(int)
    >>> model = sy.OnlineClassifier(m.FBeta(1), random_state=0).fit(X[:10_000], y[:10_000])
    >>> round(m.FBeta(1).score(y[10_000:], model.predict(X[10_000:])), 1)
    0.8
    """

    _learner: AnyLearner
    _scales_seen: bool
    n_features_in_: int
    _parameters: ClassVar[Table] = {
        "measure": (ANY_MEASURE,),
        "subject_to": (ANYTHING,),  # read by `as_constraints`
        "solver": (
            Words("auto", *BY_NAME),
            A("options such as solvers.stream.problem.Scan()", tuple(BY_NAME.values())),
        ),
        "reward": (Words(*REWARDS),),
        "dual_rates": (Words("counts", "surrogate"),),
        "guard": (FLAG,),
        "eta0": (POSITIVE, Words("auto")),
        "alpha": (NOT_NEGATIVE,),
        "radius": (POSITIVE, NOTHING),
        "average": (FLAG,),
        "max_iter": (COUNT,),
        "shuffle": (FLAG,),
        "refresh": (COUNT,),
        "fit_intercept": (FLAG,),
        "pos_label": (ANYTHING,),
        "warm_start": (FLAG,),
        "random_state": (RANDOM,),
        "verbose": (ANYTHING,),
    }

    def __init__(
        self,
        measure: Measure = BAKLD(),
        *,
        subject_to: Constraint | None = None,
        solver: Any = "auto",
        reward: str = "hinge",
        dual_rates: str = "counts",
        guard: bool = True,
        eta0: Any = "auto",
        alpha: float = 0.0,
        radius: float | None = None,
        average: bool = True,
        max_iter: int = 1,
        shuffle: bool = True,
        refresh: int = 16,
        fit_intercept: bool = True,
        pos_label: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.subject_to = subject_to
        self.solver = solver
        self.reward = reward
        self.dual_rates = dual_rates
        self.guard = guard
        self.eta0 = eta0
        self.alpha = alpha
        self.radius = radius
        self.average = average
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.refresh = refresh
        self.fit_intercept = fit_intercept
        self.pos_label = pos_label
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    # -- learning -----------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OnlineClassifier:
        """Learn from all rows, `max_iter` times; `partial_fit` may go on from there."""
        self._check_parameters()
        with in_turn(self), as_before(self):
            if is_elsewhere(X):
                return self._fit_elsewhere(X, y, sample_weight)
            go_on = self.warm_start and self.__sklearn_is_fitted__()
            rows, y = rows_and_y(self, X, y, reset=not go_on, check=False)
            labels = self._known(y) if go_on else self._new(y)
            signs, weight = signs_and_weight(labels, sample_weight, rows, both=not go_on)
            learner = self._learner.copy() if go_on else new_learner(problem_of(self), rows.n_cols, labels.classes)
            with Progress(self.verbose, total=self.max_iter * len(signs)) as progress:
                for number in range(self.max_iter):
                    try:
                        learner.learn(rows, signs, weight, Pass(bool(self.shuffle), number, disposable=True))
                    except BadRowError as error:
                        self._explain(error, rows)
                    progress.update(len(signs), self._message(learner))
            self._take(learner, labels, new=not go_on)
            self.n_iter_ = int(self.max_iter)
            self._settle()
        return self

    def _fit_elsewhere(self, X: Any, y: Any, sample_weight: Any) -> OnlineClassifier:
        """One pass over every partition of a Dask collection, merged."""
        if not is_dask(X):
            raise TypeError("a stream goes from row to row, which a tensor is bad at: give it as an array, in chunks")
        from . import _online_on_dask

        fitted: OnlineClassifier = _online_on_dask.fit(self, X, y, sample_weight)
        return fitted

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> OnlineClassifier:
        """Go on with one chunk of the stream. The first call needs `classes`, or a chunk with all of them: a class that
        is declared may come late, and is never called before.

        How a stream is cut into chunks does not change the result by a single bit. A chunk with NaN or infinity
        raises and leaves the model as it was.
        """
        with in_turn(self), as_before(self):
            first = not self.__sklearn_is_fitted__()
            if first:
                self._check_parameters()
            elif getattr(X, "shape", (1,))[0] == 0 and len(y) == 0:
                validate_data(self, X, reset=False, accept_sparse="csr", ensure_min_samples=0)
                return self
            rows, y = rows_and_y(self, X, y, reset=first, check=False)
            new = first and classes is None
            labels = self._first(y) if new else self._known(y, *self._known_classes(classes, first))
            signs, weight = signs_and_weight(labels, sample_weight, rows, both=False)
            learner = new_learner(problem_of(self), rows.n_cols, labels.classes) if first else self._learner
            try:
                learner.learn(rows, signs, weight, Pass(disposable=first))
            except BadRowError as error:
                self._explain(error, rows)
            self._take(learner, labels, new=first)
        return self

    def fit_stream(
        self, chunks: Iterable[Any], checkpoint: Any = None, every: int = 100_000, classes: Any = None
    ) -> OnlineClassifier:
        """Learn from chunks ``(X, y)`` or ``(X, y, sample_weight)``, with a checkpoint every so many rows.

        If the file `checkpoint` exists, learning goes on from it: pass the same stream from its beginning, and the
        rows that were already learned are skipped. Killed at any moment and called again, the final model has the
        same bits as that of a run that was never interrupted. See `steelyard.streams`.
        """
        self._check_parameters()
        check_parameter("every", every, COUNT)
        if checkpoint is not None:
            Checkpoint.check_place(checkpoint)
        with in_turn(self), as_before(self):
            if self.__sklearn_is_fitted__():
                before = self._learner  # it stays as it is, whatever comes
                del self._learner
                if self.warm_start:
                    self._learner = before.copy()
            self._learn_chunks(chunks, checkpoint, every, classes)
            self._settle()
        return self

    # -- what has been learned ----------------------------------------------------------------------------------
    @property
    def coef_(self) -> NDArray[np.float64]:  # type: ignore[override]
        model = self._model()
        return model.W if isinstance(model, LinearModels) else model.w[None, :] * self._sign

    @property
    def intercept_(self) -> NDArray[np.float64]:  # type: ignore[override]
        model = self._model()
        return model.intercept if isinstance(model, LinearModels) else np.array([model.intercept]) * self._sign

    @property
    def history_(self) -> dict[str, NDArray[np.float64]]:
        self._model()
        return self._learner.curve()

    @lazily
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """``X coef_ + intercept_``: above 0 is what `predict` calls ``classes_[1]``; of several a column each."""
        rows, model = rows_to_score(self, X), self._model()
        if isinstance(model, LinearModels):
            return np.asarray(rows.scores(model.W, rows.cores) + model.intercept)
        if model.status.ended in (Ended.INFEASIBLE, Ended.TROUBLE):
            warnings.warn(str(model.status), UserWarning, stacklevel=2)
        return self._sign * (rows.scores(model.w, rows.cores) + model.intercept)

    def _model(self) -> LinearModel | LinearModels:
        """Of two classes one model, whatever the measure."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        model = self._learner.model()
        return model.of_two() if isinstance(model, LinearModels) and len(self.classes_) == 2 else model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    # -- inside -------------------------------------------------------------------------------------------------
    def _new(self, y: Any) -> Labels | ClassLabels:
        return ClassLabels.of(y) if self.measure.is_lifted else Labels.of(y, self.pos_label, self.measure)

    def _first(self, y: Any) -> Labels | ClassLabels:
        return first_classes(y) if self.measure.is_lifted else first_labels(y, self.pos_label, self.measure)

    def _known(self, y: Any, classes: NDArray[Any] | None = None, positive: Any = None) -> Labels | ClassLabels:
        if classes is None:
            classes, positive = self._known_classes(None, False)
        return known_codes(y, classes) if self.measure.is_lifted else known_labels(y, classes, positive)

    def _known_classes(self, classes: Any, first: bool) -> tuple[NDArray[Any], Any]:
        if classes is None:
            return self.classes_, None if self.measure.is_lifted else self._positive
        known = check_classes(classes, self.measure)
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes={known.tolist()} differ from those of the first call, {self.classes_.tolist()}")
        return known, None if self.measure.is_lifted else positive_label(known, self.pos_label)

    def _take(self, learner: AnyLearner, labels: Labels | ClassLabels, *, new: bool) -> None:
        self._learner = learner
        if isinstance(labels, Labels):
            self._take_labels(labels)
        else:
            self.__dict__.pop("_positive", None)
            self.classes_ = labels.classes
            if len(labels.classes) == 2:
                self._positive = labels.classes[1]
        if new:
            self.solver_ = next(name for name, kind in BY_NAME.items() if isinstance(learner.problem.solver, kind))
            self.n_iter_, self._scales_seen = 1, False
        if self._scales_seen:
            return
        self._scales_seen = learner.n_rows >= SCALES_SEEN
        if (spread := learner.spread) > SPREAD:
            self._scales_seen = True
            warnings.warn(
                f"the columns of X differ in scale by a factor of {spread:.2g}; a linear model may learn "
                "the large ones only. "
                "Put sklearn.preprocessing.StandardScaler (or MaxAbsScaler for sparse X) before this classifier",
                UserWarning,
                stacklevel=3,
            )

    def _settle(self) -> None:
        """Finds the model at once where that takes training or may fail; otherwise it takes a moment, when asked."""
        if self._learner.settles and (status := self._learner.model().status).ended is Ended.INFEASIBLE:
            raise InfeasibleError(status.where)

    def _explain(self, error: BadRowError, rows: Rows) -> NoReturn:
        fault, first = rows.core.first_fault(rows.cores)  # the loop reads rows in an order of its own
        row = error.row if fault in ("", "unordered") else first
        intact = f"Nothing of this chunk was learned and {type(self).__name__} is as it was before it"
        raise ValueError(f"{explain(rows.source, row)}. {intact}") from None

    def _message(self, learner: AnyLearner) -> str:
        if not self.verbose:
            return ""
        curve = learner.curve()
        return f"{self.measure!r} {curve['measure'][-1]:.4f}" if len(curve["rows"]) else ""
