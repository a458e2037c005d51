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
from .sharing import fold_numbers, on_folds, reused_by, sharing

DRAWS = 4_000  # of a confusion matrix: the ends of 95 % intervals are off by some 0.3 % of probability
# On few rows the threads of OpenMP and BLAS wait for each other longer than they work, and wait by spinning: beside
# other jobs `steelyard demo`, on 1,797 rows, took 457 s with two threads for trees and BLAS, and 34 s with one. Where
# they begin to pay was not measured: ten times those rows, which a tree still passes in milliseconds.
FEW = 20_000
RowNumbers = NDArray[np.intp]


def few_threads(n_rows: int) -> AbstractContextManager[Any]:
    """One thread for OpenMP and BLAS inside, where rows are few."""
    return threadpool_limits(1) if n_rows <= FEW else nullcontext()


@dataclass(frozen=True)
class Turn:
    """One contender on one fold."""

    name: str
    fold: int
    called: NDArray[Any] | None
    seconds: float
    failure: str = ""


@dataclass
class Judged:
    """What one contender did on all folds: a label for each row, from a model that has not seen it."""

    name: str
    called: NDArray[Any]
    is_judged: NDArray[np.bool_]
    seconds: float = 0.0
    failure: str = ""
    values: list[float] = field(default_factory=list)  # of each fold


@dataclass(frozen=True, eq=False)
class Contest:
    """Who is judged, on which rows; those in `shared` by their number, with fits in common (`sharing`)."""

    models: dict[str, Any]
    X: Any
    y: NDArray[Any]
    folds: list[tuple[RowNumbers, RowNumbers]]
    shared: dict[str, Any]
    fold_of: NDArray[np.intp] | None

    @classmethod
    def of(cls, models: dict[str, Any], X: Any, y: NDArray[Any], folds: Any, plain_of: dict[str, str]) -> Contest:
        fold_of = fold_numbers(folds, len(y))
        shared = {} if fold_of is None else sharing(models, plain_of, X, y, fold_of)
        return cls(models, X, y, folds, shared, fold_of)

    def turns(self, n_jobs: int | None) -> Iterator[Turn]:
        """All contenders on all folds, in order, as they come; the same for any `n_jobs`."""
        jobs = (delayed(_turn)(*self._job(name, k)) for k in range(len(self.folds)) for name in self.models)
        if n_jobs in (None, 1):
            yield from (function(*args) for function, args, _ in jobs)
        else:
            yield from Parallel(n_jobs=n_jobs, return_as="generator")(jobs)

    def _job(self, name: str, k: int) -> tuple[Any, ...]:
        train, test = self.folds[k]
        if self.fold_of is None or name not in self.shared:
            return name, k, self.models[name], self.X, self.y, train, test
        model = on_folds(clone(self.shared[name]), self.fold_of[train])
        return name, k, model, np.arange(len(self.y))[:, None], self.y, train, test


def _turn(name: str, fold: int, model: Any, X: Any, y: NDArray[Any], train: RowNumbers, test: RowNumbers) -> Turn:
    """A contender that cannot do it is said to be unable, and stops nobody else. Seconds are those it takes alone."""
    start, before = time.perf_counter(), reused_by(model)

    def seconds() -> float:
        return time.perf_counter() - start + reused_by(model) - before

    try:
        with warnings.catch_warnings(), few_threads(len(y)):
            warnings.simplefilter("ignore")  # of models that do not converge in a fold: their figures say it
            fitted = clone(model).fit(part_of(X, train), y[train])
            called = np.asarray(fitted.predict(part_of(X, test)))
    except Exception as error:
        return Turn(name, fold, None, seconds(), f"{type(error).__name__}: {error}".splitlines()[0])
    return Turn(name, fold, called, seconds())


def take(judged: Judged, turn: Turn, y: NDArray[Any], test: RowNumbers, task: Task) -> None:
    """Enter one turn; a contender that failed once is out."""
    judged.seconds += turn.seconds
    if turn.called is None:
        judged.failure = judged.failure or turn.failure
        return
    judged.called[test], judged.is_judged[test] = turn.called, True
    judged.values.append(score(task, y[test], turn.called))


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
