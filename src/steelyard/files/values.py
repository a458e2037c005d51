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
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

import numpy as np
import scipy.sparse as sp

from ..measures import Constraint, Measure
from ..rows import Rows
from . import wrapped
from .errors import ModelFileError
from .expressions import constraint_from_list, constraint_to_list, expression_from_list, expression_to_list
from .layout import pack, unpack

PLAIN = "biufUS"  # kinds of dtype: flags, whole numbers, floats, text, bytes
TREE = "tree"  # the section of the JSON
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


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
    writer = _Writer(descriptions)
    tree = json.dumps(writer.written(value), allow_nan=False, separators=(",", ":")).encode()
    return pack(kind, {TREE: tree, **{str(k): part for k, part in enumerate(writer.sections)}})


def from_bytes(kind: str, data: bytes, find: Find | None = None, trusted: tuple[Any, ...] | None = ()) -> Any:
    """The value in a file of this kind; whatever is wrong with it is a `ModelFileError`. `trusted` are the types of a
    scikit-learn model that may be loaded beside the harmless ones; None is all of them."""
    sections = unpack(data, kind)
    try:
        tree = json.loads(bytes(sections.pop(TREE)), parse_constant=_no_constant)
        reader = _Reader(sections, find)
        foreign = [reader.section(number) for number in _values_of("skops", tree)]
        if foreign:
            wrapped.check(foreign, trusted)
        return reader.read(tree)
    except ModelFileError:
        raise
    except MemoryError:
        raise
    except Exception as error:  # whatever a file that nobody here has written may lead to
        said = str(error) if type(error) in (ValueError, TypeError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"it cannot be read: {said[:500]}") from error


# -- writing ----------------------------------------------------------------------------------------------------
@dataclass
class _Writer:
    descriptions: Callable[[type], Description | None]
    sections: list[bytes] = field(default_factory=list)
    _known: dict[int, tuple[int, Any]] = field(default_factory=dict)  # by id(): its number, and the object itself

    def written(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if type(value) is list:
            return [self.written(one) for one in value]
        if type(value) is tuple:
            return {"tuple": [self.written(one) for one in value]}
        if type(value) is dict and all(type(name) is str for name in value):
            return {"dict": {name: self.written(one) for name, one in value.items()}}
        if isinstance(value, Measure):
            return {"measure": expression_to_list(value)}
        if isinstance(value, Constraint):
            return {"constraint": constraint_to_list(value)}
        if type(value) is bytes:
            return {"bytes": self._section(value)}
        if isinstance(value, np.generic) and value.dtype.kind in PLAIN:
            little = np.asarray(value, dtype=_little(value.dtype))
            return {"scalar": little.dtype.str, "is": little.tobytes().hex()}
        if id(value) in self._known:
            return {"same": self._known[id(value)][0]}
        number = len(self._known)
        self._known[id(value)] = number, value
        return {**self._written_once(value), "id": number}

    def _written_once(self, value: Any) -> dict[str, Any]:
        described = self.descriptions(type(value))
        if described is not None:
            state = {name: self.written(part) for name, part in described.state_of(value).items()}
            return {"object": described.name, "state": state}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if sp.issparse(value) and value.format == "csr":
            parts = [self.written(part) for part in (value.data, value.indices, value.indptr)]
            return {"csr": parts, "shape": [int(n) for n in value.shape], "matrix": isinstance(value, sp.spmatrix)}
        if isinstance(value, Rows):
            parts = [self.written(part) for part in (value.source, value.which, float(value.constant))]
            return {"rows": parts}
        if type(value) is np.random.RandomState:
            _, *generator = cast(tuple[Any, ...], value.get_state())
            return {"random": [self.written(part) for part in generator]}
        return {"skops": self._section(wrapped.to_bytes(value))}

    def _array(self, value: np.ndarray) -> dict[str, Any]:
        if value.dtype.kind == "O":
            if value.ndim != 1 or not all(one is None or type(one) in (bool, int, float, str) for one in value):
                raise ModelFileError("an array of Python objects other than labels and names cannot be saved")
            return {"objects": [self.written(one) for one in value.tolist()]}
        if value.dtype.kind not in PLAIN:
            raise ModelFileError(f"an array of dtype {value.dtype} cannot be saved: convert it to numbers or text")
        order: Literal["C", "F"] = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        little = value.astype(_little(value.dtype), copy=False)
        shape = [int(n) for n in value.shape]
        return {
            "array": self._section(little.tobytes(order)),
            "dtype": little.dtype.str,
            "shape": shape,
            "order": order,
        }

    def _section(self, data: bytes) -> int:
        self.sections.append(data)
        return len(self.sections) - 1


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("<")


# -- reading ----------------------------------------------------------------------------------------------------
@dataclass
class _Reader:
    sections: Mapping[str, memoryview]
    find: Find | None
    _known: dict[int, Any] = field(default_factory=dict)  # by number

    def read(self, tree: Any) -> Any:
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is list:
            return [self.read(one) for one in tree]
        tag = next((tag for tag in self._TAGS if tag in tree), None)
        if tag is None:
            raise ValueError(f"a part has none of the tags that this version knows: {sorted(tree)[:3]}")
        made = self._TAGS[tag](self, tree)
        if "id" in tree:
            if type(tree["id"]) is not int or tree["id"] in self._known:
                raise ValueError("two parts have one number")
            self._known[tree["id"]] = made
        return made

    def _tuple(self, tree: Any) -> tuple[Any, ...]:
        return tuple(self._list(tree["tuple"]))

    def _dict(self, tree: Any) -> dict[str, Any]:
        return {name: self.read(one) for name, one in dict(tree["dict"]).items()}

    def _list(self, tree: Any) -> list[Any]:
        if type(tree) is not list:
            raise ValueError("something that should be a list is none")
        return [self.read(one) for one in tree]

    def _array(self, tree: Any) -> np.ndarray:
        dtype, shape, order = _dtype(tree["dtype"]), tree["shape"], tree["order"]
        if type(shape) is not list or any(type(n) is not int or n < 0 for n in shape) or order not in ("C", "F"):
            raise ValueError("an array has no shape")
        data = self.section(tree["array"])
        if math.prod(shape) * dtype.itemsize != len(data) or len(shape) > 8:
            raise ValueError(f"an array of shape {shape} and dtype {dtype} is not {len(data)} bytes long")
        flat = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))  # a copy, which may be written to
        if dtype.kind == "b" and np.any(np.frombuffer(data, np.uint8) > 1):
            raise ValueError("a flag in an array is neither 0 nor 1")
        if dtype.kind == "U" and np.any(np.frombuffer(data, "<u4") > sys.maxunicode):
            raise ValueError("an array of text holds what is no character")
        return flat.reshape(shape, order=order)

    def _objects(self, tree: Any) -> np.ndarray:
        values = self._list(tree["objects"])
        if not all(one is None or type(one) in (bool, int, float, str) for one in values):
            raise ValueError("an array of labels or names holds something else")
        made = np.empty(len(values), dtype=object)
        made[:] = values
        return made

    def _scalar(self, tree: Any) -> Any:
        dtype, data = _dtype(tree["scalar"]), bytes.fromhex(tree["is"])
        if len(data) != dtype.itemsize or (dtype.kind == "b" and data not in (b"\0", b"\1")):
            raise ValueError("a number is not as long as its dtype")
        return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))[0]

    def _csr(self, tree: Any) -> Any:
        data, indices, indptr = self._list(tree["csr"])
        n, d = tree["shape"]
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr)):
            raise ValueError("a sparse matrix is made of three arrays")
        made = (sp.csr_matrix if tree["matrix"] else sp.csr_array)((data, indices, indptr), shape=(n, d))
        made.check_format(full_check=True)
        return made

    def _rows(self, tree: Any) -> Rows:
        source, which, constant = self._list(tree["rows"])
        if not (sp.issparse(source) or (isinstance(source, np.ndarray) and source.ndim == 2)):
            raise ValueError("rows are a table")
        rows = Rows.of(source)
        if which is not None:
            if which.ndim != 1 or which.dtype != np.int64 or np.any((which < 0) | (which >= rows.n_rows)):
                raise ValueError("a part of some rows names rows that are not there")
            rows = rows.take(which)
        return rows.with_constant(constant) if constant else rows

    def _random(self, tree: Any) -> np.random.RandomState:
        keys, position, has_gauss, gauss = self._list(tree["random"])
        made = np.random.RandomState()
        if keys.dtype != np.uint32 or keys.shape != (624,) or not 0 <= int(position) <= 624 or has_gauss not in (0, 1):
            raise ValueError("the state of a random number generator is not one")
        made.set_state(("MT19937", keys, int(position), int(has_gauss), float(gauss)))
        return made

    def _object(self, tree: Any) -> Any:
        if self.find is None:
            raise ValueError("there are objects in it where there should be none")
        state = tree["state"]
        try:
            description = self.find(tree["object"])
        except KeyError:
            raise ValueError(f"this version knows no {tree['object']!r}"[:100]) from None
        return description.make({name: self.read(part) for name, part in dict(state).items()})

    def section(self, number: Any) -> bytes:
        if type(number) is not int or str(number) not in self.sections:
            raise ValueError(f"there is no section {number!r}"[:100])
        return bytes(self.sections[str(number)])

    def _same(self, tree: Any) -> Any:
        if tree["same"] not in self._known:
            raise ValueError("a part refers to one that has not come yet")
        return self._known[tree["same"]]

    _TAGS: ClassVar[Any] = {
        "same": _same,
        "float": lambda self, tree: _FLOATS[tree["float"]],
        "tuple": _tuple,
        "dict": _dict,
        "bytes": lambda self, tree: self.section(tree["bytes"]),
        "array": _array,
        "objects": _objects,
        "scalar": _scalar,
        "csr": _csr,
        "rows": _rows,
        "measure": lambda self, tree: expression_from_list(tree["measure"]),
        "constraint": lambda self, tree: constraint_from_list(tree["constraint"]),
        "random": _random,
        "object": _object,
        "skops": lambda self, tree: wrapped.from_bytes(self.section(tree["skops"])),
    }


def _values_of(tag: str, tree: Any) -> Iterator[Any]:
    """What stands under a tag, anywhere in the tree."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict) and tag in node:
            yield node[tag]
        if isinstance(node, (dict, list)):
            left.extend(node.values() if isinstance(node, dict) else node)


def _dtype(name: Any) -> np.dtype[Any]:
    """A dtype of plain numbers or text; names that numpy would read as something else are refused."""
    if not isinstance(name, str) or name[:1] not in "<|" or name[1:2] not in PLAIN or not name[2:].isdecimal():
        raise ValueError(f"an array has the dtype {name!r}"[:100])
    return np.dtype(name)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number that a file may hold")
