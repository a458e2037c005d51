"""Models of scikit-learn inside ours, through skops: no pickle there either, and no type that nobody has named.

skops writes a zip archive of JSON and arrays, and reads it back if all types in it are known to be harmless or were
named by the caller. Before it is asked, the archive is looked through: it must be stored uncompressed, and its arrays
as long as they say, so that a small file cannot ask for a large memory.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from .errors import ModelFileError

# Sparse matrices alone are compressed by skops: of zeros and ones a hundredth is left; what is small does not matter.
LARGEST_RATIO, SMALL = 100, 2**24
ADVICE = "pip install 'steelyard[skops]'"
READS = "the file holds a model of scikit-learn, which skops reads"
# What skops does not list: splitters, which hold a few numbers, and making one runs no code; and the type of an array,
# which is read from an empty one.
HARMLESS = {
    f"sklearn.model_selection._split.{name}"
    for name in (
        "KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "RepeatedKFold", "RepeatedStratifiedKFold",
        "ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit", "LeaveOneOut", "LeaveOneGroupOut",
        "TimeSeriesSplit", "PredefinedSplit",
    )
} | {"numpy.dtype"}  # fmt: skip


def to_bytes(value: Any) -> bytes:
    if callable(value):
        raise ModelFileError(f"{_named(value)} is a function or a class, and a file holds no code: save without it")
    skops = _skops(f"a {type(value).__name__} inside a model is written by skops")
    try:
        data: bytes = skops.dumps(value)
        types = skops.get_untrusted_types(data=data)
    except Exception as error:
        if any(isinstance(one, MemoryError) for one in _behind(error)):  # skops and zipfile have other names for it
            raise MemoryError(f"no memory to save {_named(value)}") from error
        raise ModelFileError(f"{_named(value)} cannot be saved by skops: {error}") from error
    ours = [name for name in types if name.startswith("steelyard.")]
    if ours:
        raise ModelFileError(
            f"{ours[0]} inside {_named(value)} cannot be saved: give a model of steelyard directly or in a Pipeline"
        )
    return data


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that it was raised for."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def from_bytes(data: bytes) -> Any:
    """The model in bytes that `check` has let pass."""
    skops = _skops(READS)
    return skops.loads(data, trusted=skops.get_untrusted_types(data=data))


def check(parts: list[bytes], trusted: tuple[Any, ...] | None) -> None:
    """Raise unless all models in these bytes are whole, and made of types that are harmless or `trusted`; None, for
    bytes that were made a moment ago, trusts all."""
    skops, found = _skops(READS), set()
    for data in parts:
        _check_archive(data)
        found.update(skops.get_untrusted_types(data=data))
    unknown = [] if trusted is None else sorted(found - HARMLESS - _names(trusted))
    if unknown:
        raise ModelFileError(
            f"it holds types that are not known to be harmless: {', '.join(unknown)}. If you trust the file and them, "
            f"name them: load(path, trusted={unknown!r})"
        )


def _names(trusted: tuple[Any, ...]) -> set[str]:
    return {one if isinstance(one, str) else f"{one.__module__}.{one.__qualname__}" for one in trusted}


def _named(value: Any) -> str:
    kind = value if isinstance(value, type) or callable(value) else type(value)
    return f"{getattr(kind, '__module__', '?')}.{getattr(kind, '__qualname__', kind)}"


def _check_archive(data: bytes) -> None:
    """Every member as long in memory as in the file, and every array as long as its header says."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                raise ValueError(f"the part {member.filename!r} of a scikit-learn model is compressed")
            if member.file_size > len(data):
                raise ValueError("a part of a scikit-learn model is longer than the whole")
            if member.filename.endswith(".npy"):
                _check_array(archive.read(member))
            elif member.filename.endswith(".npz"):
                with zipfile.ZipFile(io.BytesIO(archive.read(member))) as inner:
                    if sum(part.file_size for part in inner.infolist()) > max(LARGEST_RATIO * len(data), SMALL):
                        raise ValueError("a sparse matrix of a scikit-learn model is far longer than the file")


def _check_array(data: bytes) -> None:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError("an array of a scikit-learn model is not as long as it says")


def _skops(why: str) -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(f"{why}, and skops is not installed: {ADVICE}") from error
    return skops.io
