"""Displays of several classes draw what they say."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, roc_curve

import steelyard as sy
import steelyard.measures as m

mpl.use("Agg")

X, CODES = make_classification(
    900, n_features=8, n_informative=5, n_classes=3, weights=[0.7, 0.2, 0.1], class_sep=0.8, random_state=0
)
Y = np.array(["common", "rare", "rarest"])[CODES]


@pytest.fixture(scope="module")
def tuned():
    return sy.ThresholdClassifier(LogisticRegression(), m.geometric(m.Recall())).fit(X[:500], Y[:500])


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_matrices_are_those_of_the_predictions(tuned):
    display = sy.ClassConfusionDisplay.from_estimator(tuned, X[500:], Y[500:])
    known = {"before": tuned.estimator_.predict(X[500:]), "after": tuned.predict(X[500:])}
    for name, called in known.items():
        np.testing.assert_allclose(getattr(display, name), confusion_matrix(Y[500:], called, normalize="true"))
    assert [ax.get_title().split(":")[0] for ax in display.axes_] == ["argmax", "with offsets"]
    display.figure_.canvas.draw()


def test_lines_are_those_of_the_margin_of_each_class_and_the_dots_what_is_predicted(tuned):
    display = sy.ClassFrontierDisplay.from_estimator(tuned, X[500:], Y[500:])
    rates = m.class_rates(Y[500:], tuned.predict(X[500:]))
    np.testing.assert_allclose(display.chosen, np.column_stack([rates.tpr, rates.tnr]))
    scores = tuned.decision_function(X[500:])
    for k, label in enumerate(tuned.classes_):
        margin = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1)
        fpr, tpr, _ = roc_curve(Y[500:] == label, margin, drop_intermediate=False)
        found = display.frontiers[k]
        np.testing.assert_allclose(np.c_[1 - found.tnr, found.tpr][::-1], np.c_[fpr, tpr], atol=1e-12)
        on_the_line = np.abs(np.c_[found.tpr, found.tnr] - display.chosen[k]).sum(axis=1).min()
        assert on_the_line < 1e-12
    display.figure_.canvas.draw()


def test_what_has_no_offsets_is_refused():
    plain = sy.ThresholdClassifier(LogisticRegression()).fit(X, Y == "rare")
    with pytest.raises(ValueError, match="has no offsets of several classes"):
        sy.ClassConfusionDisplay.from_estimator(plain, X, Y == "rare")
