"""A linear classifier learned in one pass over a stream, for the measure that is reported.

Given rows one chunk at a time, a measure of the two rates and perhaps a constraint on them, learn ``w.x + b``. The
mathematics is in `solvers.stream.learner` and the loop in ``src/core/stream/learner.hpp``; here is the scikit-learn
side: parameters, labels, chunks, checkpoints.
"""

from __future__ import annotations

import dataclasses
import numbers
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..measures import BAKLD, Constraint, Measure
from ..measures.constraints import as_constraints
from ..solvers.stream.learner import BadRowError, Stream
from ..solvers.stream.mini_batch import MiniBatchStream
from ..solvers.stream.problem import BY_NAME, OnePassMiniBatch, Pass, Problem, check_problem, choose_solver
from ..streams.checkpoint import Checkpoint, CheckpointError
from ..streams.chunks import as_chunks
from . import _stream_input as rows_in
from ._binary import check_measure, positive_label
from ._linear import LinearMixin
from ._progress import Progress

SPREAD = 1e4  # columns whose scales differ by more are warned about


class OnlineClassifier(LinearMixin, BaseEstimator):
    """A linear classifier for any measure of TPR and TNR, learned row by row at memory speed.

    Each row pulls the model with the weight that the measure gives its class at the rates reached so far, so that one
    pass over the data maximises the measure itself: quantification errors, F-beta, G-mean, ratios, or the recall
    under a cap on false alarms. Scale the features (`sklearn.preprocessing.StandardScaler`) as for any linear model.

    Parameters
    ----------
    measure : Measure, default=BAKLD()
        What to maximise.
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
        the papers' algorithm to the letter. With a constraint, a fifth of the rows of the constrained class (at most
        32,768 are kept) sets the threshold and is not learned from, so that the constraint holds on unseen rows too.
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

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    classes_ : ndarray of shape (2,)
    solver_ : str
        The solver that was used.
    history_ : dict of ndarray
        Learning curve: `rows`, and since the mark before `tpr`, `tnr` and `measure` of rows not learned yet;
        `multiplier`, `level`.
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np, steelyard as sy, steelyard.measures as m
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 10)); y = (X[:, 0] + 0.3 * rng.normal(size=20_000) > 1.5).astype(int)
    >>> model = sy.OnlineClassifier(m.FBeta(1), random_state=0).fit(X[:10_000], y[:10_000])
    >>> round(m.FBeta(1).score(y[10_000:], model.predict(X[10_000:])), 1)
    0.8
    """

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
        passes = _whole(self.max_iter, "max_iter", low=1)
        go_on = self.warm_start and hasattr(self, "_stream")
        X, y = rows_in.check_rows(self, X, y, reset=not go_on)
        if go_on:
            classes, positive = self.classes_, self._positive
            signs = rows_in.signs_of_known(y, classes, positive)
        else:
            classes, positive, signs = rows_in.signs_of_new(y, self.pos_label)
        weight = rows_in.check_chunk_weight(sample_weight, X, signs, both=not go_on)
        stream = self._stream if go_on else self._new_stream(X.shape[1])
        progress = Progress(self.verbose, total=passes * len(y))
        for number in range(passes):
            try:
                stream.learn(X, signs, weight, Pass(bool(self.shuffle), number, fresh=not go_on))
            except BadRowError as error:
                raise rows_in.explain(error, X, type(self).__name__) from None
            progress.update(len(y), self._message(stream))
        progress.close()
        self._take(stream, classes, positive)
        self.n_iter_ = passes
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> OnlineClassifier:
        """Go on with one chunk of the stream. The first call needs `classes`, or a chunk with both of them.

        How a stream is cut into chunks does not change the result by a single bit. A chunk with NaN or infinity
        raises and leaves the model as it was.
        """
        first = not hasattr(self, "_stream")
        if not first and getattr(X, "shape", (1,))[0] == 0 and len(y) == 0:
            validate_data(self, X, reset=False, accept_sparse="csr", ensure_min_samples=0)
            return self
        X, y = rows_in.check_rows(self, X, y, reset=first)
        if first and classes is None:
            known, positive, signs = rows_in.signs_of_new(y, self.pos_label)
        else:
            known, positive = self._known_classes(classes, first)
            signs = rows_in.signs_of_known(y, known, positive)
        weight = rows_in.check_chunk_weight(sample_weight, X, signs, both=False)
        stream = self._new_stream(X.shape[1]) if first else self._stream
        try:
            stream.learn(X, signs, weight)
        except BadRowError as error:
            raise rows_in.explain(error, X, type(self).__name__) from None
        self._take(stream, known, positive)
        return self

    def fit_stream(
        self, stream: Iterable[Any], checkpoint: Any = None, every: int = 100_000, classes: Any = None
    ) -> OnlineClassifier:
        """Learn from chunks ``(X, y)`` or ``(X, y, sample_weight)``, with a checkpoint every so many rows.

        If the file `checkpoint` exists, learning goes on from it: pass the same stream from its beginning, and the
        rows that were already learned are skipped. Killed at any moment and called again, the final model has the
        same bits as that of a run that was never interrupted. See `steelyard.streams`.
        """
        every = _whole(every, "every", low=1)
        if hasattr(self, "_stream") and not self.warm_start:
            del self._stream
        saved = None if checkpoint is None else Checkpoint.load(checkpoint)
        done = 0 if saved is None else self._resume(saved)
        progress, written, seen = Progress(self.verbose), done, 0
        for chunk in as_chunks(stream):
            seen += len(chunk)
            if seen <= done:
                continue
            chunk = chunk.last(seen - done) if seen - len(chunk) < done else chunk
            done = seen
            self.partial_fit(chunk.X, chunk.y, classes=classes, sample_weight=chunk.sample_weight)
            progress.update(len(chunk), self._message(self._stream))
            if checkpoint is not None and done - written >= every:
                self._checkpoint(done).save(checkpoint)
                written = done
        progress.close()
        if seen < done:
            raise ValueError(
                f"the checkpoint has learned {done} rows but the stream has only {seen}: is it the same stream?"
            )
        if not hasattr(self, "_stream"):
            raise ValueError("the stream is empty: there is nothing to learn from")
        if checkpoint is not None and done > written:
            self._checkpoint(done).save(checkpoint)
        return self

    # -- what has been learned ----------------------------------------------------------------------------------
    @property
    def coef_(self) -> np.ndarray:
        return self._fitted().model().w[None, :] * self._sign

    @property
    def intercept_(self) -> np.ndarray:
        return np.array([self._fitted().model().intercept]) * self._sign

    @property
    def history_(self) -> dict[str, np.ndarray]:
        return self._fitted().curve()

    def _fitted(self) -> Any:
        if not hasattr(self, "_stream"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self._stream

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream")

    # -- inside -------------------------------------------------------------------------------------------------
    def _problem(self) -> Problem:
        measure, constraints = check_measure(self.measure), as_constraints(self.subject_to)
        if len(constraints) > 1:
            raise ValueError(f"on a stream there can be one constraint; got {len(constraints)}: {self.subject_to!r}")
        constraint = constraints[0] if constraints else None
        guard = bool(self.guard)
        solver = self.solver
        if isinstance(solver, str):
            if solver != "auto" and solver not in BY_NAME:
                raise ValueError(f"solver is 'auto' or one of {sorted(BY_NAME)}; got {solver!r}")
            solver = choose_solver(measure, constraint, guard) if solver == "auto" else BY_NAME[solver]()
        problem = Problem(
            measure=measure,
            constraint=constraint,
            solver=solver,
            reward=self.reward,
            counts={"counts": True, "surrogate": False}.get(self.dual_rates, self.dual_rates),  # type: ignore[arg-type]
            guard=guard,
            eta0=None if isinstance(self.eta0, str) and self.eta0 == "auto" else self.eta0,
            alpha=self.alpha,
            radius=self.radius,
            average=bool(self.average),
            refresh=_whole(self.refresh, "refresh", low=1),
            fit_intercept=bool(self.fit_intercept),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        check_problem(problem)
        return problem

    def _new_stream(self, n_features: int, problem: Problem | None = None) -> Any:
        problem = self._problem() if problem is None else problem
        return (MiniBatchStream if isinstance(problem.solver, OnePassMiniBatch) else Stream)(problem, n_features)

    def _known_classes(self, classes: Any, first: bool) -> tuple[np.ndarray, Any]:
        if classes is None:
            return self.classes_, self._positive
        known = rows_in.check_classes(classes)
        if not first and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes={known.tolist()} differ from those of the first call, {self.classes_.tolist()}")
        return known, positive_label(known, self.pos_label)

    def _take(self, stream: Any, classes: np.ndarray, positive: Any) -> None:
        self._stream, self.classes_, self._positive = stream, classes, positive
        self.solver_ = next(name for name, kind in BY_NAME.items() if isinstance(stream.problem.solver, kind))
        if not hasattr(self, "n_iter_"):
            self.n_iter_ = 1
        if not getattr(self, "_warned", False) and stream.spread > SPREAD:
            self._warned = True
            warnings.warn(
                f"the columns of X differ in scale by a factor of {stream.spread:.2g}; a linear model may learn "
                "the large ones only. "
                "Put sklearn.preprocessing.StandardScaler (or MaxAbsScaler for sparse X) before this classifier",
                UserWarning,
                stacklevel=3,
            )

    def _message(self, stream: Any) -> str:
        if not self.verbose:
            return ""
        curve = stream.curve()
        return f"{self.measure!r} {curve['measure'][-1]:.4f}" if len(curve["rows"]) else ""

    def _checkpoint(self, rows: int) -> Checkpoint:
        problem = self._stream.problem
        return Checkpoint(
            problem=repr(dataclasses.replace(problem, seed=0)),
            seed=problem.seed,
            classes=self.classes_,
            positive=int(self._positive == self.classes_[1]),
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            rows=rows,
            state=self._stream.save(),
        )

    def _resume(self, saved: Checkpoint) -> int:
        problem = self._problem()
        saved.check_problem(repr(dataclasses.replace(problem, seed=0)))
        if self.random_state is not None and problem.seed != saved.seed:
            raise CheckpointError(f"the checkpoint was made with another random_state than {self.random_state!r}")
        stream = self._new_stream(saved.n_features, dataclasses.replace(problem, seed=saved.seed))
        stream.load(saved.state)
        self.n_features_in_ = saved.n_features
        if saved.feature_names is not None:
            self.feature_names_in_ = saved.feature_names
        self._take(stream, saved.classes, saved.classes[saved.positive])
        return saved.rows


def _whole(value: Any, name: str, low: int) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
        raise ValueError(f"{name} must be a whole number of at least {low}; got {value!r}")
    return int(value)
