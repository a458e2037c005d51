"""Every misclassification cost from one training, with probabilities.

    for every tau in [0, 1]:   min over w   1/2 |w|^2 + C sum_i s_i(tau) hinge_i,    s = 2 (1 - tau) or 2 tau

tau is the cost of a false positive over the sum of both costs, and the intercept a regularised constant column (Yu,
Vishwanathan and Zhang 2009). The path is `solvers.path.exact` (exact) or `solvers.path.approximate` (certified); sign
changes of scores along it are `solvers.path.sign_changes`.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..elsewhere import is_elsewhere, is_tensor
from ..measures import Measure
from ..measures.constraints import Constraint, as_constraints
from ..rows import Rows
from ..solvers.abilities import Wanted, choose
from ..solvers.path import approximate, exact
from ..solvers.path.approximate import ApproximatePath
from ..solvers.path.elsewhere import share_positive
from ..solvers.path.elsewhere import trace as trace_elsewhere
from ..solvers.path.joined import JoinedPath
from ..solvers.path.problem import SOLVERS, ModelPath, PathKernel, check_C, check_range
from ..solvers.path.sign_changes import SignChanges, sign_changes
from ..statistics import frontier
from . import _on_tensors, _path_elsewhere
from ._binary import BinaryMixin, Labels, check_measure, check_weight, one_kind, threads
from ._border import as_before, rows_and_y, rows_to_score
from ._lazy import lazily
from ._parameters import ANYTHING, SHARE, Table, Words
from ._path_estimator import PATH_PARAMETERS, PathEstimator
from ._path_features import Array, Features, KernelColumns, KernelFeatures, LinearFeatures, params_of


@dataclass(frozen=True, eq=False)
class _Training:
    rows: Rows
    sign: Array
    weight: Array | None
    kernel: PathKernel | None
    seed: int


class CostClassifier(BinaryMixin, BaseEstimator):
    """The classifier of a cost path at one tau: fitted already, and picklable. Made by `CostPath.at` and `.best`.

    Parameters
    ----------
    tau : float, default=0.5
        Cost of a false positive over the sum of both costs.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,), of a linear path
    classes_ : ndarray of shape (2,)

    See Also
    --------
    CostPath : The path that it comes from.
    """

    coef_: Array
    intercept_: Array
    _features: Features
    _w: Array

    def __init__(self, tau: float = 0.5) -> None:
        self.tau = tau

    def fit(self, X: Any, y: Any) -> CostClassifier:
        raise TypeError("a CostClassifier comes fitted, from CostPath.at(tau) or CostPath.best(...); fit a CostPath")

    @lazily
    def decision_function(self, X: Any) -> Any:
        """The score: above 0 is what `predict` calls ``classes_[1]``."""
        if is_tensor(X):
            rows = _on_tensors.rows_to_score(self, X)
            return self._sign * rows.with_constant(float(len(self._w) > rows.n_cols)).scores(self._w)
        rows = rows_to_score(self, X)
        return self._sign * self._features.scores(rows, self._w)

    @lazily
    def predict(self, X: Any) -> np.ndarray:
        """Labels: the positive class where its score is strictly above 0."""
        return self._labels(self.decision_function(X) * self._sign > 0)

    def __sklearn_is_fitted__(self) -> bool:
        return "classes_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class CostPath(BinaryMixin, PathEstimator):
    """One training, and the classifier for every pair of misclassification costs, with probabilities.

    `at(tau)` is the SVM with false positives at cost tau and false negatives at 1 - tau; `best` picks the cost that
    suits a measure, and trains nothing. A row's probability is the share of tau at which it is called positive. Scale
    the features first (`StandardScaler`). The path keeps X, not a copy of it: do not change it in place afterwards.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against ``|w|^2 / 2``; larger is less regularised.
    kernel : {"linear", "rbf", "poly", "precomputed"}, default="linear"
        Rows of the kernel matrix are computed when needed and cached (up to 1 GiB).
    gamma, degree, coef0 : kernel parameters, as in `sklearn.svm.SVC`
    method : {"auto", "exact", "approximate"}, default="auto"
        "exact" finds every kink; "approximate" keeps the relative duality gap below `tol` at every tau, certified.
        "auto" is exact up to 20,000 rows and, for a linear path, 1,000 columns; where ties are beyond rounding it goes
        on approximately from there, certified and with a warning. `method_` says which. With a kernel,
        "approximate" factorises the kernel matrix: up to n^2 numbers.
    tau_range : (float, float), default=(0.0, 1.0)
        Where the path is computed.
    tol : float, default=1e-3
        Relative duality gap of the approximate path.
    fit_intercept : bool, default=True
        Whether a regularised constant column is appended.
    pos_label : label, default=None
        The positive class; the larger label by default.
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
    method_ : str
        "exact" or "approximate".
    tau_range_ : (float, float)
        Where the path is known.
    gap_ : float
        Certified bound on the relative duality gap over the whole range; 0 for the exact path, infinite if it warned.
    recrossing_ : float
        Share of the training rows whose score changes sign more than once; only for these can `predict` differ from
        ``at(0.5).predict``.
    classes_ : ndarray of shape (2,)
    n_iter_ : int
        Kinks, at least 1.

    See Also
    --------
    CostClassifier : What `at` and `best` return.
    CostPathDisplay : Rates, coefficients and boundaries over tau.
    QuantilePath : The same path for a regression.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import steelyard as sy, steelyard.measures as m
    >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.1, class_sep=0.6, random_state=0)
    >>> path = sy.CostPath(C=0.01).fit(X[:1000], y[:1000])
    >>> dear_misses = path.at(costs={"fp": 1, "fn": 9})
    >>> round(m.Recall().score(y[2000:], dear_misses.predict(X[2000:])), 2)
    0.81
    >>> f1 = path.best(m.FBeta(1), X[1000:2000], y[1000:2000])
    >>> round(m.FBeta(1).score(y[2000:], f1.predict(X[2000:])), 2)
    0.36
    """

    _parameters: ClassVar[Table] = {
        **PATH_PARAMETERS,
        "method": (Words("auto", "exact", "approximate"),),
        "tol": (SHARE,),
        "pos_label": (ANYTHING,),
    }
    method_: str
    gap_: float
    _train: Rows
    _recrossing: float | None
    _sample_size: float

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "linear",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        tau_range: tuple[float, float] = (0.0, 1.0),
        tol: float = 1e-3,
        fit_intercept: bool = True,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.tau_range = tau_range
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CostPath:
        """Compute the path."""
        with as_before(self):
            self._check_parameters()
            if is_elsewhere(X):
                return self._fit_elsewhere(X, y, sample_weight)
            rows, y = rows_and_y(self, X, y)
            labels = Labels.of(y, self.pos_label)
            weight = check_weight(sample_weight, rows.source, labels.is_positive)
            kernel = self._kernel(rows, weight)
            rows, sign, weight = self._weighted(rows.packed(), labels.signs, weight)
            seed = int(check_random_state(self.random_state).randint(2**31))
            self.method_ = choose(SOLVERS, Wanted(*rows.shape, kernel=self.kernel), self.method).name
            train = _Training(rows, sign, weight, kernel, seed)
            path, features = self._exact(train) if self.method_ == "exact" else self._approximate(train)
            self._keep(path, features)
            self.gap_ = self._path.gap
            self._take_labels(labels)
            self._train, self._recrossing = rows, None
            # A weight of 3 counts as three rows; weights that sum to 1, as AdaBoost's do, are as many rows as they are.
            self._sample_size = max(rows.n_rows, 0.0 if weight is None else float(weight.sum()))
        return self

    def _fit_elsewhere(self, X: Any, y: Any, sample_weight: Any) -> CostPath:
        """The approximate path of a tensor or of partitions, where they are."""
        if self.kernel != "linear" or self.method == "exact":
            raise ValueError(
                "a tensor or a Dask collection has the linear, approximate path: kernel='linear', method='approximate' "
                "or 'auto'"
            )
        signed = _path_elsewhere.signed(X, y, sample_weight, self.pos_label, float(bool(self.fit_intercept)))
        seed = int(check_random_state(self.random_state).randint(2**31))
        C, tau_range = check_C(self.C), check_range(self.tau_range)
        with self._watched() as watch:
            path = trace_elsewhere(signed.source, C, tau_range, float(self.tol), seed, watch)
        self.n_features_in_, self.method_ = signed.n_features, "approximate"
        self.__dict__.pop("feature_names_in_", None)
        if signed.names is not None:
            self.feature_names_in_ = signed.names
        self._keep(path, LinearFeatures(bool(self.fit_intercept)))
        self.gap_ = path.gap
        self._take_labels(signed.labels)
        self._train, self._recrossing, self._sample_size = signed.some_in_memory(), None, signed.size
        return self

    def _exact(self, train: _Training) -> tuple[ModelPath, Features]:
        """The exact path; what rounding leaves of it is approximate with "auto", and an error with "exact"."""
        features, kernel = LinearFeatures(bool(self.fit_intercept)), train.kernel
        given = train.rows if kernel else features(train.rows)
        with self._watched() as watch:
            path = exact.trace(
                given, train.sign, self.C, self.tau_range, train.weight, train.seed, kernel, watch, threads(self.n_jobs)
            )
        # Margins that are known to less than `tol` prove less than the approximate path does.
        if path.complete and (kernel or self.method == "exact" or path.drift <= self.tol):
            return path, KernelColumns.of(kernel, path.problem.rows) if kernel else features
        if self.method == "exact":
            raise RuntimeError(
                f"{path.status}: there is no exact path beyond it in double precision. Take method='auto', which goes "
                "on approximately from there, scale the columns (StandardScaler), or give a smaller C"
            )
        self.method_ = "approximate"
        rest, made = self._approximate(train, path.end if path.precise and not kernel else None)
        return (rest, made) if rest.start == path.start else (JoinedPath(path, rest), made)

    def _approximate(self, train: _Training, start: float | None = None) -> tuple[ApproximatePath, Features]:
        """The approximate path over the range, or from `start` on."""
        constant, kernel = bool(self.fit_intercept), train.kernel
        made = KernelFeatures(kernel.name, params_of(kernel), constant) if kernel else LinearFeatures(constant)
        tau_range = self.tau_range if start is None else (start, check_range(self.tau_range)[1])
        given = made.train(train.rows)
        with self._watched(start) as watch:
            path = approximate.trace(given, train.sign, self.C, tau_range, self.tol, train.weight, train.seed, watch)
        return path, made

    # -- points of the path -------------------------------------------------------------------------------------
    def at(self, tau: float | None = None, *, costs: dict[str, float] | None = None) -> CostClassifier:
        """The classifier at `tau`, or at ``costs={"fp": ..., "fn": ...}``; nothing is trained.

        A pipeline `pipe` that ends in a path has no `at` of its own: for raw rows the classifier is
        ``make_pipeline(pipe[:-1], pipe[-1].at(tau))``, and likewise with ``pipe[-1].best(measure, X, y)`` on rows that
        ``pipe[:-1].transform`` has gone over.
        """
        check_is_fitted(self)
        point = CostClassifier(self._check_tau(tau, costs))
        self._hand_over(point, ("classes_", "_positive"))
        if self.kernel == "linear":
            point.coef_, point.intercept_ = self._split(point._w[None])
        return point

    def coefficients(self, tau: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """``coef`` (one row for each tau) and ``intercept`` of a linear path, at many tau at once."""
        check_is_fitted(self)
        if self.kernel != "linear":
            raise ValueError(f"a path with kernel={self.kernel!r} has no coefficients; kernel='linear' has")
        wanted = np.atleast_1d(np.asarray(tau, dtype=np.float64))
        return self._split(self._path.models([self._check_tau(t, None) for t in wanted]))

    def _split(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        intercept = self._sign * w[:, -1] if self.fit_intercept else np.zeros(len(w))
        return self._sign * w[:, : self.n_features_in_], intercept

    def _check_tau(self, tau: Any, costs: Any) -> float:
        if (tau is None) == (costs is None):
            raise ValueError('give either tau or costs={"fp": ..., "fn": ...}')
        if costs is not None:
            if not isinstance(costs, dict) or set(costs) != {"fp", "fn"}:
                raise ValueError(f'costs is a dict with the keys "fp" and "fn"; got {costs!r}')
            fp, fn = costs["fp"], costs["fn"]
            if not all(isinstance(cost, numbers.Real) for cost in (fp, fn)):
                raise ValueError(f"costs must be numbers; got {costs}")
            if not (fp >= 0.0 and fn >= 0.0 and 0.0 < fp + fn < np.inf):
                raise ValueError(f"costs must be finite, not negative and not both zero; got {costs}")
            tau = fp / (fp + fn)
        return self._check_in_range(tau, "tau is fp cost / (fp cost + fn cost)")

    def rates(self, X: Any, y: Any, sample_weight: Any = None) -> frontier.Frontier:
        """TPR and TNR on (X, y) at every tau where a prediction changes; `thresholds` are these tau."""
        X, y = _path_elsewhere.in_memory(X, y)
        return self._rates(self._sign_changes(rows_to_score(self, X)), y, sample_weight)

    def best(
        self,
        measure: Measure,
        X: Any,
        y: Any,
        *,
        subject_to: Constraint | list[Constraint] | None = None,
        sample_weight: Any = None,
    ) -> CostClassifier:
        """The classifier of the path with the largest measure on (X, y), among those that meet the constraints.

        Points that tie are decided by skill, TPR + TNR. Nothing is trained.
        """
        measure, constraints = check_measure(measure), as_constraints(subject_to)
        X, y = _path_elsewhere.in_memory(X, y)
        changes = self._sign_changes(rows_to_score(self, X))
        points = self._rates(changes, y, sample_weight)
        choice = frontier.best_point(points, measure, constraints)
        return self.at(float(changes.middles(points)[choice.index]))

    def _rates(self, changes: SignChanges, y: Any, sample_weight: Any) -> frontier.Frontier:
        labels = one_kind(y)
        unknown = set(labels.tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(f"y has labels {sorted(unknown)} that were not seen in fit: {self.classes_.tolist()}")
        is_positive = labels == self._positive
        if len(is_positive) != changes.n_rows:
            raise ValueError(f"X has {changes.n_rows} rows and y has {len(is_positive)} labels")
        return changes.rates(is_positive, check_weight(sample_weight, is_positive))

    def _sign_changes(self, rows: Rows) -> SignChanges:
        made = self._features(rows)
        return sign_changes(self._path, made, self._features.norms(rows, made))

    # -- prediction ---------------------------------------------------------------------------------------------
    @lazily
    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of tau at which a row is called positive, at least 1/(2n) away from 0 and 1."""
        check_is_fitted(self)
        edge = 0.5 / self._sample_size
        if is_tensor(X):
            rows = _on_tensors.rows_to_score(self, X).with_constant(float(bool(self.fit_intercept)))
            return self._probabilities(share_positive(self._path, rows).clamp(edge, 1.0 - edge))
        share = self._sign_changes(rows_to_score(self, X)).share_positive()
        return self._probabilities(np.clip(share, edge, 1.0 - edge))

    @lazily
    def predict(self, X: Any) -> np.ndarray:
        """Labels: the positive class where its probability is above one half."""
        check_is_fitted(self)
        return self._labels(self.predict_proba(X)[:, int(self._sign > 0)] > 0.5)

    @property
    def recrossing_(self) -> float:
        check_is_fitted(self)
        if self._recrossing is None:
            self._recrossing = self._sign_changes(self._train).recrossing()
        return self._recrossing
