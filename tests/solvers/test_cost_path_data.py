"""The exact cost path on real data, when STEELYARD_DATA says where it is: optimal at every kink, equal to LIBLINEAR."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from reference.cost_path import objective
from steelyard.solvers.path.exact import trace

FOLDER = os.environ.get("STEELYARD_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.data,
    pytest.mark.skipif(not FOLDER, reason="STEELYARD_DATA is not set to the folder of the data sets"),
]


def load(name, rows=None):
    """Standardised if dense, as it is if sparse, with a constant column; y is -1 or 1."""
    with np.load(Path(FOLDER) / f"{name}.npz", allow_pickle=False) as z:
        y = np.where(z["y"] == z["y"].max(), 1.0, -1.0)[:rows]
        if "X" in z:
            X = z["X"][:rows].astype(np.float64)
            return np.c_[(X - X.mean(0)) / np.maximum(X.std(0), 1e-12), np.ones(len(y))], y
        X = sp.csr_matrix((z["data"].astype(np.float64), z["indices"], z["indptr"]), shape=tuple(z["shape"]))[:rows]
    return sp.hstack([X, np.ones((len(y), 1))], format="csr"), y


@pytest.mark.parametrize(
    ("name", "rows", "C"), [("pima", None, 1.0), ("wdbc", None, 1.0), ("splice", 1000, 0.05), ("a9a", 1500, 0.01)]
)
def test_optimal_at_every_kink_and_equal_to_liblinear(name, rows, C):
    X, y = load(name, rows)
    path = trace(X, y, C)
    assert path.converged
    assert len(path.kinks) > 1000
    assert path.audit() <= 1e-8
    for tau in np.random.default_rng(0).uniform(0.05, 0.95, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LinearSVC(
                loss="hinge",
                C=C,
                class_weight={1: 2 * (1 - tau), -1: 2 * tau},
                fit_intercept=False,
                tol=1e-10,
                max_iter=1_000_000,
            )
            theirs = objective(X, y, model.fit(X, y).coef_[0], tau, C)
        assert objective(X, y, path.models(tau)[0], tau, C) == pytest.approx(theirs, rel=1e-6)
