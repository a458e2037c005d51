"""Our checks inside skore's reports: they speak where something is wrong, and are silent where it is not."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

skore = pytest.importorskip("skore", reason="needs the extra skore")

from steelyard.interop.skore import CapNotPromised, ThresholdUntuned, checks  # noqa: E402

CAP = m.fpr <= 0.02


@pytest.fixture(scope="module")
def rows():
    return make_classification(6000, 10, n_informative=6, weights=[0.95], flip_y=0.06, random_state=0)


def summary(model, X, y, added, splitter=0.5, **options):
    report = skore.evaluate(model, X, y, splitter=splitter, **options)
    report.checks.add(added)
    found = report.checks.summarize(fast_mode=True).frame()
    return {row.code: (row.section, row.explanation) for row in found.itertuples() if row.code.startswith("SY")}


def test_an_untuned_threshold_is_seen_and_a_tuned_one_is_not(rows):
    plain = summary(LogisticRegression(), *rows, checks("f1"))
    assert plain["SY001"][0] == "issue"
    assert "FBeta(beta=1) rises by" in plain["SY001"][1]
    tuned = summary(sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)), *rows, checks("f1"))
    assert tuned["SY001"][0] == "passed"


def test_a_cap_is_broken_hoped_for_or_promised(rows):
    broken = summary(LogisticRegression(class_weight="balanced"), *rows, checks(subject_to=CAP))
    assert broken["SY002"][0] == "issue"
    assert "is broken on 3000 test rows" in broken["SY002"][1]
    X, y = rows
    fewer = summary(LogisticRegression(), X[:300], y[:300], [CapNotPromised((m.fpr <= 0.005,), 0.05)])
    assert fewer["SY002"][0] == "issue"
    asked = sy.ThresholdClassifier(LogisticRegression(), m.Recall(), subject_to=CAP, delta=0.05, cv=0.4, random_state=0)
    promised = summary(make_pipeline(StandardScaler(), asked), *rows, checks("f1", CAP))
    assert promised["SY002"][0] == "passed"


def test_folds_and_words_as_labels(rows):
    X, y = rows[0], np.array(["paid", "default"])[rows[1]]
    found = summary(LogisticRegression(), X, y, checks("f1"), splitter=3, pos_label="default")
    assert found["SY001"][0] == "issue"
    assert "of 3 folds" in found["SY001"][1]


def test_without_a_limit_there_is_one_check():
    assert [type(one) for one in checks()] == [ThresholdUntuned]


def test_other_tasks_are_not_for_us(rows):
    X, y = rows
    assert summary(LinearRegression(), X[:200], X[:200, 0], checks("f1"))["SY001"][0] == "not_applicable"
    assert summary(LogisticRegression(), X[:60], y[:60], [ThresholdUntuned(m.FBeta(1))])["SY001"][0] == "not_applicable"
