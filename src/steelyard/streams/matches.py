"""Tables of peptide-spectrum matches: Percolator's tab-delimited input (pin) and Parquet with the same columns.

Given is a file with a line of names and a row for each match: ``SpecId``, ``Label`` (1 for targets, -1 or 0 for
decoys), ``ScanNr``, features, ``Peptide`` and ``Proteins``, whatever the case of the letters. In a pin the last column
is a list of proteins, each after a tab of its own, and the second line may be a "DefaultDirection", which is passed
over. ``ScanNr``, ``ExpMass``, ``ret_time`` and ``filename`` together are the spectrum, as mokapot has it; they and
``CalcMass`` are no features. What comes back is a `MatchTable`.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .files import with_pyarrow

NEEDED = ("specid", "label", "scannr", "peptide", "proteins")
SPECTRUM = ("filename", "scannr", "ret_time", "expmass")
NO_FEATURES = {*NEEDED, *SPECTRUM, "calcmass"}
PROTEINS = "\t"  # between the proteins of one match


@dataclass(frozen=True, eq=False)
class MatchTable:
    """Features (`X` with `names`), targets, the number of each row's spectrum, and the other columns as text."""

    X: NDArray[np.float64]
    names: tuple[str, ...]
    is_target: NDArray[np.bool_]
    spectrum: NDArray[np.intp]
    others: Mapping[str, NDArray[Any]]  # in the order of the file

    def column(self, name: str) -> NDArray[Any]:
        """One of the others, whatever the case of its name."""
        return next(values for held, values in self.others.items() if held.lower() == name)

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]], path: str) -> MatchTable:
        known = {name.lower(): name for name in columns}
        missing = [name for name in NEEDED if name not in known]
        if missing:
            raise ValueError(
                f"{path}: there is no column {missing[0]!r} among {', '.join(map(repr, columns))}; a table of matches "
                f"has {', '.join(NEEDED)} and features, and in a pin there are tabs between them"
            )
        given = columns[known["label"]]
        label = np.array([_number(value) for value in given])
        strange = np.flatnonzero(~np.isin(label, (-1.0, 0.0, 1.0)))
        if len(strange):
            raise ValueError(f"{path}: Label is 1 for targets and -1 (or 0) for decoys; there is {given[strange[0]]}")
        names = tuple(name for name in columns if name.lower() not in NO_FEATURES)
        if not names:
            raise ValueError(f"{path}: there is no feature beside {', '.join(columns)}")
        X = np.column_stack([_numbers(columns[name], name, path) for name in names])
        others = {name: values for name, values in columns.items() if name not in names}
        return cls(X, names, label == 1.0, _spectra(others), others)

    @classmethod
    def joined(cls, tables: Sequence[MatchTable], paths: Sequence[str]) -> MatchTable:
        """One below the other; each file is a run of its own, unless a column says which run a row is of."""
        first = tables[0]
        for path, table in zip(paths, tables, strict=True):
            if (table.names, list(table.others)) != (first.names, list(first.others)):
                raise ValueError(f"{path}: its columns are not those of {paths[0]}")
        if len(tables) == 1:
            return first
        others = {name: np.concatenate([table.others[name] for table in tables]) for name in first.others}
        if "filename" not in {name.lower() for name in others}:
            others["filename"] = np.repeat(np.array(paths, dtype=object), [len(table.X) for table in tables])
        X = np.vstack([table.X for table in tables])
        return cls(X, first.names, np.concatenate([table.is_target for table in tables]), _spectra(others), others)


def _spectra(others: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    """By their text, which is the same in a pin and in Parquet."""
    known = {name.lower(): np.array(list(map(str, values)), dtype=object) for name, values in others.items()}
    parts = [np.unique(known[name], return_inverse=True)[1] for name in SPECTRUM if name in known]
    return np.unique(np.column_stack(parts), axis=0, return_inverse=True)[1].ravel()


def read_matches(*paths: str | Path) -> MatchTable:
    """Peptide-spectrum matches from pin files (also .gz) or Parquet, one after the other; the columns must be the same.

    Examples
    --------
    >>> import tempfile, pathlib, steelyard as sy
    >>> pin = pathlib.Path(tempfile.mkdtemp()) / "two.pin"
    >>> lines = ["SpecId Label ScanNr score Peptide Proteins", "a 1 7 2.5 K.AC.R p1 p2", "b -1 7 0.5 K.CA.R decoy_p1"]
    >>> _ = pin.write_text("\\n".join(line.replace(" ", "\\t") for line in lines))
    >>> table = sy.streams.read_matches(pin)
    >>> table.X.tolist(), table.is_target.tolist(), table.spectrum.tolist()
    ([[2.5], [0.5]], [True, False], [0, 0])
    """
    if not paths:
        raise ValueError("no file was given: read_matches(path, ...)")
    names = [str(path) for path in paths]
    read = [_parquet if name.endswith((".parquet", ".pq")) else _pin for name in names]
    return MatchTable.joined([MatchTable.of(get(name), name) for get, name in zip(read, names, strict=True)], names)


def _pin(path: str) -> dict[str, NDArray[Any]]:
    opened: Any = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")  # noqa: SIM115
    with opened as file:
        header = _named_once(file.readline().rstrip("\r\n").split("\t"), path)
        rows: list[Sequence[str]] = []
        for number, line in enumerate(file, start=2):
            fields = line.rstrip("\r\n").split("\t", len(header) - 1)
            if (number == 2 and fields[0].lower() == "defaultdirection") or fields == [""]:
                continue
            if len(fields) != len(header):
                raise ValueError(f"{path}: line {number} has {len(fields)} fields; the header has {len(header)}")
            rows.append(fields)
    if not rows:
        raise ValueError(f"{path}: there are no matches")
    return {name: np.array(values, dtype=object) for name, values in zip(header, zip(*rows, strict=True), strict=True)}


def _parquet(path: str) -> dict[str, NDArray[Any]]:
    table = with_pyarrow().parquet.read_table(path)
    found: dict[str, NDArray[Any]] = {}
    for name in _named_once(table.column_names, path):
        values = table[name].to_pylist()
        if values and isinstance(values[0], (list, tuple)):
            values = [PROTEINS.join(map(str, one)) for one in values]
        found[name] = np.array(values, dtype=object)
    if not len(table):
        raise ValueError(f"{path}: there are no matches")
    return found


def _named_once(names: list[str], path: str) -> list[str]:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{path}: {names.count(twice[0])} columns are called {twice[0]!r}")
    return names


def _numbers(values: NDArray[Any], name: str, path: str) -> NDArray[np.float64]:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(value) for value in values])
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise ValueError(f"{path}: {name} of match {wrong[0] + 1} is no finite number: {values[wrong[0]]!r}")
    return numbers


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan
