"""Our classifiers inside mlquantify. Runs where the extra `quapy`, which brings it along, is installed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from steelyard.interop.quapy import SVMperf

counting = pytest.importorskip("mlquantify.counting", reason="mlquantify, of the extra 'quapy', is not installed")
from mlquantify.likelihood import EMQ  # noqa: E402

X, Y = make_classification(1600, 8, weights=[0.7], flip_y=0.05, class_sep=1.2, random_state=0)
LABELLERS = {
    "SVMperf": SVMperf(loss="kld", C=1),
    "MeasureClassifier": sy.MeasureClassifier(m.BAKLD(0.5), random_state=0),
}
SCORERS = {
    "ThresholdClassifier": sy.ThresholdClassifier(LogisticRegression(), m.GMean()),
    "CostPath": sy.CostPath(C=0.1, method="approximate"),
}


def share(quantifier):
    found = quantifier.fit(X[:800], Y[:800]).predict(X[800:])
    return found[1] if isinstance(found, dict) else np.ravel(found)[1]


@pytest.mark.parametrize("name", list(LABELLERS))
def test_counting_labels(name):
    assert share(counting.CC(clone(LABELLERS[name]))) == pytest.approx(Y[800:].mean(), abs=0.08)


@pytest.mark.parametrize("method", [counting.PCC, counting.ACC, EMQ], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("name", list(SCORERS))
def test_methods_on_probabilities(method, name):
    assert share(method(clone(SCORERS[name]))) == pytest.approx(Y[800:].mean(), abs=0.1)
