"""One file that holds all a learner needs to go on: versioned, checksummed, written atomically, and no pickle.

The layout: the magic ``STEELYRD``, a version (uint32), the length of a JSON header (uint64) and the header, the
length of the state (uint64) and the state, and the SHA-256 of everything before it. All numbers are little-endian.

`save` writes a temporary file next to the target, syncs it, keeps the present file as ``NAME.previous`` and renames:
at every moment there is at least one whole checkpoint. `load` takes the newest whole one, with a warning if that is
not the first.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"STEELYRD"
VERSION = 1  # of the file: another number is refused
_HEAD = struct.Struct("<8sIQ")
_LENGTH = struct.Struct("<Q")
_DIGEST = hashlib.sha256().digest_size


class CheckpointError(ValueError):
    """A file that learning cannot go on from."""


class DamagedCheckpointError(CheckpointError):
    """A file that is damaged, cut short, of another version, or no checkpoint: the one before it may be whole."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a stream after `rows` rows, with what is needed to check that it fits."""

    problem: str
    seed: int
    classes: NDArray[Any]
    positive: int
    n_features: int
    feature_names: NDArray[Any] | None
    rows: int
    state: bytes

    # -- bytes --------------------------------------------------------------------------------------------------
    def to_bytes(self) -> bytes:
        header = {
            "problem": self.problem,
            "seed": int(self.seed),
            "classes": self.classes.tolist(),
            "dtype": self.classes.dtype.str,
            "positive": self.positive,
            "n_features": int(self.n_features),
            "feature_names": None if self.feature_names is None else [str(name) for name in self.feature_names],
            "rows": int(self.rows),
        }
        text = json.dumps(header).encode()
        body = b"".join([_HEAD.pack(MAGIC, VERSION, len(text)), text, _LENGTH.pack(len(self.state)), self.state])
        return body + hashlib.sha256(body).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> Checkpoint:
        if len(data) < _HEAD.size or not data.startswith(MAGIC):
            raise DamagedCheckpointError("it is not a steelyard checkpoint")
        _, version, length = _HEAD.unpack_from(data)
        if version != VERSION:
            raise DamagedCheckpointError(f"it has version {version}; this steelyard reads version {VERSION}")
        body, digest = data[:-_DIGEST], data[-_DIGEST:]
        if hashlib.sha256(body).digest() != digest:
            raise DamagedCheckpointError("its checksum does not match: it is damaged or was cut short")
        try:
            return cls._from_parts(*_cut(body, length))
        except Exception as error:  # whatever a header that nobody here has written may lead to
            raise DamagedCheckpointError(f"its header cannot be read: {type(error).__name__}: {error}") from error

    @classmethod
    def _from_parts(cls, header: dict[str, Any], state: bytes) -> Checkpoint:
        names, classes = header["feature_names"], np.array(header["classes"], dtype=np.dtype(header["dtype"]))
        numbers = [header[name] for name in ("seed", "positive", "n_features", "rows")]
        if any(type(number) is not int or number < 0 for number in numbers) or not isinstance(header["problem"], str):
            raise ValueError("something is not what it should be")
        if classes.shape != (2,) or numbers[1] > 1 or numbers[2] < 1 or numbers[0] >= 2**64:
            raise ValueError("it has no two classes, or no features")
        if names is not None and len(names) != numbers[2]:
            raise ValueError("there is not a name for every feature")
        return cls(
            problem=header["problem"],
            seed=numbers[0],
            classes=classes,
            positive=numbers[1],
            n_features=numbers[2],
            feature_names=None if names is None else np.array([str(name) for name in names], dtype=object),
            rows=numbers[3],
            state=state,
        )

    def restore(self, load: Callable[[bytes], None]) -> None:
        """Hand the state to the learner that it is of."""
        try:
            load(self.state)
        except ValueError as error:
            raise DamagedCheckpointError(str(error)) from error

    # -- files --------------------------------------------------------------------------------------------------
    def save(self, path: Any) -> None:
        """Write atomically; the checkpoint before this one stays as ``NAME.previous``."""
        target = _target(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            with open(temporary, "xb") as file:
                file.write(self.to_bytes())
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                _keep(target)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)

    @staticmethod
    def check_place(path: Any) -> None:
        """Raise if no file can be written there, before anything has been learned."""
        target = _target(path)
        if not target.parent.is_dir():
            raise CheckpointError(f"there is no folder {target.parent} to write the checkpoint {target.name} to")
        if target.is_dir() or not os.access(target.parent, os.W_OK):
            raise CheckpointError(f"the checkpoint cannot be written to {target}")

    @classmethod
    def load(cls, path: Any, use: Callable[[Checkpoint], None] = lambda checkpoint: None) -> Checkpoint | None:
        """The newest whole checkpoint at this path that `use` can make use of; None if there is none at all."""
        target = _target(path)
        problems = []
        for file in (target, previous(target)):
            if not file.exists():
                continue
            try:
                found = cls.from_bytes(file.read_bytes())
                use(found)
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

    def check_problem(self, problem: str) -> None:
        if problem != self.problem:
            raise CheckpointError(
                f"the checkpoint is of another problem.\n  checkpoint: {self.problem}\n  this classifier: {problem}\n"
                "Use the same parameters, or another file"
            )


def _cut(body: bytes, length: int) -> tuple[dict[str, Any], bytes]:
    """The header and the state, of the lengths that the file says."""
    (size,) = _LENGTH.unpack_from(body, _HEAD.size + length)
    start = _HEAD.size + length + _LENGTH.size
    if size != len(body) - start:
        raise ValueError("the state is not as long as it says")
    return json.loads(body[_HEAD.size : _HEAD.size + length]), body[start:]


def _target(path: Any) -> Path:
    """The file itself, where the path is a link to it."""
    return Path(os.path.realpath(path))


def previous(path: Any) -> Path:
    target = Path(path)
    return target.with_name(target.name + ".previous")


def _keep(target: Path) -> None:
    """The present file under its second name too; the rename that follows replaces the first."""
    link = target.with_name(f".{target.name}.link")
    link.unlink(missing_ok=True)
    try:
        os.link(target, link)
    except OSError:  # a file system without hard links
        link.write_bytes(target.read_bytes())
    os.replace(link, previous(target))


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
