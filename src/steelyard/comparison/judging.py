"""Every contender on every fold: fitted on the rest, judged on the rows left out.

The value of a contender is the measure of all rows left out together, with the interval that Jeffreys' posterior of
its confusion matrix gives. The difference of two is taken on the same rows; its standard error over the K folds is
Nadeau and Bengio's (2003), sqrt((1/K + n_test / n_train) var), as training parts overlap and plain ones flatter.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ..estimators._users import part_of
from ..measures import Measure
from ..statistics.reporting import Figure
from .contenders import Task
from .sharing import Folds, RowNumbers, Scores, called_by_threshold, fold_numbers, joined, rounds_of

DRAWS = 4_000  # of a confusion matrix: the ends of 95 % intervals are off by some 0.3 % of probability
# On few rows the threads of OpenMP and BLAS wait for each other longer than they work, and wait by spinning: beside
# other jobs `steelyard demo`, on 1,797 rows, took 457 s with two threads for trees and BLAS, and 34 s with one. Where
# they begin to pay was not measured: ten times those rows, which a tree still passes in milliseconds.
FEW = 20_000


def few_threads(n_rows: int) -> AbstractContextManager[Any]:
    """One thread for OpenMP and BLAS inside, where rows are few."""
    return threadpool_limits(1) if n_rows <= FEW else nullcontext()


@dataclass(frozen=True)
class Turn:
    """One contender on the rows of one fold; their `scores` where another contender sets a threshold on them."""

    name: str
    fold: int
    rows: RowNumbers
    called: NDArray[Any] | None
    seconds: float
    failure: str = ""
    scores: Scores | None = None


@dataclass
class Judged:
    """What one contender did on all folds: a label for each row, from a model that has not seen it."""

    name: str
    called: NDArray[Any]
    is_judged: NDArray[np.bool_]
    counts: NDArray[np.float64]  # by true class and by class called, of all turns
    seconds: float = 0.0
    failure: str = ""
    values: list[float] = field(default_factory=list)  # of each fold

    @classmethod
    def nothing_yet(cls, name: str, y: NDArray[Any], n_classes: int) -> Judged:
        return cls(name, np.empty_like(y), np.zeros(len(y), dtype=bool), np.zeros((n_classes, n_classes)))

    @property
    def table(self) -> NDArray[np.float64]:
        """The counts as those of a row each: a row that was left out several times has a share in several cells."""
        return self.counts * float(self.is_judged.sum() / self.counts.sum())


@dataclass(frozen=True, eq=False)
class Contest:
    """Who is judged, on which rows. Those of `plain_of` set a threshold on the scores of another one (`sharing`)."""

    models: dict[str, Any]
    X: Any
    y: NDArray[Any]
    folds: Folds
    plain_of: dict[str, str]

    def turns(self, n_jobs: int | None) -> Iterator[Turn]:
        """All contenders on all folds, in order, as they come; the same for any `n_jobs`."""
        done = 0
        for folds in rounds_of(self.folds, len(self.y)):
            yield from self._round(folds, done, n_jobs)
            done += len(folds)

    def _round(self, folds: Folds, done: int, n_jobs: int | None) -> Iterator[Turn]:
        fold_of = fold_numbers(folds, len(self.y))
        plain_of = {} if fold_of is None else self.plain_of
        scored: dict[str, list[Turn]] = {plain: [] for plain in plain_of.values()}
        jobs = (
            delayed(_turn)(name, done + k, self.models[name], self.X, self.y, *folds[k], name in scored)
            for k in range(len(folds))
            for name in self.models
            if name not in plain_of
        )
        in_turn = (function(*args) for function, args, _ in jobs)
        for turn in in_turn if n_jobs in (None, 1) else Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            if turn.name in scored:
                scored[turn.name].append(turn)
            yield turn
        for name, plain in plain_of.items():
            yield from self._with_threshold(name, scored[plain], fold_of)

    def _with_threshold(self, name: str, plain: list[Turn], fold_of: Any) -> Iterator[Turn]:
        """The turns of a contender whose model had its own already. Seconds are those that it would take alone: `cv`
        fits on all but one part in `cv` of the rows and one on all, as much as `cv` fits where time grows with rows."""
        failure, scores = next((turn.failure for turn in plain if turn.failure), ""), None
        for turn in plain:
            start, called = time.perf_counter(), None
            if not failure:
                try:
                    scores = scores or joined([(one.rows, one.scores) for one in plain if one.scores], len(self.y))
                    called = called_by_threshold(self.models[name], scores, self.y, fold_of, turn.rows)
                except Exception as error:
                    failure = _reason(error)
            alone = self.models[name].cv * turn.seconds
            yield Turn(name, turn.fold, turn.rows, called, time.perf_counter() - start + alone, failure)


def _turn(
    name: str, fold: int, model: Any, X: Any, y: NDArray[Any], train: RowNumbers, test: RowNumbers, with_scores: bool
) -> Turn:  # fmt: skip
    """A contender that cannot do it is said to be unable, and stops nobody else."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), few_threads(len(y)):
            warnings.simplefilter("ignore")  # of models that do not converge in a fold: their figures say it
            fitted, unseen = clone(model).fit(part_of(X, train), y[train]), part_of(X, test)
            called = np.asarray(fitted.predict(unseen))
            scores = Scores.of(fitted, unseen) if with_scores else None
    except Exception as error:
        return Turn(name, fold, test, None, time.perf_counter() - start, _reason(error))
    return Turn(name, fold, test, called, time.perf_counter() - start, scores=scores)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def take(judged: Judged, turn: Turn, y: NDArray[Any], classes: NDArray[Any], task: Task) -> None:
    """Enter one turn; a contender that failed once is out."""
    judged.seconds += turn.seconds
    if turn.called is None:
        judged.failure = judged.failure or turn.failure
        return
    judged.called[turn.rows], judged.is_judged[turn.rows] = turn.called, True
    judged.counts += confusion(y[turn.rows], turn.called, classes)
    judged.values.append(score(task, y[turn.rows], turn.called))


def score(task: Task, y: NDArray[Any], called: NDArray[Any]) -> float:
    return task.measure.score(y, called, pos_label=None if task.measure.is_lifted else task.pos_label)


def paired_error(ours: list[float], theirs: list[float], share: float) -> float:
    """The standard error of the mean difference over folds; `share` is n_test / n_train.

    >>> round(paired_error([0.5, 0.6], [0.4, 0.3], 1.0), 4)
    0.1732
    """
    differences = np.subtract(ours, theirs)
    if len(differences) < 2:
        return float("nan")
    return float(np.sqrt((1.0 / len(differences) + share) * differences.var(ddof=1)))


def confusion(y: NDArray[Any], called: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Counts by true class and by class called."""
    k = len(classes)
    cell = np.searchsorted(classes, y) * k + np.searchsorted(classes, called)
    return np.bincount(cell, minlength=k * k).reshape(k, k).astype(np.float64)


def figures(
    measures: list[Measure], counts: NDArray[np.float64], classes: NDArray[Any], task: Task, confidence: float
) -> list[Figure]:
    """The measures at a confusion matrix, each with its interval."""
    draws = np.random.default_rng(0).dirichlet(counts.ravel() + 0.5, DRAWS).reshape(DRAWS, *counts.shape)
    ends = [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence]
    found = []
    for measure in measures:
        at, around = (_value(measure, table, classes, task, counts.sum()) for table in (counts[None], draws))
        low, high = np.nanquantile(around, ends)
        found.append(Figure(float(at[0]), float(low), float(high)))
    return found


def _value(measure: Measure, tables: NDArray[np.float64], classes: Any, task: Task, n: float) -> NDArray[np.float64]:
    shares = tables / tables.sum(axis=(1, 2), keepdims=True)
    true, called, right = shares.sum(axis=2), shares.sum(axis=1), np.diagonal(shares, axis1=1, axis2=2)
    with np.errstate(invalid="ignore"):
        tpr = np.clip(right / true, 0.0, 1.0)
        tnr = np.clip((1.0 - true - called + right) / (1.0 - true), 0.0, 1.0)
    if measure.is_lifted:
        return np.asarray(measure(tpr, tnr, np.clip(true, 0.0, 1.0), sample_size=n, classes=classes.tolist()))
    k = classes.tolist().index(task.pos_label)
    return np.asarray(measure(tpr[:, k], tnr[:, k], np.clip(true[:, k], 0.0, 1.0), sample_size=n))
