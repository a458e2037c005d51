"""The prevalence on a stream, now: labelled rows when they come, unlabelled rows always, constant memory.

Given labelled rows (of any balance) from time to time and unlabelled rows at any rate, track the prevalence ``p`` of
the classes over a window of the latest unlabelled rows, by `Quantifier` on the latest labelled rows, and say when it
moved.

The alarm. Let ``u_i`` be the membership of row i (`statistics.prevalence`), averaged over the models; its mean is
linear in ``p``. After every ``window / 4`` rows the mean over the last `window` rows is compared with the mean over all
rows between the last alarm and this window, one class at a time (`statistics.drift`), and an alarm is raised when a
difference as large has a probability of at most ``a``: the false-alarm rate per row times ``window / 4``, over the
number of classes (one for two, which mirror each other). Expectations add up whatever the dependence between
overlapping windows, so the expected number of false alarms in N rows is at most N times the rate, if rows are
independent. Rows that depend on their neighbours (a time series) vary more than the comparison knows, and are alarmed
at more often.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..estimators._binary import one_kind
from ..estimators._border import as_before, check_form, said_of_a_column
from ..estimators._parameters import COUNT, CV, NOTHING, POSITIVE, RANDOM, A, Checked, Number, Table, Words
from ..estimators._turns import in_turn
from ..estimators._users import n_rows
from ..statistics import drift, prevalence
from ..statistics.region import PrevalenceRegion
from ._counting import METHODS
from ._crossfit import ScoredBatch
from .quantifier import Quantifier

Array = NDArray[np.float64]

# Of the alarm in a window's length: a move is judged at most a quarter of a window after it has filled one. The level
# of a check shrinks with their number; benchmarks/drift.py has delays and false alarms (61 to 91 % of what is stated).
CHECKS = 4
LARGEST_LEVEL = 0.01  # of one comparison, where window and stated rate would allow more: its tail is made for less
HALF_LIVES = 8  # a decaying window is cut where rows count for 1/256: what is cut off weighs 0.4 % of the window
GROWTH = 0.1  # the models are fitted again when so many more labelled rows have come: 11 fits' work in all
KEPT_ALARMS = 100  # so that memory does not grow with the stream
BLOCK = 20_000  # rows scored at once, so that memory is bounded; larger ones are not faster, for all costs are per row


class StreamQuantifier(Checked, BaseEstimator):
    """The share of each class in the latest rows of a stream, with an interval and an alarm when it moves.

    Parameters
    ----------
    classifier : classifier, default=None
        As in `Quantifier`; logistic regression if None.
    method : str, default="auto"
        As in `Quantifier`.
    window : int, default=2000
        Unlabelled rows over which the prevalence is taken: few follow quickly, many are steadier.
    half_life : int, default=None
        If given, rows count half for each so many that came after them, instead of all alike in a window.
    memory : int, default=2000
        Labelled rows kept of each class, the latest.
    false_alarms : float, default=0.01
        Expected number of false alarms in 10,000 rows, whichever class they are about. 0 raises none.
    cv, random_state
        As in `Quantifier`.

    Notes
    -----
    A call that fails leaves the quantifier as it was; threads that share one take turns.

    Attributes
    ----------
    prevalence_ : ndarray of shape (n_classes,)
        Over the window, now.
    n_seen_ : int
        Unlabelled rows so far.
    alarms_, n_alarms_ : list of int, int
        Rows seen at the latest alarms, at most 100, and how many there were in all.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int

    See Also
    --------
    Quantifier : For single batches.
    Watch : For promises, on labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> import steelyard as sy
    >>> rng = np.random.default_rng(0)
    >>> def rows(n, p):
    ...     y = (rng.uniform(size=n) < p).astype(int)
    ...     return rng.normal(size=(n, 3)) + 1.2 * y[:, None], y
    >>> q = sy.StreamQuantifier(random_state=0).partial_fit(*rows(1000, 0.3), classes=[0, 1])
    >>> q.update(rows(8000, 0.1)[0]).prevalence_.round(1).tolist(), q.alarms_
    ([0.9, 0.1], [])
    >>> q.update(rows(4000, 0.5)[0]).prevalence_.round(1).tolist(), q.alarms_
    ([0.5, 0.5], [8500])
    """

    classes_: NDArray[Any]
    alarms_: list[int]
    n_seen_: int
    n_alarms_: int
    _labelled: list[Any]  # rows of each class, or None
    _n_new: int
    _rows: Any  # of the window, or None
    _scored: ScoredBatch | None  # the same rows

    def __init__(
        self,
        classifier: Any = None,
        *,
        method: str = "auto",
        window: int = 2000,
        half_life: int | None = None,
        memory: int = 2000,
        false_alarms: float = 0.01,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.method = method
        self.window = window
        self.half_life = half_life
        self.memory = memory
        self.false_alarms = false_alarms
        self.cv = cv
        self.random_state = random_state

    _parameters: ClassVar[Table] = {
        "classifier": (A("a classifier", having=("fit",)), NOTHING),
        "method": (Words("auto", *METHODS),),
        "window": (COUNT,),
        "half_life": (POSITIVE, NOTHING),
        "memory": (COUNT,),
        "false_alarms": (Number(0.0, 1.0, high_too=False, meaning="expected in 10,000 rows"),),
        "cv": (CV,),
        "random_state": (RANDOM,),
    }

    def fit(self, X: Any, y: Any, classes: Any = None) -> StreamQuantifier:
        """Forget everything, and learn from labelled rows."""
        with in_turn(self), as_before(self):
            for name in {"classes_", "n_features_in_", "feature_names_in_", "_quantifier", "_scored"} & set(vars(self)):
                delattr(self, name)  # the rest is set anew where the first rows are taken
            return self.partial_fit(X, y, classes)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> StreamQuantifier:
        """Learn from labelled rows; `classes` lists all labels, in the first call at the latest."""
        with in_turn(self), as_before(self):
            X, y = self._array(X), one_kind(y)
            if X.shape[0] != len(y):
                raise ValueError(f"X has {X.shape[0]} rows and y has {len(y)}")
            if not hasattr(self, "classes_"):
                self._start(y, classes)
            elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"classes={list(classes)} are not those of the first call, {self.classes_.tolist()}")
            unseen = set(y.tolist()) - set(self.classes_.tolist())
            if unseen:
                raise ValueError(
                    f"y has labels {sorted(unseen)} that are not among the classes {self.classes_.tolist()}: a class "
                    "that comes late moves the shares of all others. Name it in classes= of the first call, or begin "
                    "again with fit"
                )
            new = [X[np.flatnonzero(y == label)] for label in self.classes_]
            self._labelled = [_latest(old, part, self.memory) for old, part in zip(self._labelled, new, strict=True)]
            self._n_new += len(y)
            self._fit_when_due()
        return self

    def update(self, X: Any) -> StreamQuantifier:
        """Take unlabelled rows into the window."""
        if not hasattr(self, "_quantifier"):
            raise NotFittedError(
                f"no models yet: call partial_fit with labelled rows of every class before update{self._missing()}"
            )
        with in_turn(self), as_before(self):
            X = self._array(X)
            for start in range(0, X.shape[0], BLOCK):
                self._take(X[start : start + BLOCK])
        return self

    @property
    def prevalence_(self) -> Array:
        """Of each class in the window, in the order of ``classes_``."""
        with in_turn(self):
            scored, weight = self._window()
            return self._quantifier._count(scored, weight).estimate

    def interval(self, confidence: float = 0.95) -> Array:
        """Low and high for the prevalence in the population of the window, (2, n_classes)."""
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
        with in_turn(self):
            scored, weight = self._window()
            return self._quantifier._interval(scored, confidence, weight)

    def region(self, confidence: float = 0.95) -> PrevalenceRegion:
        """The vectors of prevalences of the window's population, all classes together, that a test keeps."""
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
        with in_turn(self):
            scored, weight = self._window()
            return self._quantifier._region(scored, confidence, weight)

    def _missing(self) -> str:
        """Which classes have fewer than the two rows that a model needs, in words."""
        if not hasattr(self, "classes_"):
            return ""
        few = [
            label
            for label, part in zip(self.classes_.tolist(), self._labelled, strict=True)
            if part is None or part.shape[0] < 2
        ]
        return f"; so far there are none or one of {few}"

    def _start(self, y: NDArray[Any], classes: Any) -> None:
        self._check_parameters()
        self.classes_ = np.unique(y if classes is None else np.asarray(classes))
        if len(self.classes_) < 2:
            raise ValueError(
                f"there is only one class, {self.classes_.tolist()[0]!r}: two or more classes are needed. Say all of "
                "them with classes="
            )
        self._labelled = [None] * len(self.classes_)
        self._n_new = 0
        self._fitted_on = 0
        self.n_seen_, self.n_alarms_, self.alarms_ = 0, 0, []
        self._rows = None
        self._rng = check_random_state(self.random_state)

    def _fit_when_due(self) -> None:
        counts = [0 if part is None else part.shape[0] for part in self._labelled]
        if min(counts) < 2 or self._n_new < GROWTH * self._fitted_on:
            return
        X = _stack(self._labelled)
        y = np.repeat(self.classes_, counts)
        inner = Quantifier(
            None if self.classifier is None else clone(self.classifier),
            method=self.method, cv=self.cv, random_state=self._rng,
        )  # fmt: skip
        self._quantifier = inner.fit(X, y)
        self._fitted_on, self._n_new = len(y), 0
        self._at = self._quantifier._judged.likelihood.prevalence
        self._scored = None if self._rows is None else self._quantifier._judged.held.score(self._rows)
        self._forget()

    def _forget(self) -> None:
        """Start anew to learn what is normal: tallies of memberships, by steps, and of all before these steps."""
        nothing = drift.Tally.nothing(len(self.classes_))
        self._step, self._steps, self._before = nothing, [nothing] * CHECKS, nothing

    def _take(self, X: Any) -> None:
        new = self._quantifier._judged.held.score(X)
        length, old = self._length(), self._scored
        self._rows = _latest(self._rows, X, length)
        called = new.called if old is None else np.concatenate([old.called, new.called], axis=1)
        scores = new.scores if old is None else np.concatenate([old.scores, new.scores], axis=1)
        self._scored = ScoredBatch(called[:, -length:].copy(), scores[:, -length:].copy())
        self._watch(self._memberships(new.scores))

    def _memberships(self, scores: Array) -> Array:
        found: Array = prevalence.posteriors(self._quantifier._judged.likelihood(scores), self._at).mean(axis=0)
        return found

    def _watch(self, new: Array) -> None:
        """The last four steps are the window of the alarm; a step that leaves it joins what was before."""
        length = max(1, self.window // CHECKS)
        begun = min(len(new), length - self._step.size)
        whole = (len(new) - begun) // length
        end = begun + whole * length
        inner = drift.Tally.steps(new[begun:end], length, whole)
        for part in (drift.Tally.of(new[:begun]), *inner, drift.Tally.of(new[end:])):
            self._step += part
            self.n_seen_ += part.size
            if self._step.size == length:
                self._before += self._steps[0]
                self._steps, self._step = [*self._steps[1:], self._step], drift.Tally.nothing(len(self.classes_))
                self._check()

    def _check(self) -> None:
        window = sum(self._steps[1:], self._steps[0])
        if self.false_alarms == 0.0 or self._steps[0].size == 0 or self._before.size < window.size:
            return
        compared = 1 if len(self.classes_) == 2 else len(self.classes_)  # of two, one moves as the other does
        level = min(LARGEST_LEVEL, self.false_alarms / 1e4 * self._steps[0].size) / compared
        if drift.moved(window, self._before).min() <= level:
            self.n_alarms_ += 1
            self.alarms_ = [*self.alarms_, self.n_seen_][-KEPT_ALARMS:]
            self._forget()

    def _length(self) -> int:
        return self.window if self.half_life is None else max(self.window, int(np.ceil(HALF_LIVES * self.half_life)))

    def _window(self) -> tuple[ScoredBatch, Array | None]:
        scored = getattr(self, "_scored", None)
        if scored is None:
            raise NotFittedError("no prevalence yet: call update with unlabelled rows first")
        if self.half_life is None:
            return scored, None
        age = np.arange(scored.called.shape[1])[::-1]
        return scored, 0.5 ** (age / self.half_life)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _array(self, X: Any) -> Any:
        """X in the kind of the first call, with the same columns in the same order."""
        check_form(X)
        if n_rows(X) == 0:
            raise ValueError("the batch is empty: at least one row is needed")
        first = not hasattr(self, "n_features_in_")
        with said_of_a_column(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=first)
        if first:
            self._is_sparse = sp.issparse(X)
        if sp.issparse(X) == self._is_sparse:
            return X
        return sp.csr_matrix(X) if self._is_sparse else X.toarray()


def _latest(old: Any, new: Any, most: int) -> Any:
    """The last `most` rows of both, in an array of their own, so that what was given can be freed."""
    if new.shape[0] == 0:
        return old
    if old is None or new.shape[0] >= most:
        return new[max(0, new.shape[0] - most) :].copy()
    kept = old[max(0, old.shape[0] + new.shape[0] - most) :]
    return _stack([kept, new])


def _stack(parts: list[Any]) -> Any:
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
