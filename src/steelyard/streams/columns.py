"""Named columns to rows: numbers as they are, categories and text hashed to a fixed number of columns.

A stream cannot learn a vocabulary first, so categories and words go through scikit-learn's hashers, which need no
fitting: the same value has the same column in every chunk, in every run. Numbers come first, hashed columns after
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer


@dataclass(frozen=True)
class Columns:
    """Which columns are what. `n_hashed` columns are shared by all categories, and as many by all text.

    Parameters
    ----------
    numeric, categorical, text : sequence of str
        Names of columns: numbers as they are, categories and words hashed.
    n_hashed : int, default=2**18
        Columns that hashes are spread over.

    See Also
    --------
    from_csv : Reads a file by it.
    """

    numeric: Sequence[str] = ()
    categorical: Sequence[str] = ()
    text: Sequence[str] = ()
    n_hashed: int = 2**18

    @property
    def names(self) -> list[str]:
        return [*self.numeric, *self.categorical, *self.text]

    def to_rows(self, values: Mapping[str, Sequence[Any]]) -> Any:
        """A dense matrix of the numbers, or CSR if anything is hashed.

        >>> columns = Columns(numeric=["age"], categorical=["city"], n_hashed=16)
        >>> rows = columns.to_rows({"age": [31, 40], "city": ["Pisa", "Bari"]})
        >>> rows.shape, rows.nnz
        ((2, 17), 4)
        """
        parts: list[Any] = []
        if self.numeric:
            parts.append(np.column_stack([_numbers(values[name], name) for name in self.numeric]))
        if self.categorical:
            tokens = zip(*([f"{name}={value}" for value in values[name]] for name in self.categorical), strict=True)
            parts.append(FeatureHasher(self.n_hashed, input_type="string").transform(tokens))
        hasher = HashingVectorizer(n_features=self.n_hashed)
        parts.extend(hasher.transform([str(value) for value in values[name]]) for name in self.text)
        if not parts:
            raise ValueError("no columns to learn from: name some of them numeric, categorical or text")
        if len(parts) == 1:
            return parts[0]
        return sp.hstack([sp.csr_matrix(part) for part in parts], format="csr")


def _numbers(values: Sequence[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.asarray([np.nan if value in ("", None) else value for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} holds something that is not a number ({error}); "
            "list it under categorical= or text= to have it hashed"
        ) from None
