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
import struct
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"STEELYRD"
VERSION = 1
_HEAD = struct.Struct("<8sIQ")
_LENGTH = struct.Struct("<Q")
_DIGEST = hashlib.sha256().digest_size


class CheckpointError(ValueError):
    """A file that is damaged, cut short, of another version, or no checkpoint at all."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a stream after `rows` rows, with what is needed to check that it fits."""

    problem: str
    seed: int
    classes: np.ndarray
    positive: int
    n_features: int
    feature_names: np.ndarray | None
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
            raise CheckpointError("it is not a steelyard checkpoint")
        _, version, length = _HEAD.unpack_from(data)
        if version != VERSION:
            raise CheckpointError(f"it has version {version}; this steelyard reads version {VERSION}")
        body, digest = data[:-_DIGEST], data[-_DIGEST:]
        if hashlib.sha256(body).digest() != digest:
            raise CheckpointError("its checksum does not match: it is damaged or was cut short")
        header = json.loads(body[_HEAD.size : _HEAD.size + length])
        start = _HEAD.size + length + _LENGTH.size
        names = header["feature_names"]
        dtype = np.dtype(header["dtype"])
        return cls(
            problem=header["problem"],
            seed=header["seed"],
            classes=np.array(header["classes"], dtype=dtype),
            positive=header["positive"],
            n_features=header["n_features"],
            feature_names=None if names is None else np.array(names, dtype=object),
            rows=header["rows"],
            state=body[start:],
        )

    # -- files --------------------------------------------------------------------------------------------------
    def save(self, path: Any) -> None:
        """Write atomically; the checkpoint before this one stays as ``NAME.previous``."""
        target = Path(path)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
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

    @classmethod
    def load(cls, path: Any) -> Checkpoint | None:
        """The newest whole checkpoint at this path; None if there is none at all."""
        target = Path(path)
        candidates = [file for file in (target, previous(target)) if file.exists()]
        problems = []
        for file in candidates:
            try:
                found = cls.from_bytes(file.read_bytes())
            except CheckpointError as error:
                problems.append(f"{file}: {error}")
                continue
            if problems:
                warnings.warn(
                    f"{'; '.join(problems)}. The one before it, {file}, after {found.rows} rows, is used",
                    UserWarning,
                    stacklevel=3,
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
