"""A linear classifier trained for one loss of its confusion matrix, by a structural SVM.

    min over w  1/2 |w|^2 + C xi,  xi >= loss(y') - (100/n) sum of y_i x_i.w over flipped rows, for all label vectors y'

SVMperf's problem and scaling, solved by `solvers.structural.cutting_planes`; the losses are in
`solvers.structural.confusion`.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from ..measures import Measure
from ..solvers.structural import cutting_planes as structural
from ._binary import check_weight, encode_labels, threads
from ._linear import LinearMixin


class StructuralSVM(LinearMixin, BaseEstimator):
    """A linear SVM that minimises a bound on the loss you report: a miscount, F-beta, precision at K, any measure.

    The loss is of the whole confusion matrix, not a sum over rows (Joachims 2005; the quantification losses of Esuli &
    Sebastiani and Barranquero et al.). The bound is convex, the result certified and the same for any `n_jobs`. Scale
    the features first (`StandardScaler`).

    Parameters
    ----------
    loss : str or Measure, default="kld"
        ``zero_one f1 fbeta@B``, of counts ``kld nkld mae mrae``, of both ``q qacc qf1 qgm``, of rankings ``prbep rec@K
        prec@K`` with K rows or a share such as ``prec@2%``; or a measure of `steelyard.measures`, whose loss is 100
        times what is missing to a perfect prediction. All are in percent, so C means the same for each.
    C : float, default=1.0
        Weight of the loss against ``|w|^2 / 2``; what SVMperf calls ``-c``. ``zero_one`` with C is a linear SVM with
        100 C / n.
    tol : float, default=1e-3
        Relative duality gap to stop at.
    fit_intercept : bool, default=True
        Adds a column of ones; its weight is regularised like the others, as in SVMperf. For rankings the threshold is
        then set to call K training rows positive (the number of positives for ``prbep``).
    max_iter : int, default=2000
        Cuts at most; a fit that ran out of them warns and keeps the best model seen.
    pos_label : label, default=None
        The positive class; the larger label by default.
    n_jobs : int, default=None
        Threads for the products with X. -1 is all cores.
    random_state : ignored
        Nothing here is random; accepted so that it can be set along with the others'.
    verbose : int, default=0
        1 prints a line at the end, 2 one for every cut.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
    objective_, gap_ : float
        ``1/2 |w|^2 + C xi``, and a bound on ``(objective_ - optimum) / objective_``.
    n_iter_ : int
        Number of cuts.
    search_ : str
        How confusion matrices were searched: "counts" is one pass, "bounds" branch and bound.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import LinearSVC
    >>> import steelyard as sy
    >>> X, y = make_classification(4000, weights=[0.8], flip_y=0.1, class_sep=0.6, random_state=0)
    >>> plain = LinearSVC().fit(X[:2000], y[:2000]).predict(X[2000:])
    >>> counts = sy.StructuralSVM("kld", C=10).fit(X[:2000], y[:2000]).predict(X[2000:])
    >>> [round(float(v.mean()), 2) for v in (y[2000:], plain, counts)]
    [0.21, 0.06, 0.27]
    """

    def __init__(
        self,
        loss: str | Measure = "kld",
        C: float = 1.0,
        *,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        max_iter: int = 2000,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructuralSVM:
        """Fit to all rows. `sample_weight` counts repetitions, so it must hold whole numbers."""
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.classes_, is_positive, self._positive = encode_labels(y, self.pos_label)
        weight = check_weight(sample_weight, X, is_positive)
        if weight is not None:
            rows = _repetitions(weight)
            X, is_positive = X[rows], is_positive[rows]
        found = structural.solve(
            X, is_positive, self.loss, self.C, self.tol, fit_intercept=self.fit_intercept, max_iter=self.max_iter,
            n_threads=threads(self.n_jobs), callback=_print_cut if self.verbose > 1 else None,
        )  # fmt: skip
        self._set_model(found.coef, found.intercept)
        self.objective_, self.gap_, self.n_iter_ = found.objective, found.gap, found.n_iter
        self.search_ = found.loss.search
        if self.verbose:
            print(f"StructuralSVM: {found.loss.name}, {self.n_iter_} cuts, {self.objective_:.6g}, gap {self.gap_:.1e}")
        self._warn(found)
        return self

    def _warn(self, found: structural.StructuralResult) -> None:
        if found.converged and not found.coef.any():
            warnings.warn(
                f"the bound on {found.loss.name} is smallest at w = 0, so every row gets the same label: no linear "
                "model tells the classes apart well enough for it. Try 'zero_one', or ThresholdClassifier",
                UserWarning,
                stacklevel=3,
            )
        if not found.converged:
            warnings.warn(
                f"stopped after {self.n_iter_} cuts at a relative gap of {self.gap_:.2g}, above tol={self.tol}: a "
                "smaller C or scaled features (StandardScaler) need fewer; or raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        for name in ("C", "tol"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Real) or not 0.0 < value < np.inf:
                raise ValueError(f"{name} must be a finite number above 0; got {value!r}")
        if not isinstance(self.max_iter, numbers.Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter is a number of cuts, at least 1; got {self.max_iter!r}")


def _repetitions(weight: np.ndarray) -> np.ndarray:
    """Row numbers, each as often as its weight says."""
    if (weight != np.floor(weight)).any():
        bad = weight[weight != np.floor(weight)][0]
        raise ValueError(
            f"a structural SVM searches over counts of rows, so sample_weight counts repetitions; got {bad}. Give "
            "whole numbers, or use a solver of weighted rates such as ThresholdClassifier"
        )
    return np.repeat(np.arange(len(weight)), weight.astype(np.intp))


def _print_cut(state: structural.State) -> None:
    print(f"cut {state.n_iter}: objective {state.objective:.6g}, gap {state.gap:.1e}")
