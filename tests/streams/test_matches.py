"""Percolator's pin and Parquet: what is read, and what is said about a file that is something else."""

import gzip
import sys

import numpy as np
import pytest

from steelyard import streams

LINES = [
    "SpecId\tLabel\tScanNr\tExpMass\tCalcMass\tscore\tlength\tPeptide\tProteins",
    "DefaultDirection\t-\t-\t-\t-\t1\t0",
    "a\t1\t7\t500.5\t500.4\t2.5\t6\tK.ACC.R\tp1\tp2",
    "b\t-1\t7\t500.5\t501.0\t0.5\t7\tK.CCA.R\tdecoy_p1",
    "c\t1\t7\t600.5\t600.0\t-1e-3\t8\tK.CCC.R\tp3",
    "",
]


def written(path, lines=LINES):
    path.write_text("\n".join(lines))
    return path


def test_a_pin_is_read(tmp_path):
    table = streams.read_matches(written(tmp_path / "a.pin"))
    assert table.names == ("score", "length")
    assert table.X.tolist() == [[2.5, 6.0], [0.5, 7.0], [-0.001, 8.0]]
    assert table.is_target.tolist() == [True, False, True]
    assert table.spectrum[0] == table.spectrum[1] != table.spectrum[2]  # one scan, another mass
    assert table.column("proteins").tolist() == ["p1\tp2", "decoy_p1", "p3"]
    assert list(table.others) == ["SpecId", "Label", "ScanNr", "ExpMass", "CalcMass", "Peptide", "Proteins"]


def test_gz_and_labels_of_0(tmp_path):
    with gzip.open(tmp_path / "a.pin.gz", "wt") as file:
        file.write("\n".join(line.replace("\t-1\t7", "\t0\t7") for line in LINES if "Default" not in line))
    assert streams.read_matches(tmp_path / "a.pin.gz").is_target.tolist() == [True, False, True]


def test_two_files_are_two_runs(tmp_path):
    first, second = written(tmp_path / "a.pin"), written(tmp_path / "b.pin")
    table = streams.read_matches(first, second)
    assert len(set(table.spectrum.tolist())) == 4
    other = written(tmp_path / "c.pin", [line.replace("length", "size") for line in LINES])
    with pytest.raises(ValueError, match=r"c\.pin: its columns are not those of"):
        streams.read_matches(first, other)
    wrong = written(tmp_path / "d.pin", [line.replace("-1e-3", "inf") for line in LINES])
    with pytest.raises(ValueError, match=r"d\.pin: score of match 3 is no finite number"):
        streams.read_matches(first, wrong)


def test_parquet_is_the_same_table(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="needs the extra: pip install '.[arrow]'")
    from pyarrow import parquet

    pin = streams.read_matches(written(tmp_path / "a.pin"))
    columns = {name: values.tolist() for name, values in pin.others.items()}
    columns |= {name: pin.X[:, j].tolist() for j, name in enumerate(pin.names)}
    columns["Label"] = [int(label) for label in columns["Label"]]
    columns["Proteins"] = [names.split("\t") for names in columns["Proteins"]]
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = streams.read_matches(tmp_path / "a.parquet")
    assert np.array_equal(table.X, pin.X)
    assert table.is_target.tolist() == pin.is_target.tolist()
    assert table.spectrum.tolist() == pin.spectrum.tolist()
    assert table.column("proteins").tolist() == pin.column("proteins").tolist()
    numbers = columns | {"ScanNr": [7, 7, 7], "ExpMass": [500.5, 500.5, 600.5]}
    parquet.write_table(pa.table(numbers), tmp_path / "numbers.parquet")
    both = streams.read_matches(tmp_path / "a.pin", tmp_path / "numbers.parquet")
    assert both.spectrum.tolist() == [0, 0, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Label", "Lable"), "no column 'label' among 'SpecId', 'Lable'"),
        (("\t", ","), "no column 'specid' among 'SpecId,Label,.*there are tabs"),
        (("length", "score"), "2 columns are called 'score'"),
        (("\t-1\t7", "\t2\t7"), "there is 2"),
        (("\t-1\t7", "\tFalse\t7"), "there is False"),
        (("2.5", "good"), "score of match 1 is no finite number: 'good'"),
        (("0.5\t7", "nan\t7"), "score of match 2 is no finite number: 'nan'"),
        (("\tK.CCC.R\tp3", ""), "line 5 has 7 fields; the header has 9"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, change, message):
    path = written(tmp_path / "a.pin", [line.replace(*change) for line in LINES])
    with pytest.raises(ValueError, match=message):
        streams.read_matches(path)


def test_without_pyarrow_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="Parquet and Arrow need pyarrow: pip install"):
        streams.read_matches(tmp_path / "a.parquet")


def test_a_pyarrow_that_cannot_be_loaded_says_why(tmp_path, monkeypatch):
    (tmp_path / "pyarrow.py").write_text("raise ImportError('pyarrow requires another NumPy')")
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="requires another NumPy"):
        streams.read_matches(tmp_path / "a.parquet")


def test_no_matches_and_no_file(tmp_path):
    with pytest.raises(ValueError, match="there are no matches"):
        streams.read_matches(written(tmp_path / "a.pin", LINES[:2]))
    with pytest.raises(ValueError, match="no file was given"):
        streams.read_matches()
    bare = [line.replace("\tscore\tlength", "").replace("\t2.5\t6", "") for line in LINES[:1]]
    bare.append("a\t1\t7\t500.5\t500.4\tK.ACC.R\tp1")
    with pytest.raises(ValueError, match="there is no feature"):
        streams.read_matches(written(tmp_path / "b.pin", bare))
