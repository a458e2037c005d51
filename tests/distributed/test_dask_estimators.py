"""Estimators on Dask collections: those of memory up to a number of rows, and beyond by sums over partitions."""

import pickle

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason='rows in partitions need Dask (pip install "steelyard[dask]")')
dd = pytest.importorskip("dask.dataframe")

import pandas as pd  # noqa: E402
from sklearn.frozen import FrozenEstimator  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

import steelyard as sy  # noqa: E402
import steelyard.measures as m  # noqa: E402
from steelyard.estimators import _measure_elsewhere, _online_on_dask, _path_elsewhere, _threshold_on_dask  # noqa: E402
from steelyard.files import ModelFileError  # noqa: E402
from steelyard.quantification import _on_dask as counted_on_dask  # noqa: E402

N = 6000


def make(n=N, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ np.arange(1.0, d + 1) + 3.0 * rng.normal(size=n) > 6.0).astype(int)


def in_parts(X, y, chunks=1100):
    return da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=chunks)


@pytest.fixture
def few_on_the_host(monkeypatch):
    """Beyond 2,000 rows nothing is read in memory but samples."""
    for module in (_measure_elsewhere, _online_on_dask, _path_elsewhere, _threshold_on_dask, counted_on_dask):
        monkeypatch.setattr(module, "HOST_ROWS", 2000)
    monkeypatch.setattr(_measure_elsewhere, "OF_A_CLASS", 300)
    monkeypatch.setattr(_online_on_dask, "A_STREAM", 2000)


def F1(model, X, y):
    return m.FBeta(1).score(y, model.predict(X))


# -- MeasureClassifier ------------------------------------------------------------------------------------------------
def test_few_rows_are_fitted_in_memory():
    X, y = make(1500)
    mine, theirs = (sy.MeasureClassifier(C=0.01, random_state=0).fit(*rows) for rows in ((X, y), in_parts(X, y)))
    assert np.array_equal(mine.coef_, theirs.coef_)
    assert mine.intercept_ == theirs.intercept_


@pytest.mark.parametrize("cv", [5, 0.2])
def test_a_classifier_of_partitions(few_on_the_host, cv):
    X, y = make()
    dX, dy = in_parts(X, y)
    model = sy.MeasureClassifier(m.FBeta(1), cv=cv, random_state=0).fit(dX, dy)
    assert model.gap_ <= model.tol
    assert F1(model, X, y) > F1(sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X, y), X, y) - 0.02
    lazy = model.predict(dX)
    assert lazy.chunks == (dX.chunks[0],)
    assert np.array_equal(lazy.compute(), model.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(dX).compute(), model.decision_function(X))


def test_a_fit_under_a_constraint_keeps_it_on_rows_left_out(few_on_the_host):
    X, y = make()
    model = sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.05, C=0.01, random_state=0).fit(*in_parts(X, y))
    assert (model.predict(X)[y == 0] == 1).mean() < 0.06
    with pytest.raises(ValueError, match="delta is for up to"):
        sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.05, delta=0.1, cv=0.3).fit(*in_parts(X, y))


def test_frames_with_names_categories_and_words(few_on_the_host):
    X, y = make()
    words = np.where(y == 1, "yes", "no")
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["e"] = pd.Categorical(np.round(X[:, 4]))  # numbers as categories, other ones in every partition
    parts = [
        frame[k : k + 1500].assign(e=lambda part: part["e"].cat.remove_unused_categories()) for k in range(0, N, 1500)
    ]
    whole = frame.assign(e=frame["e"].astype(float))
    ddf = dd.concat([dd.from_pandas(part.assign(e=part["e"].astype(float)), npartitions=1) for part in parts])
    labels = dd.from_pandas(pd.Series(words, dtype="category"), npartitions=4)
    model = sy.MeasureClassifier(m.FBeta(1), pos_label="yes", C=0.01, random_state=0)
    model.fit(ddf, labels)
    assert list(model.feature_names_in_) == list("abcde")
    assert set(model.classes_) == {"no", "yes"}
    called = model.predict(ddf).compute()
    assert np.array_equal(called, model.predict(whole))
    assert m.FBeta(1).score(y, (called == "yes").astype(int)) > 0.5


def test_categories_are_their_values_and_words_are_named():
    from steelyard.distributed.frames import labels_of, matrix_of

    one, other = (pd.DataFrame({"a": pd.Categorical(values)}) for values in ([1.0, 2.0], [2.0, 3.0]))
    assert matrix_of(one).ravel().tolist() == [1.0, 2.0]
    assert matrix_of(other).ravel().tolist() == [2.0, 3.0]
    with pytest.raises(ValueError, match="column 'a' of X holds str"):
        matrix_of(pd.DataFrame({"a": pd.Categorical(["x", "y"])}))
    with pytest.raises(TypeError, match="dates"):
        matrix_of(pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}))
    with pytest.raises(ValueError, match="row 1 is missing"):
        labels_of(pd.Series(["x", None]))


def test_parquet_and_csv_and_a_word_in_one_partition(few_on_the_host, tmp_path):
    X, y = make()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(label=y)
    for k in range(4):
        frame[1500 * k : 1500 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet", index=False)
        frame[1500 * k : 1500 * (k + 1)].to_csv(tmp_path / f"{k}.csv", index=False)
    models = [
        sy.MeasureClassifier(C=0.01, random_state=0).fit(rows.drop(columns="label"), rows["label"])
        for rows in (dd.read_parquet(tmp_path / "*.parquet"), dd.read_csv(str(tmp_path / "*.csv")))
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-9)
    bad = frame.astype({"b": object})
    bad.loc[4000, "b"] = "n/a"
    ddf = dd.from_map(lambda k: bad[1500 * k : 1500 * (k + 1)], range(4), meta=bad[:0])
    with pytest.raises(ValueError, match="partition 2: column 'b' of X holds"):
        sy.MeasureClassifier(C=0.01).fit(ddf.drop(columns="label"), ddf["label"])


def test_one_class_and_no_weight_are_said():
    with pytest.raises(ValueError, match="only one class"):
        sy.MeasureClassifier().fit(*in_parts(make(500)[0], np.zeros(500, dtype=int)))


# -- checkpoints ------------------------------------------------------------------------------------------------------
def test_a_killed_fit_goes_on_from_its_last_round(few_on_the_host, tmp_path, monkeypatch):
    from steelyard.distributed import rounds

    X, y = make()
    dX, dy = in_parts(X, y)
    fit = lambda: sy.MeasureClassifier(m.FBeta(1), C=0.01, random_state=0).fit(dX, dy, checkpoint=tmp_path / "fit")
    whole = sy.MeasureClassifier(m.FBeta(1), C=0.01, random_state=0).fit(dX, dy)
    ask, count = rounds.Rounds._ask, []

    def killed_after(limit):
        def asked(self, function, given, combine):
            if len(count) >= limit:
                raise KeyboardInterrupt
            count.append(function.__name__)
            return ask(self, function, given, combine)

        return asked

    for limit in (3, 6, 9):
        monkeypatch.setattr(rounds.Rounds, "_ask", killed_after(limit))
        with pytest.raises(KeyboardInterrupt):
            fit()
    before = len(count)
    monkeypatch.setattr(rounds.Rounds, "_ask", killed_after(1000))
    model = fit()
    assert np.array_equal(model.coef_, whole.coef_)
    assert model.intercept_ == whole.intercept_
    count.clear()
    fit()
    assert set(count) == {"drawn"}  # samples of rows are drawn again, everything else is known
    assert before == 9


def test_one_sample_comes_here_for_search_newton_and_thresholds(few_on_the_host, monkeypatch):
    from steelyard.distributed import rounds, rows

    monkeypatch.setattr(rows, "SAMPLE", 1000)
    asked, ask = [], rounds.Rounds.ask
    monkeypatch.setattr(
        rounds.Rounds, "ask", lambda self, f, *given, **how: (asked.append(f.__name__), ask(self, f, *given, **how))[1]
    )
    model = sy.MeasureClassifier(m.FBeta(1), C=0.01, random_state=0).fit(*in_parts(*make()))
    assert model.gap_ <= model.tol
    assert asked.count("drawn") == 2  # rows that fits may see, and rows that are left out
    assert "spread" not in asked


def test_fits_without_a_fold_do_not_know_its_rows():
    from steelyard.elsewhere.part import Fold
    from steelyard.estimators._dask_table import FOLDS, DaskTable

    X, y = make()
    X[:, 0] = np.arange(N)
    table = DaskTable(*in_parts(X, y), None, "")
    table.labels(None)
    rows = table.rows(fit_intercept=True)
    sample = rows.draw(lambda of_class: int(of_class // 3), 0, 5)
    left_out = np.concatenate([Fold(5, FOLDS).holds(k // 1100, min(1100, N - k)) for k in range(0, N, 1100)])
    drawn, here = (one.source[:, 0].astype(int) for one in (sample.rows, rows.rows.here.rows))
    assert len(set(drawn)) == len(drawn) > 1800
    assert set(here) == {row for row in drawn if not left_out[row]}
    assert left_out[drawn].any()


def test_the_checkpoint_of_another_fit_is_refused(few_on_the_host, tmp_path):
    X, y = make()
    make_model = lambda C: sy.MeasureClassifier(C=C, random_state=0)
    make_model(0.01).fit(*in_parts(X, y), checkpoint=tmp_path / "fit")
    for C, rows in ((0.02, (X, y)), (0.01, (X + 1.0, y))):
        with pytest.raises(ModelFileError, match="checkpoint of another fit"):
            make_model(C).fit(*in_parts(*rows), checkpoint=tmp_path / "fit")
    (tmp_path / "fit").write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match="not a steelyard file"):
        make_model(0.01).fit(*in_parts(X, y), checkpoint=tmp_path / "fit")
    with pytest.raises(ValueError, match="checkpoint is for fits on Dask"):
        make_model(0.01).fit(X, y, checkpoint=tmp_path / "other")


# -- ThresholdClassifier ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("measure", [m.FBeta(1), m.BAKLD(), m.GMean()], ids=repr)
@pytest.mark.parametrize("limits", [None, m.fpr <= 0.05])
def test_a_threshold_is_that_of_memory_to_the_bit(measure, limits):
    X, y = make()
    model = LogisticRegression().fit(X[:500], y[:500])
    weight = np.random.default_rng(0).integers(0, 4, N).astype(float)
    for given in (None, weight):
        mine = sy.ThresholdClassifier(model, measure, subject_to=limits, cv="prefit").fit(X, y, given)
        beside = None if given is None else da.from_array(given, chunks=1100)
        theirs = sy.ThresholdClassifier(FrozenEstimator(model), measure, subject_to=limits)
        theirs.fit(*in_parts(X, y), sample_weight=beside)
        assert theirs.best_threshold_ == mine.best_threshold_
        np.testing.assert_allclose(theirs.best_score_, mine.best_score_, rtol=1e-12)
    called = theirs.predict(in_parts(X, y)[0])
    assert np.array_equal(called.compute(), theirs.predict(X))
    assert theirs.predict_proba(in_parts(X, y)[0]).compute().shape == (N, 2)


def test_a_promise_by_partitions():
    X, y = make()
    model = LogisticRegression().fit(X[:500], y[:500])
    asked = {"subject_to": m.fpr <= 0.05, "delta": 0.1, "cv": "prefit"}
    mine = sy.ThresholdClassifier(model, m.Recall(), **asked).fit(X, y)
    theirs = sy.ThresholdClassifier(model, m.Recall(), **asked).fit(*in_parts(X, y))
    assert theirs.best_threshold_ == mine.best_threshold_
    assert theirs.promise_ is not None


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(ValueError, match="the model comes fitted"):
        sy.ThresholdClassifier(LogisticRegression()).fit(*in_parts(*make(100)))


# -- OnlineClassifier -------------------------------------------------------------------------------------------------
def test_one_stream_of_partitions_is_a_stream_of_chunks(few_on_the_host, monkeypatch):
    """Partitions that make one stream are learned in their order: the model of partial_fit, to the bit."""
    monkeypatch.setattr(_online_on_dask, "A_STREAM", N)
    X, y = make()
    theirs = sy.OnlineClassifier(m.FBeta(1), shuffle=False, random_state=0).fit(*in_parts(X, y))
    mine = sy.OnlineClassifier(m.FBeta(1), random_state=0)
    for k in range(0, N, 1100):
        mine.partial_fit(X[k : k + 1100], y[k : k + 1100], classes=[0, 1])
    assert np.array_equal(theirs.coef_, mine.coef_)
    np.testing.assert_allclose(theirs.intercept_, mine.intercept_, rtol=1e-9)


@pytest.mark.parametrize(("measure", "limits"), [(m.FBeta(1), None), (m.BAKLD(), None), (m.Recall(), m.fpr <= 0.05)])
def test_streams_are_merged(few_on_the_host, measure, limits, tmp_path):
    X, y = make(20_000)
    theirs = sy.OnlineClassifier(measure, subject_to=limits, random_state=0).fit(*in_parts(X, y, 900))
    mine = sy.OnlineClassifier(measure, subject_to=limits, random_state=0).fit(X, y)
    assert measure.score(y, theirs.predict(X)) > measure.score(y, mine.predict(X)) - 0.05
    assert theirs.history_["rows"][-1] > 0
    again = sy.OnlineClassifier(measure, subject_to=limits, random_state=0).fit(*in_parts(X, y, 900))
    assert np.array_equal(theirs.coef_, again.coef_)
    sy.save(theirs, tmp_path / "model")
    for copy in (sy.load(tmp_path / "model"), pickle.loads(pickle.dumps(theirs))):
        assert np.array_equal(copy.predict(X), theirs.predict(X))
    assert np.array_equal(theirs.predict(in_parts(X, y)[0]).compute(), theirs.predict(X))
    theirs.partial_fit(X[:2000], y[:2000])
    assert theirs._learner.n_rows == 22_000


def test_what_streams_of_partitions_cannot_do_is_said(few_on_the_host):
    X, y = make()
    for given, words in (({"warm_start": True}, "warm_start"), ({"solver": "1pmb"}, "1pmb")):
        with pytest.raises(ValueError, match=words):
            sy.OnlineClassifier(random_state=0, **given).fit(*in_parts(X, y))


# -- paths and counts -------------------------------------------------------------------------------------------------
def test_a_path_of_partitions(few_on_the_host):
    X, y = make(2500)
    dX, dy = in_parts(X, y)
    path = sy.CostPath(C=0.01, method="approximate", random_state=0).fit(dX, dy)
    mine = sy.CostPath(C=0.01, method="approximate", random_state=0).fit(X, y)
    assert path.gap_ <= path.tol
    for tau in (0.1, 0.3):
        a, b = (one.coefficients(tau)[0] for one in (path, mine))
        np.testing.assert_allclose(a, b, atol=0.05 * np.abs(b).max())
    assert np.array_equal(path.predict(dX).compute(), path.predict(X))
    assert np.array_equal(path.at(0.2).predict(dX).compute(), path.at(0.2).predict(X))
    assert path.best(m.FBeta(1), *in_parts(X[:1000], y[:1000])).tau == path.best(m.FBeta(1), X[:1000], y[:1000]).tau
    with pytest.raises(ValueError, match="at most 2000 rows"):
        path.best(m.FBeta(1), dX, dy)
    with pytest.raises(ValueError, match="linear, approximate path"):
        sy.CostPath(method="exact").fit(dX, dy)


def test_a_path_of_partitions_says_how_far_it_is(few_on_the_host, capsys):
    dX, dy = in_parts(*make())
    sy.CostPath(C=0.01, method="approximate", tol=1e-4, verbose=2, random_state=0).fit(dX, dy)
    *during, last = capsys.readouterr().err.splitlines()
    shares = [int(line.split(" %")[0].split()[-1]) for line in during]
    assert shares
    assert shares == sorted(shares)
    assert "solved" in last


@pytest.mark.parametrize("method", counted_on_dask.SUMS)
def test_counts_by_sums_are_those_of_memory(few_on_the_host, method):
    X, y = make()
    quantifier = sy.Quantifier(method=method, random_state=0).fit(X[:1000], y[:1000])
    np.testing.assert_allclose(quantifier.predict(in_parts(X, y)[0]), quantifier.predict(X), atol=1e-10)
    np.testing.assert_allclose(
        quantifier.predict(in_parts(X[:900], y[:900])[0]), quantifier.predict(X[:900]), atol=1e-12
    )


def test_counts_of_several_classes(few_on_the_host):
    X, y = make()
    y = y + (X[:, 0] > 1.0)
    batch = in_parts(X, y)[0]
    quantifier = sy.Quantifier(method="aemq", random_state=0).fit(X[:1000], y[:1000])
    np.testing.assert_allclose(quantifier.predict(batch), quantifier.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="looks at the batch as a whole"):
        sy.Quantifier(method="ms", random_state=0).fit(X[:1000], y[:1000]).predict(batch)


# -- without Dask -----------------------------------------------------------------------------------------------------
def test_the_extra_is_named_where_dask_is_missing(monkeypatch):
    import sys

    from steelyard.distributed import need_dask

    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    with pytest.raises(ImportError, match=r"pip install \"steelyard\[dask\]\""):
        need_dask()
