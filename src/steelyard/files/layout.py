"""The layout of every file here: named sections, each with its checksum, and one checksum over all.

    magic ``STEELYRD``, version (uint32), number of sections (uint32), length of the whole file (uint64)
    for each section: name (16 bytes, padded with zeros), length (uint64), SHA-256 (32 bytes)
    the sections, one after another
    SHA-256 of everything before it

All numbers are little-endian. `pack` makes the bytes; `unpack` gives the sections back, or says what is wrong. Nothing
in a file is believed before it is checked: lengths must add up to the length that there is, so that no more memory is
taken than the file is long. The first section, ``kind``, says what the file is of.

Version 1 was that of checkpoints before there were files of models; nothing reads it any more.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping

from .errors import ModelFileError

MAGIC = b"STEELYRD"
VERSION = 2  # files of a newer one are refused, and those of every older one from 2 on are read
KINDS = {
    "model": "a model",
    "checkpoint": "a checkpoint of a stream",
    "state": "the state of a learner",
    "rounds": "a checkpoint of a fit on partitions",
}
_HEAD = struct.Struct("<8sIIQ")
_ENTRY = struct.Struct("<16sQ32s")
_DIGEST = hashlib.sha256().digest_size
MOST_SECTIONS = 1_000_000  # two arrays for every fold of every model of a large quantifier are a few thousand


def pack(kind: str, sections: Mapping[str, bytes]) -> bytes:
    """The bytes of a file; `sections` keep their order.

    >>> data = pack("state", {"numbers": b"123"})
    >>> {name: bytes(part) for name, part in unpack(data, "state").items()}
    {'numbers': b'123'}
    """
    parts = {"kind": kind.encode(), **sections}
    entries = [_ENTRY.pack(name.encode(), len(part), hashlib.sha256(part).digest()) for name, part in parts.items()]
    length = _HEAD.size + _ENTRY.size * len(parts) + sum(map(len, parts.values())) + _DIGEST
    whole, pieces = hashlib.sha256(), [_HEAD.pack(MAGIC, VERSION, len(parts), length), *entries, *parts.values()]
    for piece in pieces:
        whole.update(piece)
    return b"".join([*pieces, whole.digest()])


def unpack(data: bytes, kind: str) -> dict[str, memoryview]:
    """The sections of a file of this kind, without ``kind`` itself."""
    wanted = KINDS[kind]
    if len(data) < _HEAD.size + _DIGEST or not data.startswith(MAGIC):
        raise ModelFileError(f"it is not a steelyard {'checkpoint' if kind == 'checkpoint' else 'file'}")
    _, version, count, length = _HEAD.unpack_from(data)
    if version > VERSION:
        raise ModelFileError(
            f"it has version {version}; this steelyard reads up to version {VERSION}: install a newer steelyard"
        )
    if version < 2:
        raise ModelFileError(f"it has version {version}, of a steelyard before the first release: train again")
    if length != len(data):
        raise ModelFileError(f"it was cut short or added to: {len(data)} bytes of {length}")
    view = memoryview(data)
    if hashlib.sha256(view[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ModelFileError(f"its checksum does not match: it is damaged{_where(view, count)}")
    found = _sections(view, count)
    given = bytes(found.pop("kind", b"")).decode("ascii", "replace")
    if given != kind:
        raise ModelFileError(f"it is {KINDS.get(given, 'of an unknown kind')}, not {wanted}")
    return found


def _sections(view: memoryview, count: int) -> dict[str, memoryview]:
    if not 0 < count <= MOST_SECTIONS or _HEAD.size + count * _ENTRY.size + _DIGEST > len(view):
        raise ModelFileError(f"it says that it has {count} sections, for which it is too short")
    found: dict[str, memoryview] = {}
    start, end = _HEAD.size + count * _ENTRY.size, len(view) - _DIGEST
    for k in range(count):
        raw, length, digest = _ENTRY.unpack_from(view, _HEAD.size + k * _ENTRY.size)
        name = raw.rstrip(b"\0").decode("ascii", "replace")
        if length > end - start:
            raise ModelFileError(f"its section {name!r} is longer than the file")
        found[name] = view[start : start + length]
        start += length
        if hashlib.sha256(found[name]).digest() != digest:
            raise ModelFileError(f"its section {name!r} is damaged: the checksum does not match")
    if start != end or len(found) != count:
        raise ModelFileError("its sections do not fill it, or two have one name")
    return found


def _where(view: memoryview, count: int) -> str:
    """Which section is damaged, for the message, if it can be told."""
    try:
        _sections(view, count)
    except ModelFileError as error:
        return f" ({error})"
    return ""
