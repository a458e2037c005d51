"""All that a learner needs to go on, in one file of `steelyard.files`: checked, versioned, and no pickle.

`save` keeps the file that was there as ``NAME.previous``, so that at every moment there is at least one whole
checkpoint. `load` takes the newest whole one, with a warning if that is not the first.

A checkpoint belongs to a stream, and says so by digests of the rows number 0, 1, 2, 4, 8, ... (`Seen`): when learning
goes on, they are compared as the rows go by. So another stream is refused at its first row that differs from these; one
that is the same in all of them, and not in others, is not noticed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import replace
from ..files.errors import ModelFileError
from ..files.kinds import Each, Fields, Is, Labels, Maybe, Names, Number, Text, check_fields
from ..files.replace import previous
from ..files.values import from_bytes, to_bytes
from .seen import Seen

KIND = "checkpoint"
# The fields of a `Checkpoint`, `positive` of two classes; a seed has 64 bits, and so have counts of rows and columns.
_PARTS: Fields = {
    "problem": Text(), "seed": Number(0, 2**64 - 1, whole=True), "classes": Labels("k"),
    "positive": Number(0, 1, whole=True), "n_features": Number(1, 2**62, whole=True, size="d"),
    "feature_names": Maybe(Names()), "rows": Number(0, 2**62, whole=True), "seen": Each(Text(), type=list),
    "state": Is(bytes),
}  # fmt: skip

__all__ = ["Checkpoint", "CheckpointError", "previous"]


class CheckpointError(ModelFileError):
    """A file that learning cannot go on from."""


class DamagedCheckpointError(CheckpointError):
    """A file that is damaged, cut short, of another version, or no checkpoint: the one before it may be whole."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a stream after `rows` rows, with what is needed to check that it fits.

    Parameters
    ----------
    problem, seed : str, int
        What was to be solved, and how it was drawn.
    classes, positive : ndarray, int
        The labels, and which of them is positive.
    n_features, feature_names : int, ndarray or None
        Of the rows.
    rows, seen : int, list of str
        How many rows were read, and digests of them.
    state : bytes
        Of the learner.

    See Also
    --------
    OnlineClassifier : Its `fit_stream` writes them and goes on from them.
    """

    problem: str
    seed: int
    classes: NDArray[Any]
    positive: int
    n_features: int
    feature_names: NDArray[Any] | None
    rows: int
    state: bytes
    seen: list[str] = field(default_factory=list)

    # -- bytes --------------------------------------------------------------------------------------------------
    def to_bytes(self) -> bytes:
        names = self.feature_names
        names = None if names is None else np.array([str(name) for name in names], dtype=object)
        return to_bytes(KIND, {**vars(self), "seed": int(self.seed), "rows": int(self.rows), "feature_names": names})

    @classmethod
    def from_bytes(cls, data: bytes) -> Checkpoint:
        try:
            parts = from_bytes(KIND, data)
            if not isinstance(parts, dict):
                raise ValueError("it has no parts")
            check_fields(_PARTS, parts)
            if len(parts["classes"]) < 2:
                raise ValueError("it is of one class")
            # A weight for every feature is in the state: no memory is taken for features that are not there.
            if 8 * parts["n_features"] > len(parts["state"]):
                raise ValueError(f"its state is too short for {parts['n_features']} features")
        except ValueError as error:
            raise DamagedCheckpointError(str(error)) from error
        return cls(**parts)

    def restore(self, load: Callable[[bytes], None]) -> None:
        """Hand the state to the learner that it is of."""
        try:
            load(self.state)
        except ValueError as error:
            raise DamagedCheckpointError(str(error)) from error

    # -- files --------------------------------------------------------------------------------------------------
    def save(self, path: Any) -> None:
        """Write atomically; the checkpoint before this one stays as ``NAME.previous``."""
        replace.write(path, self.to_bytes(), keep_previous=True)

    @staticmethod
    def check_place(path: Any) -> None:
        """Raise if no file can be written there, before anything has been learned; take away what a kill has left."""
        try:
            replace.check_place(path)
            replace.clear(path)
        except ModelFileError as error:
            raise CheckpointError(str(error)) from error

    @classmethod
    def load(cls, path: Any, use: Callable[[Checkpoint], None] = lambda checkpoint: None) -> Checkpoint | None:
        """The newest whole checkpoint at this path that `use` can make use of; None if there is none at all."""
        target = replace.target_of(path)
        problems = []
        for file in (target, previous(target)):
            try:
                found = cls._of(file)
                use(found)
            except FileNotFoundError:
                continue
            except DamagedCheckpointError as error:
                problems.append(f"{file}: {error}")
                continue
            if problems:
                warnings.warn(
                    f"{'; '.join(problems)}. The one before it, {file}, after {found.rows} rows, is used",
                    UserWarning,
                    stacklevel=4,
                )
            return found
        if problems:
            raise CheckpointError(
                f"cannot go on from {'; '.join(problems)}. Remove the file to start again, or give another name"
            )
        return None

    @classmethod
    def _of(cls, file: Path) -> Checkpoint:
        try:
            data = replace.read(file)
        except ModelFileError as error:  # no file, but a folder or a device
            raise DamagedCheckpointError(str(error)) from error
        return cls.from_bytes(data)

    # -- whose it is --------------------------------------------------------------------------------------------
    def check_problem(self, problem: str) -> None:
        if problem != self.problem:
            raise CheckpointError(
                f"the checkpoint is of another problem.\n  checkpoint: {self.problem}\n  this classifier: {problem}\n"
                "Use the same parameters, or another file"
            )

    def check_stream(self, seen: Seen) -> None:
        """Raise if one of the rows that went by is not the one that was learned from."""
        row = seen.first_other_than(self.seen)
        if row is not None:
            raise CheckpointError(
                f"the checkpoint is of another stream: row {row} is not the one that was learned from. Pass the same "
                "stream from its beginning, or give another file"
            )
