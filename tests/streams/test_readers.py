"""Readers: the same rows from every kind of file, chunk by chunk, and errors that say what to do."""

import csv

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import steelyard as sy
from steelyard import streams


def rows(n=230):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 3)), 6)
    return X, (X[:, 0] > 0.3).astype(int)


def collect(stream):
    chunks = list(stream)
    parts = [chunk.X.toarray() if sp.issparse(chunk.X) else np.asarray(chunk.X) for chunk in chunks]
    return (
        np.concatenate(parts),
        np.concatenate([np.asarray(chunk.y) for chunk in chunks]),
        [len(chunk) for chunk in chunks],
    )


def table(tmp_path):
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["city"] = np.where(X[:, 1] > 0, "Pisa", "Bari")
    frame["words"] = np.where(X[:, 2] > 0, "one, two", "three")
    frame["w"] = np.arange(len(y)) + 1.0
    frame["y"] = y
    return frame


def test_arrays_and_iterators():
    X, y = rows()
    for source in (X, sp.csr_matrix(X), pd.DataFrame(X)):
        found = collect(streams.from_arrays(source, y, chunk=100))
        assert found[2] == [100, 100, 30]
        np.testing.assert_array_equal(found[0], X)
    pairs = [(X[:100], y[:100]), (X[100:100], y[100:100]), (X[100:], y[100:], np.ones(130))]
    model = sy.OnlineClassifier(random_state=0).fit_stream(pairs)
    assert model._learner.n_rows == 230
    with pytest.raises(TypeError, match="item 0 is a ndarray"):
        sy.OnlineClassifier().fit_stream([X])
    with pytest.raises(ValueError, match="230 rows but 10 labels"):
        sy.OnlineClassifier().fit_stream([(X, y[:10])])


def test_svmlight(tmp_path):
    X, y = rows()
    X[X < 0] = 0.0
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    stream = streams.from_svmlight(tmp_path / "rows.svm", n_features=3, chunk=100)
    for _ in range(2):  # can be read again
        found = collect(stream)
        np.testing.assert_allclose(found[0], X)
        np.testing.assert_array_equal(found[1], y)
        assert found[2] == [100, 100, 30]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "table"])
def test_tables(kind, tmp_path):
    frame = table(tmp_path)
    stream = _reader(kind, frame, tmp_path)(target="y", numeric=["a", "b", "c"], sample_weight="w", chunk=100)
    found = collect(stream)
    np.testing.assert_allclose(found[0], frame[["a", "b", "c"]].to_numpy())
    np.testing.assert_array_equal(found[1], frame["y"])
    assert found[2] == [100, 100, 30]
    np.testing.assert_array_equal(np.concatenate([chunk.sample_weight for chunk in stream]), frame["w"])


def _reader(kind, frame, tmp_path):
    if kind == "csv":
        frame.to_csv(tmp_path / "rows.csv", index=False, quoting=csv.QUOTE_MINIMAL)
        return lambda **options: streams.from_csv(tmp_path / "rows.csv", **options)
    pyarrow = pytest.importorskip("pyarrow")
    whole = pyarrow.Table.from_pandas(frame, preserve_index=False)
    if kind == "table":
        return lambda **options: streams.from_arrow(whole, **options)
    if kind == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(whole, tmp_path / "rows.parquet", row_group_size=1000)
        return lambda **options: streams.from_parquet(tmp_path / "rows.parquet", **options)
    import pyarrow.ipc

    with pyarrow.OSFile(str(tmp_path / "rows.arrow"), "wb") as sink, pyarrow.ipc.new_file(sink, whole.schema) as writer:
        writer.write_table(whole)
    return lambda **options: streams.from_arrow(tmp_path / "rows.arrow", **options)


def test_hashed_columns_do_not_depend_on_the_chunk(tmp_path):
    frame = table(tmp_path)
    options = {"target": "y", "numeric": ["a"], "categorical": ["city"], "text": ["words"], "n_hashed": 64}
    reader = _reader("csv", frame, tmp_path)
    large, small = (collect(reader(chunk=chunk, **options))[0] for chunk in (1000, 7))
    np.testing.assert_array_equal(large, small)
    assert large.shape == (230, 1 + 64 + 64)
    same = (frame["city"] == "Pisa").to_numpy()
    assert len(np.unique(large[same, 1:65], axis=0)) == 1
    assert not np.array_equal(large[same, 1:65][0], large[~same, 1:65][0])
    model = sy.OnlineClassifier(random_state=0).fit_stream(reader(chunk=50, **options))
    assert model.n_features_in_ == 129


def test_columns_that_are_not_named_are_numbers(tmp_path):
    frame = table(tmp_path)[["a", "b", "y"]]
    found = collect(_reader("csv", frame, tmp_path)(target="y"))
    assert found[0].shape == (230, 2)


def test_errors(tmp_path):
    frame = table(tmp_path)
    reader = _reader("csv", frame, tmp_path)
    with pytest.raises(ValueError, match="no column 'z'"):
        list(reader(target="z"))
    with pytest.raises(ValueError, match=r"column 'city' .*categorical="):
        list(reader(target="y", numeric=["city"]))
    with pytest.raises(ValueError, match="chunk is a number of rows"):
        reader(target="y", chunk=0)
    (tmp_path / "short.csv").write_text("a,y\n1,0\n2\n")
    with pytest.raises(ValueError, match=r"line 3 has 1 fields; the header has 2"):
        list(streams.from_csv(tmp_path / "short.csv", "y"))
