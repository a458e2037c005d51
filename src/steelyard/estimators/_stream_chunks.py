"""How `OnlineClassifier` goes through a stream of chunks, with checkpoints, and goes on from one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers.stream.class_learner import ClassLearner
from ..streams.checkpoint import Checkpoint, CheckpointError, DamagedCheckpointError
from ..streams.chunks import as_chunks
from ..streams.seen import Seen
from ._binary import Labels
from ._offsets import ClassLabels
from ._progress import Progress
from ._stream_problem import AnyLearner, new_learner, problem_of


class ChunksMixin:
    """For a classifier with `partial_fit`, `_learner` and the parameters of a stream's problem."""

    _learner: AnyLearner
    classes_: NDArray[Any]
    n_features_in_: int
    verbose: int
    random_state: Any

    def _learn_chunks(self: Any, chunks: Iterable[Any], checkpoint: Any, every: int, classes: Any) -> None:
        saved = None if checkpoint is None else Checkpoint.load(checkpoint, self._resume)
        done = 0 if saved is None else saved.rows
        written, seen = done, Seen()
        with Progress(self.verbose) as progress:
            for chunk in as_chunks(chunks):
                before = seen.n_rows
                seen.see(chunk)
                if saved is not None and before < saved.rows:
                    saved.check_stream(seen)
                if seen.n_rows <= done:
                    continue
                chunk = chunk.last(seen.n_rows - done) if before < done else chunk
                done = seen.n_rows
                self.partial_fit(chunk.X, chunk.y, classes=classes, sample_weight=chunk.sample_weight)
                progress.update(len(chunk), self._message(self._learner))
                if checkpoint is not None and done - written >= every:
                    self._checkpoint(seen).save(checkpoint)
                    written = done
        if seen.n_rows < done:
            raise ValueError(
                f"the checkpoint has learned {done} rows but the stream has only {seen.n_rows}: is it the same stream?"
            )
        if not self.__sklearn_is_fitted__():
            raise ValueError("the stream is empty: there is nothing to learn from")
        if checkpoint is not None and done > written:
            self._checkpoint(seen).save(checkpoint)

    def _checkpoint(self: Any, seen: Seen) -> Checkpoint:
        problem = self._learner.problem
        return Checkpoint(
            problem=repr(dataclasses.replace(problem, seed=0)),
            seed=problem.seed,
            classes=self.classes_,
            positive=1 if len(self.classes_) > 2 else int(self._positive == self.classes_[1]),
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            rows=seen.n_rows,
            state=self._learner.save(),
            seen=list(seen.digests),
        )

    def _resume(self: Any, saved: Checkpoint) -> None:
        problem = problem_of(self)
        saved.check_problem(repr(dataclasses.replace(problem, seed=0)))
        if self.random_state is not None and problem.seed != saved.seed:
            raise CheckpointError(f"the checkpoint was made with another random_state than {self.random_state!r}")
        learner = new_learner(dataclasses.replace(problem, seed=saved.seed), saved.n_features, saved.classes)
        if len(saved.classes) != 2 and not isinstance(learner, ClassLearner):
            raise DamagedCheckpointError(f"{problem.measure!r} is of two classes, and it has {len(saved.classes)}")
        saved.restore(learner.load)
        self.n_features_in_ = saved.n_features
        if saved.feature_names is not None:
            self.feature_names_in_ = saved.feature_names
        labels: Labels | ClassLabels
        if isinstance(learner, ClassLearner):
            labels = ClassLabels(saved.classes, np.empty(0, dtype=np.intp))
        else:
            labels = Labels(saved.classes, saved.classes[saved.positive], np.empty(0, dtype=bool))
        self._take(learner, labels, new=True)
