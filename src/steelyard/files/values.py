"""What may stand in a file: plain values as JSON, arrays as sections, and objects that somebody has described.

JSON holds None, True, False, numbers, text and lists as they are. Everything else is a dict with one tag, which
says how to read it::

    {"float": "nan"}    {"tuple": [...]}    {"dict": {...}}    {"bytes": section}    {"objects": [...]}
    {"array": section, "dtype": "<f8", "shape": [3, 4], "order": "C"}    {"scalar": "<i8", "is": "0100000000000000"}
    {"csr": [data, indices, indptr], "shape": [n, d]}    {"measure": [...]}    {"constraint": [...]}
    {"rows": [...]}    {"random": [...]}    {"object": "Name", "state": {...}}    {"skops": section}

Arrays and objects carry a number, ``"id": 3``, and where they come again they are ``{"same": 3}``. A tag that is not in
this list, a length that does not fit, a dtype that is not a plain number or text: the file is refused. Objects are made
by their `Description` only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import wrapped
from .errors import ModelFileError
from .layout import pack, unpack
from .reader import Reader
from .writer import Writer

TREE = "tree"  # the section of the JSON


@dataclass(frozen=True)
class Description:
    """What a file holds of the objects of a class: `state_of` names it, `make` checks it and makes an object of it."""

    name: str
    type: type
    state_of: Callable[[Any], dict[str, Any]]
    make: Callable[[dict[str, Any]], Any]


Find = Callable[[str], Description]  # by the name; raises KeyError where there is none


def to_bytes(kind: str, value: Any, descriptions: Callable[[type], Description | None] = lambda _: None) -> bytes:
    """A file of this kind that holds one value."""
    writer = Writer(descriptions)
    tree = json.dumps(writer.written(value), allow_nan=False, separators=(",", ":")).encode()
    return pack(kind, {TREE: tree, **{str(k): part for k, part in enumerate(writer.sections)}})


def from_bytes(kind: str, data: bytes, find: Find | None = None, trusted: tuple[Any, ...] | None = ()) -> Any:
    """The value in a file of this kind; whatever is wrong with it is a `ModelFileError`. `trusted` are the types of a
    scikit-learn model that may be loaded beside the harmless ones; None is all of them."""
    sections = unpack(data, kind)
    try:
        tree = json.loads(bytes(sections.pop(TREE)), parse_constant=_no_constant)
        foreign = {str(number): sections[str(number)] for number in _values_of("skops", tree)}
        if foreign:
            wrapped.check([bytes(part) for part in foreign.values()], trusted)
        return Reader(sections, find).read(tree)
    except ModelFileError:
        raise
    except MemoryError:
        raise
    except Exception as error:  # whatever a file that nobody here has written may lead to
        said = str(error) if type(error) in (ValueError, TypeError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"it cannot be read: {said[:500]}") from error


def _values_of(tag: str, tree: Any) -> Iterator[Any]:
    """What stands under a tag, anywhere in the tree."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict) and tag in node:
            yield node[tag]
        if isinstance(node, (dict, list)):
            left.extend(node.values() if isinstance(node, dict) else node)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number that a file may hold")
