"""From values to what a file holds of them: a tree for JSON, and sections of bytes (the tags are in `files.values`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import scipy.sparse as sp

from ..measures import Constraint, Measure
from ..rows import Rows
from . import wrapped
from .errors import ModelFileError
from .expressions import constraint_to_list, expression_to_list

if TYPE_CHECKING:
    from .values import Description

PLAIN = "biufUS"  # kinds of dtype: flags, whole numbers, floats, text, bytes


@dataclass
class Writer:
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
