"""Every quantile of a linear or kernel regression from one training (the extension in section 5 of Yu et al. 2009).

    for every tau in [0, 1]:   min over w, b   1/2 (|w|^2 + (b - m)^2) + C sum_i max(tau r_i, (tau - 1) r_i)

with r_i = y_i - x_i.w - b, and m the median of y. The solution is piecewise linear in tau, so `solvers.path.exact`
finds every kink. The paper appends a constant column, which pulls b towards 0; here b is pulled towards m, so that
adding a number to y adds it to every prediction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..labels import refuse_no_numbers
from ..solvers.path import exact
from ._binary import check_weight, threads
from ._border import as_before, rows_and_y, rows_to_score
from ._path_estimator import PATH_PARAMETERS, PathEstimator
from ._path_features import Array, Features, KernelColumns, LinearFeatures


class QuantileModel(RegressorMixin, BaseEstimator):
    """The regressor of a quantile path at one tau: fitted already, and picklable. Made by `QuantilePath.at`."""

    coef_: Array
    intercept_: float
    _features: Features
    _w: Array
    _middle: float

    def __init__(self, tau: float = 0.5) -> None:
        self.tau = tau

    def fit(self, X: Any, y: Any) -> QuantileModel:
        raise TypeError("a QuantileModel comes fitted, from QuantilePath.at(tau); fit a QuantilePath")

    def predict(self, X: Any) -> np.ndarray:
        """The quantile of y at each row."""
        rows = rows_to_score(self, X)
        return self._features.scores(rows, self._w) + self._middle

    def __sklearn_is_fitted__(self) -> bool:
        return "_w" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class QuantilePath(RegressorMixin, PathEstimator):
    """One training, and the regression for every quantile: a whole predictive distribution.

    `at(tau)` is the regression whose residuals are weighted ``tau`` above and ``1 - tau`` below the prediction, so that
    about a share tau of y lies below it. Scale the features first (`StandardScaler`), and y too if its unit is far from
    1 (`TransformedTargetRegressor`): C is a weight against ``|w|^2``, in units of y.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against ``|w|^2 / 2``; larger is less regularised.
    kernel : {"linear", "rbf", "poly", "precomputed"}, default="linear"
        Rows of the kernel matrix are computed when needed and cached (up to 1 GiB).
    gamma, degree, coef0 : kernel parameters, as in `sklearn.svm.SVR`
    tau_range : (float, float), default=(0.0, 1.0)
        The quantiles for which the path is computed.
    fit_intercept : bool, default=True
        Whether there is an intercept, pulled towards the median of y; without one, everything is pulled towards 0.
    n_jobs : int, default=None
        An exact linear path is followed both ways from its middle, on two threads if there are so many (None and -1:
        the cores that this process may use), with the same bits; one with nothing else to do goes ahead for another.
    random_state : int or RandomState, default=None
        Order of the coordinate descent that starts the path; the path itself does not depend on it.
    verbose : int, default=0
        1 shows what share of the range the path has covered, about how long the rest takes, and a line at the end.

    Attributes
    ----------
    kinks_ : ndarray
        The tau at which the path bends, sorted; none for a stretch on which it does so by no more than rounding.
    tau_range_ : (float, float)
        Where the path is known.
    n_iter_ : int
        Kinks, at least 1.

    See Also
    --------
    CostPath : The same path for a classifier.

    Examples
    --------
    >>> import numpy as np, steelyard as sy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, (4000, 1))
    >>> y = x[:, 0] + (0.1 + x[:, 0]) * rng.normal(size=4000)  # noise that grows with x
    >>> path = sy.QuantilePath(C=1.0).fit(x[:2000], y[:2000])
    >>> path.predict([[0.5], [1.0]], quantiles=[0.1, 0.5, 0.9]).round(1).tolist()
    [[-0.2, 0.5, 1.3], [-0.4, 1.0, 2.4]]
    >>> low, high = path.predict(x[2000:], quantiles=[0.1, 0.9]).T
    >>> round(float(np.mean((low < y[2000:]) & (y[2000:] < high))), 2)
    0.79
    """

    _parameters = PATH_PARAMETERS
    _middle: float

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "linear",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tau_range: tuple[float, float] = (0.0, 1.0),
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tau_range = tau_range
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> QuantilePath:
        """Compute the path."""
        with as_before(self):
            self._check_parameters()
            rows, y = rows_and_y(self, X, y)
            weight = check_weight(sample_weight, rows.source)
            if weight is not None and not weight.any():
                raise ValueError("sample_weight is zero on every row: nothing to learn from")
            kernel = self._kernel(rows, weight)
            rows, y, weight = self._weighted(rows.packed(), _numbers(y), weight)
            self._middle = _median(y, weight) if self.fit_intercept else 0.0
            seed = int(check_random_state(self.random_state).randint(2**31))
            features = LinearFeatures(bool(self.fit_intercept))
            given = rows if kernel else features(rows)
            centred = y - self._middle
            with self._watched() as watch:
                path = exact.trace_quantiles(
                    given, centred, self.C, self.tau_range, weight, seed, kernel, watch, threads(self.n_jobs)
                )
            if path.log.n_checkpoints == 0:
                raise RuntimeError(f"{path.status}: scale the columns (StandardScaler), or give a smaller C")
            self._keep(path, KernelColumns.of(kernel, path.problem.rows) if kernel else features)
        return self

    def at(self, tau: float) -> QuantileModel:
        """The regressor of the quantile `tau`; nothing is trained."""
        check_is_fitted(self)
        point = QuantileModel(self._check_quantile(tau))
        self._hand_over(point, ("_middle",))
        if self.kernel == "linear":
            point.coef_ = point._w[: self.n_features_in_].copy()
            point.intercept_ = float(point._w[-1] + self._middle) if self.fit_intercept else 0.0
        return point

    def predict(self, X: Any, quantiles: ArrayLike | None = None, *, rearrange: bool = False) -> np.ndarray:
        """Quantiles of y at each row: the median by default, one column for each of a list of `quantiles`.

        Each quantile is a regression of its own, so two of them may cross at a row. ``rearrange=True`` sorts the
        predictions of a row, which never raises the pinball loss summed over the quantiles (Chernozhukov,
        Fernandez-Val and Galichon 2010).
        """
        rows = rows_to_score(self, X)
        given = np.asarray(0.5 if quantiles is None else quantiles, dtype=np.float64)
        if given.ndim > 1:
            raise ValueError(f"quantiles is a number or a flat list of numbers; got shape {given.shape}")
        tau = np.array([self._check_quantile(t) for t in given.ravel()])
        found = np.empty((rows.n_rows, 0))
        if len(tau):
            found = self._features.scores(rows, self._path.models(tau)) + self._middle
        if rearrange:
            rank = np.empty(len(tau), dtype=int)
            rank[np.argsort(tau, kind="stable")] = np.arange(len(tau))
            found = np.sort(found, axis=1)[:, rank]
        return found if given.ndim else found[:, 0]

    def _check_quantile(self, tau: Any) -> float:
        return self._check_in_range(tau, "a quantile is a share of y")


def _numbers(y: Any) -> Array:
    """y as numbers, each of them finite."""
    column = np.asarray(y)
    if column.dtype.kind in "mM":
        raise TypeError(f"y holds dates or durations ({column.dtype}): say as numbers what they mean, in some unit")
    try:
        found: Array = column.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"y holds no numbers, and quantiles are of numbers ({error})") from error
    refuse_no_numbers(found)
    return found


def _median(y: np.ndarray, weight: np.ndarray | None) -> float:
    """A row of weight 2 counts as two rows."""
    order = np.argsort(y, kind="stable")
    mass = np.cumsum(np.ones(len(y)) if weight is None else weight[order])
    low, high = np.searchsorted(mass, mass[-1] / 2.0, side="left"), np.searchsorted(mass, mass[-1] / 2.0, side="right")
    return float((y[order[low]] + y[order[min(high, len(y) - 1)]]) / 2.0)
