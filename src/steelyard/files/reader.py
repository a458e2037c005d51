"""From what a file holds back to values; nothing is believed before it is checked (the tags are in `files.values`)."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..rows import Rows
from . import wrapped
from .expressions import constraint_from_list, expression_from_list
from .writer import PLAIN

if TYPE_CHECKING:
    from .values import Find

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass
class Reader:
    sections: dict[str, memoryview]
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
        """Each is read once, so that all together take no more memory than the file is long."""
        if type(number) is not int or str(number) not in self.sections:
            raise ValueError(f"there is no section {number!r}, or it is read twice"[:100])
        return bytes(self.sections.pop(str(number)))

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


def _dtype(name: Any) -> np.dtype[Any]:
    """A dtype of plain numbers or text; names that numpy would read as something else are refused."""
    if not isinstance(name, str) or name[:1] not in "<|" or name[1:2] not in PLAIN or not name[2:].isdecimal():
        raise ValueError(f"an array has the dtype {name!r}"[:100])
    return np.dtype(name)
