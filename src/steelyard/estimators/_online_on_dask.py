"""`OnlineClassifier.fit` on the partitions of a Dask collection: streams in parallel, and a merge.

Up to `HOST_ROWS` rows the fit is the one in memory. Beyond, partitions that follow each other are a stream of
`A_STREAM` rows or more, with a learner of its own that goes from one to the next; all streams run in parallel. What
they have learned is merged (`solvers.stream.merged`) up a tree, in their order: models by their mean, duals by their
sums, samples by mass. What moves is a model and a sample of fixed size for each partition, and none of its rows. Which
partitions make a stream depends on their lengths alone, so the bits do not depend on the workers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..distributed.rounds import Rounds
from ..distributed.table import Table
from ..elsewhere.part import Part
from ..solvers.stream.learner import BadRowError, Learner
from ..solvers.stream.merged import Merged, MergedLearner, merged
from ..solvers.stream.problem import OnePassMiniBatch, Pass, Problem
from ._binary import Labels
from ._dask_table import in_memory, labels_of, names_of
from ._on_tensors import HOST_ROWS
from ._stream_problem import problem_of

# Rows of a stream: of two streams instead of one the mean model loses a few thousandths of F1 at 150,000 rows each, and
# four hundredths at 5,000 (docs/scale.md). Half a million are learned in a tenth of a second.
A_STREAM = 1 << 19


def fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """The estimator, fitted on partitions; `_check_parameters` has been called."""
    if estimator.measure.is_lifted:
        raise ValueError(f"on a Dask collection there are two classes; {estimator.measure!r} is about several")
    if estimator.warm_start:
        raise ValueError("warm_start goes on with one stream: call partial_fit with the partitions one by one")
    table = Table(X, y, sample_weight)
    if table.n_rows <= HOST_ROWS:
        return estimator.fit(*in_memory(table))
    problem = problem_of(estimator)
    if isinstance(problem.solver, OnePassMiniBatch):
        raise ValueError("solver='1pmb' goes buffer by buffer; on a Dask collection take 'auto'")
    found = labels_of(table, estimator.pos_label)
    rows = table.signed(found.positive)
    streams = _streams(rows.rounds.parts, [one.n_rows for one in table.seen if one.n_rows], problem, estimator)
    result = Rounds(streams).ask(_left_behind, combine=partial(_merged, problem=problem))
    learner = MergedLearner(problem, table.n_features, result[0])
    estimator.n_features_in_ = table.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if (names := names_of(table)) is not None:
        estimator.feature_names_in_ = names
    labels = Labels(found.classes, found.positive, np.empty(0, dtype=bool))
    estimator._take(learner, labels, new=True)
    estimator.n_iter_ = int(estimator.max_iter)
    estimator._settle()
    return estimator


def _streams(parts: Sequence[Any], lengths: Sequence[int], problem: Problem, estimator: Any) -> list[Any]:
    """The learners at the ends of their streams, delayed. Each has draws of its own."""
    from dask import delayed

    go_on = delayed(_learned, pure=False)
    streams, state, seen, first = [], None, 0, 0
    for number, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if state is None:
            seen, first = 0, number
            state = dataclasses.replace(problem, seed=(problem.seed + number) % (2**31 - 1))
        state = go_on(state, part, bool(estimator.shuffle), int(estimator.max_iter), first)
        seen += length
        if seen >= A_STREAM and sum(lengths[number + 1 :]) >= A_STREAM // 2:
            streams.append(state)
            state = None
    return [*streams, state] if state is not None else streams


def _learned(
    state: Problem | tuple[Learner, int], part: Part, shuffle: bool, max_iter: int, first: int
) -> tuple[Learner, int]:
    """The learner after one more partition; a copy, since a task may run again."""
    learner = Learner(state, part.rows.n_cols) if isinstance(state, Problem) else state[0].copy()
    try:
        for number in range(max_iter):
            learner.learn(part.rows, part.y, part.weight, Pass(shuffle, number, disposable=True))
    except BadRowError as error:
        raise ValueError(f"partition {part.number}: {error}") from error
    return learner, first


def _left_behind(stream: tuple[Learner, int]) -> list[Merged]:
    """In a list of one."""
    return [Merged.of(*stream)]


def _merged(parts: Sequence[list[Merged]], problem: Problem) -> list[Merged]:
    return [merged([part[0] for part in parts], problem)]
