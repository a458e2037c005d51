"""The data sets of the benchmarks, as dense standardised or sparse scaled binary problems, from STEELYARD_DATA."""

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from _run import FEW, QUICK, data_folder

POSITIVE = {"letter": 0, "covertype": 7, "satimage": 3, "20news-bydate": 1}  # else the largest label
SMALL = {  # class against the rest, where there are more than two
    "cmc": 1, "glass": 1, "iris": 1, "optdigits": 8, "penbased": 8, "segment": 1, "texture": 2, "vehicle": 2, "wine": 1,
    "wine-quality-red": 7, "wine-quality-white": 7,
}  # fmt: skip


def raw(name):
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as z:
        if "X" in z:
            X = np.nan_to_num(np.ascontiguousarray(z["X"], dtype=np.float64))
        else:
            X = sp.csr_matrix((z["data"].astype(np.float64), z["indices"], z["indptr"]), shape=tuple(z["shape"]))
        kept = np.random.default_rng(0).permutation(len(z["y"]))[: FEW if QUICK else None]
        return (X[kept], z["y"][kept]) if QUICK else (X, z["y"])


def several_classes(name, most, fewest):
    """At most so many rows, mixed and stratified, of the classes that then have at least `fewest`."""
    X, y = raw(name)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    if len(y) > most:
        keep = train_test_split(np.arange(len(y)), train_size=most, stratify=y, random_state=0)[0]
        X, y = X[keep], y[keep]
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= fewest])
    return X[kept], y[kept]


def small_names():
    return sorted(path.stem for path in (data_folder() / "small").glob("*.npz"))


def binary(name, rows=None, seed=0, is_small=False):
    """X standardised (dense) or divided by column maximum (sparse), y in {0, 1}, shuffled, the first `rows`."""
    return class_against_rest(
        f"small/{name}" if is_small else name, (SMALL if is_small else POSITIVE).get(name), rows, seed
    )


def class_against_rest(name, positive=None, rows=None, seed=0):
    """The same for the class `positive`, the largest label if it is None."""
    X, y = raw(name)
    positive = y.max() if positive is None else positive
    order = np.random.default_rng(seed).permutation(len(y))[:rows]
    X, y = X[order], (y[order] == positive).astype(int)
    if sp.issparse(X):
        return (X @ sp.diags(1 / np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-12))).tocsr(), y
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12), y


def with_constant(X):
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
