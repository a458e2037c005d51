"""The shared data sets as two-class problems, standardised and split: what the papers' experiments start from."""

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).parent.parent))
from _run import FEW, QUICK, data_folder

# The positive class of each set, None for the larger label.
POSITIVE = {
    "covertype": 5, "letter": 0, "ijcnn1": None, "a9a": None,
    "kddcup99-10pct": 5, "mc1": None, "w8a": None, "satimage": 3, "skin": None, "default-credit-card": None,
    "spambase": None, "covertype-1": 1, "covertype-7": 7, "adult": None, "wdbc": None, "pima": None, "splice": None,
    "20news-bydate": 0, "reuters-money-fx": None, "spamassassin": None, "psm-percolator": None, "psm-scope2": None,
    "shuttle": 3, "elec2": None, "occupancy": None, "eeg-eye-state": None, "coil2000": None, "wilt": None,
    "ozone-8hr": None, "higgs-7500": None,
}  # fmt: skip


def problem(name, rows=60_000, seed=0, positive=None):
    """X with columns of unit scale, y in {0, 1}, in random order."""
    found = np.load(data_folder() / f"{_file(name)}.npz", allow_pickle=False)
    y = found["y"]
    positive = POSITIVE[name] if positive is None else positive
    y = (y == (y.max() if positive is None else positive)).astype(int)
    order = np.random.default_rng(seed).permutation(len(y))[: min(rows, FEW) if QUICK else rows]
    if "X" in found:
        X = found["X"][order].astype(np.float64)
        return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), y[order]
    parts = (found["data"].astype(np.float64), found["indices"], found["indptr"])
    X = sp.csr_matrix(parts, shape=tuple(found["shape"]))[order]
    return (X @ sp.diags(1 / np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-12))).tocsr(), y[order]


def _file(name):
    return "covertype" if name.startswith("covertype") else name


def split(name, rows=60_000, seed=0):
    """70 % to train on and the rest to test, as in Kar et al.."""
    X, y = problem(name, rows, seed)
    return train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
