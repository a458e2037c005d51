"""`compare`: the same folds for all, paired differences, constraints seen, tables as people have them."""

import html
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import steelyard as sy
import steelyard.measures as m
from steelyard.comparison import judging
from steelyard.comparison.result import BROKEN, Table


@pytest.fixture(scope="module")
def rows():
    return make_classification(500, 6, weights=[0.8], flip_y=0.1, random_state=0)


def few(**others):
    return {"naive Bayes": GaussianNB(), "logistic": LogisticRegression(), **others}


def test_values_are_those_of_the_rows_left_out(rows):
    X, y = rows
    found = sy.compare(X, y, "f1", contenders=few(), automatic=False)
    called = np.empty_like(y)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        called[test] = make_pipeline(StandardScaler(), GaussianNB()).fit(X[train], y[train]).predict(X[test])
    assert (found.predictions_["naive Bayes"] == called).all()
    assert found.frame().loc["naive Bayes", "FBeta(beta=1)"] == pytest.approx(m.FBeta(1).score(y, called))
    best = found.standings_[0]
    assert best.difference == 0.0
    for one in found.standings_:
        assert one.difference == pytest.approx(one.value.value - best.value.value)
        assert one.value.low < one.value.value < one.value.high


def test_standard_errors_are_corrected_for_overlap():
    """By hand: differences 0.1 and 0.3 have variance 0.02; two folds of equal halves have n_test / n_train = 1."""
    assert judging.paired_error([0.2, 0.5], [0.1, 0.2], 1.0) == pytest.approx(np.sqrt((0.5 + 1.0) * 0.02))
    assert np.isnan(judging.paired_error([0.2], [0.1], 1.0))


def test_the_figures_are_those_of_the_report(rows):
    """Two roads: ours for any number of classes, and `ThresholdClassifier.report`'s for two."""
    from steelyard.comparison.contenders import Task
    from steelyard.statistics.reporting import report

    counts = np.array([[135.0, 5.0], [15.0, 45.0]])
    task, classes = Task(m.FBeta(1), pos_label=1), np.array([0, 1])
    ours, fpr = judging.figures([m.FBeta(1), m.fpr], counts, classes, task, 0.95)
    theirs = report(45, 5, 15, 135, (m.FBeta(1),))
    for mine, other in ((ours, theirs["FBeta(beta=1)"]), (fpr, theirs["fpr"])):
        assert (mine.value, mine.low, mine.high) == pytest.approx((other.value, other.low, other.high), abs=0.01)


def test_who_breaks_a_cap_is_not_recommended(rows):
    X, y = rows
    found = sy.compare(
        X, y, "recall", "fpr <= 0.02", contenders={"all": Always(1), "logistic": LogisticRegression()}, automatic=False
    )
    standing = {one.name: one for one in found.standings_}
    assert standing["all"].kept == BROKEN
    assert standing["all"].value.value == 1.0
    assert found.best_name_ != "all"
    assert "fpr <= 0.02" in found.recommendation_


def test_with_delta_the_recommended_one_promises():
    X, y = make_classification(2000, 6, weights=[0.7], random_state=0)
    found = sy.compare(
        X, y, "recall", "fpr <= 0.1", 0.1, contenders={"logistic": LogisticRegression()}, automatic=False
    )
    assert found.best_name_ == "logistic, our threshold"
    assert found.best_.promise_ is not None
    assert "promised" in found.recommendation_


def test_noise_is_called_noise(rows):
    X, y = rows
    found = sy.compare(
        X, y, "f1", contenders={"a": LogisticRegression(), "b": LogisticRegression(C=0.99)}, automatic=False
    )
    assert "noise" in found.recommendation_
    clear = sy.compare(
        X,
        y,
        "balanced_accuracy",
        contenders={"a": LogisticRegression(class_weight="balanced"), "none": Always(0)},
        automatic=False,
    )
    assert (
        "noise" not in clear.recommendation_
        or "beyond noise" in clear.recommendation_
        or "our threshold" in clear.recommendation_
    )


def test_words_booleans_and_the_positive_class(rows):
    X, y = rows
    words = np.where(y == 1, "bad", "good")
    with pytest.warns(UserWarning, match="'good' is taken as the positive class"):
        sy.compare(X, words, "f1", contenders=few(), automatic=False)
    named = sy.compare(X, words, "f1", pos_label="bad", contenders=few(), automatic=False)
    plain = sy.compare(X, y, "f1", contenders=few(), automatic=False)
    assert [one.value.value for one in named.standings_] == [one.value.value for one in plain.standings_]


def frame_with_everything(n=400):
    import pandas as pd

    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], n), rng.normal(size=n)
    y = np.where((colour == "red") * 1.5 + size + rng.normal(size=n) > 1, "yes", "no")
    table = pd.DataFrame(
        {"size": size, "colour": colour, "many": rng.integers(0, 100, n).astype(str), "flag": size > 0}
    )
    table.loc[::7, "size"] = np.nan
    table.loc[::5, "colour"] = None
    return table, y


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_categories_and_missing_values(library):
    table, y = frame_with_everything()
    if library == "polars":
        columns = {name: table[name].astype(object).where(table[name].notna(), None).tolist() for name in table}
        table = pytest.importorskip("polars").DataFrame(columns)  # from_pandas needs pyarrow
        if parse_version(sklearn.__version__) < parse_version("1.8") and not hasattr(table, "__dataframe__"):
            pytest.skip("scikit-learn before 1.8 reads polars by a protocol that this polars no longer has")
    found = sy.compare(
        table, y, "f1", pos_label="yes", contenders={"logistic": LogisticRegression()}, automatic=False, cv=3
    )
    assert not found.failures_
    assert found.standings_[0].value.value > 0.5
    assert "OneHotEncoder" in str(found.preparation_)
    assert set(found.best_.predict(table)) <= {"yes", "no"}
    assert "OneHotEncoder" in found._repr_html_()


@pytest.mark.slow
def test_all_the_automatic_ones_take_part(rows):
    table, y = frame_with_everything()
    found = sy.compare(table, y, "f1", pos_label="yes", cv=3)
    assert not found.failures_
    assert len(found.frame()) == 12
    sparse = sy.compare(sp.csr_matrix(rows[0]), rows[1], "f1", cv=3)
    assert set(sparse.failures_) <= {"boosted trees", "boosted trees, balanced", "boosted trees, our threshold"}


def test_several_classes():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    found = sy.compare(X, y, "f1_macro", contenders=few(), automatic=False, cv=3)
    best = found.predictions_[found.best_name_]
    assert found.standings_[0].value.value == pytest.approx(m.macro(m.FBeta(1)).score(y, best))


class Always(ClassifierMixin, BaseEstimator):
    def __init__(self, label=1):
        self.label = label

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


class Broken(Always):
    def fit(self, X, y):
        raise RuntimeError("no <b>memory</b>\nin two lines")


class Interrupted(Always):
    def fit(self, X, y):
        raise KeyboardInterrupt


def test_a_contender_that_fails_is_said_to(rows):
    found = sy.compare(*rows, "f1", contenders=few(broken=Broken()), automatic=False)
    assert found.failures_ == {"broken": "RuntimeError: no <b>memory</b>"}
    assert "broken" not in found.frame().index
    assert "no <b>" in repr(found)
    assert "no <b>" not in found._repr_html_()
    with pytest.raises(ValueError, match="no contender could be fitted"):
        sy.compare(*rows, "f1", contenders={"broken": Broken()}, automatic=False)


def test_ctrl_c_ends_it(rows):
    with pytest.raises(KeyboardInterrupt):
        sy.compare(*rows, "f1", contenders=few(slow=Interrupted()), automatic=False, verbose=1)


def test_progress_says_who_and_how_many(rows, capsys):
    sy.compare(*rows, "f1", contenders=few(), automatic=False, cv=2, verbose=1)
    said = capsys.readouterr().err
    assert "9 of 9: " in said  # four contenders on two folds, and the best one on all rows
    assert "naive Bayes" in said
    assert "ahead" in said


@pytest.mark.slow
def test_same_for_any_number_of_jobs(rows):
    one, two = (sy.compare(*rows, "f1", contenders=few(), automatic=False, n_jobs=n) for n in (1, 2))
    assert [s.value for s in one.standings_] == [s.value for s in two.standings_]


def test_the_table_without_pandas(rows, monkeypatch):
    found = sy.compare(*rows, "f1", contenders=few(), automatic=False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = found.frame()
    assert isinstance(table, Table)
    assert len(table) == 4
    assert table["contender"][0] == found.best_name_
    assert found.best_name_ in repr(table)


def test_views(rows):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    found = sy.compare(*rows, "f1", contenders={"<script>": GaussianNB()}, automatic=False)
    ax = found.plot()
    assert len(ax.get_yticklabels()) == 2
    assert "<td><script>" not in found._repr_html_()
    assert f"<td>{html.escape('<script>')}" in found._repr_html_()
    assert found.recommendation_ in repr(found)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"measure": "f7"}, "f7"),
        ({"subject_to": "fpr < 1"}, "<= or >="),
        ({"contenders": "all"}, "contenders is 'auto'"),
        ({"contenders": {}, "automatic": False}, "nobody"),
        ({"contenders": {"a": 3}}, "no classifier"),
        ({"contenders": {"forest": GaussianNB()}}, "another name"),
        ({"delta": 0.1}, "delta"),
    ],
)
def test_mistakes_are_said_before_anything_is_fitted(rows, arguments, said):
    with pytest.raises((ValueError, TypeError), match=said):
        sy.compare(*rows, **{"measure": "f1", **arguments})


def test_a_promise_is_not_made_by_a_name():
    X, y = make_classification(2_000, 6, n_informative=4, weights=[0.8], random_state=0)
    given = {"mine, our threshold": GaussianNB(), "mine, trained for the measure": GaussianNB()}
    found = sy.compare(X, y, m.Recall(), m.fpr <= 0.2, delta=0.1, contenders=given, automatic=False, cv=3)
    promised = {one.name: one.promised for one in found.standings_}
    assert not promised["mine, our threshold"]
    assert not promised["mine, trained for the measure"]
    assert promised["mine, trained for the measure, our threshold"]
