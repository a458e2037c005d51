"""OnlineClassifier on real data, when STEELYARD_DATA says where it is."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m

FOLDER = os.environ.get("STEELYARD_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.data,
    pytest.mark.skipif(not FOLDER, reason="STEELYARD_DATA is not set to the folder of the data sets"),
]


def parts(name, positive=None, rows=40_000):
    found = np.load(Path(FOLDER) / f"{name}.npz", allow_pickle=False)
    y = (found["y"] == (found["y"].max() if positive is None else positive)).astype(int)
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    if "X" in found:
        X = found["X"][order].astype(np.float64)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    else:
        X = sp.csr_matrix(
            (found["data"].astype(float), found["indices"], found["indptr"]), shape=tuple(found["shape"])
        )[order]
    return train_test_split(X, y[order], test_size=0.3, random_state=0, stratify=y[order])


@pytest.mark.parametrize(("name", "positive"), [("letter", 0), ("ijcnn1", None), ("a9a", None), ("covertype", 7)])
@pytest.mark.parametrize("measure", [m.BAKLD(), m.FBeta(1)], ids=repr)
def test_as_good_as_a_tuned_logistic_regression(name, positive, measure):
    X, X_test, y, y_test = parts(name, positive)
    ours = sy.OnlineClassifier(measure, max_iter=5, random_state=0).fit(X, y)
    theirs = sy.ThresholdClassifier(LogisticRegression(max_iter=300), measure, cv=3).fit(X, y)
    gap = measure.score(y_test, ours.predict(X_test)) - measure.score(y_test, theirs.predict(X_test))
    assert gap > (-0.02 if measure == m.FBeta(1) else -0.01)  # F1 of rare positives moves by as much between splits


def test_more_features_than_rows():
    X, X_test, y, y_test = parts("reuters-money-fx")
    model = sy.OnlineClassifier(m.NegKLD(), max_iter=5, random_state=0).fit(X, y)
    assert m.NegKLD().score(y_test, model.predict(X_test)) > -0.002
    assert m.BalancedAccuracy().score(y_test, model.predict(X_test)) > 0.8
