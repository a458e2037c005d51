"""A linear classifier trained for one loss of its confusion matrix, by a structural SVM.

    min over w  1/2 |w|^2 + C xi,  xi >= loss(y') - (100/n) sum of y_i x_i.w over flipped rows, for all label vectors y'

SVMperf's problem and scaling, solved by `solvers.structural.cutting_planes`; the losses are in
`solvers.structural.confusion`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..measures import Measure
from ..solvers.status import Ended
from ..solvers.structural.cutting_planes import State, StructuralResult, solve
from ._binary import Labels, check_weight, threads
from ._border import as_before, rows_and_y
from ._linear import LinearMixin
from ._parameters import ANYTHING, COUNT, FLAG, MEASURE, NOT_NEGATIVE, POSITIVE, THREADS, A, Checked, Table
from ._progress import say, watching

# Row numbers alone take 16 GiB beyond this: weights that add up to more were not meant as counts.
MOST_REPETITIONS = 2**31
FINENESS = 8  # parts of the mean weight, where weights are no counts: there are up to as many times the rows


class StructuralSVM(Checked, LinearMixin, BaseEstimator):
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
        Threads for the products with X. None and -1 are the cores that this process may use (``OMP_NUM_THREADS``
        counts).
    verbose : int, default=0
        1 shows the gap, the share that is done (cuts narrow the gap by about the same factor each, once they have got
        hold of it) and about how long it takes, 2 a line for every cut where there is no bar.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
    objective_, gap_ : float
        ``1/2 |w|^2 + C xi``, and a bound on ``(objective_ - optimum) / objective_``.
    n_iter_ : int
        Number of cuts.
    search_ : str
        How confusion matrices were searched: "counts" is one pass, "bounds" branch and bound.
    status_ : Status
        How the solver ended.
    classes_ : ndarray of shape (2,)

    See Also
    --------
    MeasureClassifier : Costs, C and loss explored, the threshold exact.
    ExpectedFBetaClassifier : F-beta from calibrated probabilities.
    Quantifier : Counts that follow a shift.

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
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.verbose = verbose

    _parameters: ClassVar[Table] = {
        "loss": (A("the name of a loss", str), MEASURE),
        "C": (POSITIVE,),
        "tol": (POSITIVE,),
        "fit_intercept": (FLAG,),
        "max_iter": (COUNT,),
        "pos_label": (ANYTHING,),
        "n_jobs": (THREADS,),
        "verbose": (NOT_NEGATIVE, FLAG),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructuralSVM:
        """Fit to all rows. `sample_weight` counts repetitions; weights that are no whole numbers are taken relative to
        their mean and rounded to eighths of it, as the search is over counts of rows."""
        self._check_parameters()
        with as_before(self):
            # A row without weight has no scores that would show its numbers.
            rows, y = rows_and_y(self, X, y, check="columns" if sample_weight is None else True)
            labels = Labels.of(y, self.pos_label)
            is_positive = labels.is_positive
            weight = check_weight(sample_weight, y, is_positive)
            if weight is not None:
                which = _repetitions(weight)
                rows, is_positive = rows.take(which), is_positive[which]
            with watching(self.verbose, type(self).__name__, self._said) as watch:
                found = solve(
                    rows, is_positive, self.loss, self.C, self.tol, fit_intercept=bool(self.fit_intercept),
                    max_iter=self.max_iter, n_threads=threads(self.n_jobs), callback=watch,
                )  # fmt: skip
            self._take_labels(labels)
            self._set_model(found.coef, found.intercept)
            self.objective_, self.gap_, self.n_iter_ = found.objective, found.gap, found.n_iter
            self.search_, self.status_ = found.loss.search, found.status
            if self.verbose:
                said = f"{self.n_iter_} cuts, {self.objective_:.6g}, gap {self.gap_:.1e}"
                say(f"StructuralSVM: {found.loss.name}, {said}")
            self._warn(found)  # may be an error, where warnings are
        return self

    def _said(self, state: State) -> tuple[float, str]:
        """The gap falls from 1 to `tol`; the logarithm of it is on its way there as the cuts are."""
        share = math.log(max(state.gap, self.tol)) / math.log(self.tol) if 0.0 < self.tol < 1.0 else 0.0
        share = max(0.0, share, state.n_iter / self.max_iter)
        gap = "none yet" if math.isinf(state.gap) else f"{state.gap:.1e}, {self.tol:g} is wanted"
        return share, f"cut {state.n_iter:,}, objective {state.objective:.6g}, gap {gap}"

    def _warn(self, found: StructuralResult) -> None:
        if found.converged and not found.coef.any():
            warnings.warn(
                f"the bound on {found.loss.name} is smallest at w = 0, so every row gets the same label: no linear "
                "model tells the classes apart well enough for it. Try 'zero_one', or ThresholdClassifier",
                UserWarning,
                stacklevel=3,
            )
        if not found.converged:
            more = "; or raise max_iter or tol" if found.status.ended is Ended.LIMIT else ""
            warnings.warn(
                f"{found.status}, where tol={self.tol} was asked for: a smaller C or scaled features (StandardScaler) "
                f"help{more}",
                ConvergenceWarning,
                stacklevel=3,
            )


def _repetitions(weight: NDArray[np.float64]) -> NDArray[np.intp]:
    """Row numbers, each as often as its weight says, or as the weight over the mean in units of 1 / `FINENESS`; a row
    with a weight stays in."""
    if (weight != np.floor(weight)).any():
        shares = FINENESS * weight / weight[weight > 0].mean()
        counts = np.where(weight > 0, np.maximum(np.rint(shares), 1.0), 0.0).astype(np.int64)
        weight = (counts // np.gcd.reduce(counts)).astype(np.float64)
    if weight.sum() > MOST_REPETITIONS:
        raise ValueError(
            f"sample_weight counts repetitions, and these add up to {weight.sum():.3g} rows, more than can be held; "
            "divide the weights by a common factor"
        )
    return np.repeat(np.arange(len(weight)), weight.astype(np.intp))
