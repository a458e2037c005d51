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
                f"{path}: there is no column {missing[0]!r}; a table of matches has {', '.join(NEEDED)} and features"
            )
        label = _numbers(columns[known["label"]], known["label"], path)
        strange = sorted(set(label.tolist()) - {-1.0, 0.0, 1.0})
        if strange:
            raise ValueError(f"{path}: Label is 1 for targets and -1 (or 0) for decoys; there is {strange[0]:g}")
        names = tuple(name for name in columns if name.lower() not in NO_FEATURES)
        if not names:
            raise ValueError(f"{path}: there is no feature beside {', '.join(columns)}")
        X = np.column_stack([_numbers(columns[name], name, path) for name in names])
        parts = [np.unique(columns[known[name]], return_inverse=True)[1].ravel() for name in SPECTRUM if name in known]
        spectrum = np.unique(np.column_stack(parts), axis=0, return_inverse=True)[1].ravel()
        others = {name: values for name, values in columns.items() if name not in names}
        return cls(X, names, label == 1.0, spectrum, others)


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
    read = [_parquet(str(path)) if str(path).endswith((".parquet", ".pq")) else _pin(str(path)) for path in paths]
    names = list(read[0])
    for path, columns in zip(paths, read, strict=True):
        if list(columns) != names:
            raise ValueError(f"{path}: its columns are not those of {paths[0]}")
    several = len(read) > 1
    joined = {name: np.concatenate([columns[name] for columns in read]) for name in names}
    if several and "filename" not in {name.lower() for name in names}:
        sizes = [len(columns[names[0]]) for columns in read]
        joined["filename"] = np.repeat(np.array([str(path) for path in paths], dtype=object), sizes)
    return MatchTable.of(joined, str(paths[0]))


def _pin(path: str) -> dict[str, NDArray[Any]]:
    opened: Any = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")  # noqa: SIM115
    with opened as file:
        header = file.readline().rstrip("\r\n").split("\t")
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
    try:
        from pyarrow import parquet
    except ImportError:
        raise ImportError('Parquet needs pyarrow: pip install "steelyard[arrow]"') from None
    table = parquet.read_table(path)
    found: dict[str, NDArray[Any]] = {}
    for name in table.column_names:
        values = table[name].to_pylist()
        if values and isinstance(values[0], (list, tuple)):
            values = [PROTEINS.join(map(str, one)) for one in values]
        found[name] = np.array(values, dtype=object)
    if not len(table):
        raise ValueError(f"{path}: there are no matches")
    return found


def _numbers(values: NDArray[Any], name: str, path: str) -> NDArray[np.float64]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        for number, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError):
                raise ValueError(f"{path}: {name} of match {number + 1} is no number: {value!r}") from None
        raise
