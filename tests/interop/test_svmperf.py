"""`steelyard.interop.quapy.SVMperf` itself, which needs no QuaPy."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification

import steelyard as sy
from steelyard.interop.quapy import SVMperf

X, Y = make_classification(800, 8, weights=[0.7], flip_y=0.05, random_state=0)


@pytest.mark.parametrize("loss", list(SVMperf.valid_losses))
def test_every_loss_counts(loss):
    called = SVMperf(loss=loss, C=1).fit(X[:400], Y[:400]).predict(X[400:])
    assert abs(called.mean() - Y[400:].mean()) < 0.1
    assert (called == Y[400:]).mean() > 0.8


@pytest.mark.parametrize("labels", [(1, 2), (-1, 1), ("no", "yes"), (False, True)])
def test_right_on_any_labels(labels):
    named = np.array(labels)[Y]
    svm = SVMperf(loss="kld", C=1).fit(X[:400], named[:400])
    plain = SVMperf(loss="kld", C=1).fit(X[:400], Y[:400])
    np.testing.assert_array_equal(svm.predict(X[400:]), np.array(labels)[plain.predict(X[400:])])
    assert list(svm.classes_) == list(labels)


def test_c_is_that_of_the_program():
    """The patched program leaves kld without the factor 100 that all other losses have."""
    for loss, factor in (("kld", 100.0), ("nkld", 1.0), ("q", 1.0)):
        ours = sy.StructuralSVM(loss, C=0.1 * factor).fit(X, Y)
        np.testing.assert_array_equal(
            SVMperf(loss=loss, C=0.1).fit(X, Y).decision_function(X), ours.decision_function(X)
        )


def test_pickle_clone_sparse_and_one_row():
    svm = clone(SVMperf("/nowhere", loss="kld", C=1)).fit(X, Y)
    again = pickle.loads(pickle.dumps(svm))
    np.testing.assert_array_equal(again.predict(X), svm.predict(X))
    assert svm.predict(X[:1]).shape == svm.decision_function(X[:1]).shape == (1,)
    np.testing.assert_array_equal(SVMperf(loss="kld", C=1).fit(sp.csr_matrix(X), Y).predict(X), svm.predict(X))


def test_unknown_losses_are_refused():
    with pytest.raises(ValueError, match="valid ones are"):
        SVMperf(loss="hinge").fit(X, Y)
