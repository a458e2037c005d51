"""As many accepted targets as possible at a false-discovery rate that decoys estimate.

    max T   subject to   D <= max_q T,    T targets and D decoys called positive

The mathematics is in `solvers.decoys.q_value` and the counting in `statistics.target_decoy`; here are labels, groups,
folds and the scikit-learn side.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from ..solvers.decoys import q_value
from ..solvers.decoys.steps import Aim
from ..statistics.target_decoy import check_targets, q_values
from ._binary import BinaryMixin, check_weight, encode_labels
from ._kernel import kernel_params

WIDE = 0.3  # times gamma="scale"
KERNELS, SOLVERS = ("linear", "rbf"), ("annealed", "stochastic")


class QValueClassifier(BinaryMixin, BaseEstimator):
    """As many accepted targets as possible while the decoys among them stay below a share `max_q`.

    Targets are a mixture of right and wrong matches, decoys are known to be wrong and tell how many wrong ones a list
    holds. The loss levels off for targets that cannot be accepted anyway; several ways of training compete on rows
    left out (`held_out_`), and one is refitted: the default unless another is clearly better. Scale the features first
    (`StandardScaler`).

    Parameters
    ----------
    max_q : float, default=0.01
        Decoys allowed per accepted target, above 0 and at most 1.
    kernel : {"linear", "rbf"}, default="linear"
        "rbf" adds the Nystroem features of an RBF kernel to the columns, and stays linear where rows left out say so.
    gamma : float or "scale", default=None
        Of the RBF kernel ``exp(-gamma |x - x'|^2)``; "scale" is ``1 / (n_features X.var())``, None is 0.3 times that.
    n_components : int, default=50
        Landmarks of the kernel: time grows with their square, memory with rows times landmarks.
    C : float, default=10.0
        Weight of the loss of a row against ``|w|^2 / 2``.
    solver : {"annealed", "stochastic"}, default="annealed"
        "stochastic" is the stream learner under the same constraint (`kernel="linear"` only): a fraction of the time,
        and somewhat fewer accepted targets.
    cv : int, default=3
        Parts of the data left out in turn, to choose the way of training and set the threshold.
    max_iter : int, default=10
        Rounds of self-training at most; passes over the rows for "stochastic".
    pos_label : label, default=None
        The label of targets; the larger label by default.
    random_state : int or RandomState, default=None
        Draws the folds and the landmarks.
    verbose : int, default=0
        1 prints what the rows left out said.

    Attributes
    ----------
    recipe_ : str
        The way of training that was chosen.
    held_out_ : dict of str to float
        For each of them the targets accepted among rows left out, the mean over rates from half to twice `max_q` (or a
        double of it, where lists at `max_q` hold fewer than ten decoys).
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Where the model is linear (`kernel="linear"`, or a linear model won).
    classes_ : ndarray of shape (2,)
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np, steelyard as sy
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8000, 5)); is_target = np.arange(8000) % 2 == 0
    >>> right = is_target & (rng.random(8000) < 0.3)
    >>> X[right] += [2.0, 2.0, 1.0, 0.0, 0.0]
    >>> model = sy.QValueClassifier(max_q=0.05, random_state=0).fit(X[:4000], is_target[:4000])
    >>> accepted = model.accepted(X[4000:], is_target[4000:])
    >>> one_column = is_target[4000:] & (sy.q_values(X[4000:, 0], is_target[4000:]) <= 0.05)
    >>> bool(accepted.sum() > 2 * one_column.sum())
    True
    """

    def __init__(
        self,
        max_q: float = 0.01,
        *,
        kernel: str = "linear",
        gamma: Any = None,
        n_components: int = 50,
        C: float = 10.0,
        solver: str = "annealed",
        cv: int = 3,
        max_iter: int = 10,
        pos_label: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_q = max_q
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.C = C
        self.solver = solver
        self.cv = cv
        self.max_iter = max_iter
        self.pos_label = pos_label
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> QValueClassifier:
        """Fit to targets and decoys; rows of one group (the matches of one spectrum) are left out together."""
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, is_target, self._positive = encode_labels(y, self.pos_label)
        weight = check_weight(sample_weight, X, is_target)
        groups = _check_groups(groups, X)
        if weight is not None and not weight.all():
            used = np.flatnonzero(weight)
            X, is_target, weight = X[used], is_target[used], weight[used]
            groups = None if groups is None else groups[used]
        rng = check_random_state(self.random_state)
        folds, seed = _folds(is_target, groups, int(self.cv), rng), int(rng.randint(2**31 - 1))
        if self.solver == "stochastic":
            found = q_value.solve_stochastic(
                X, is_target, float(self.max_q), passes=int(self.max_iter), seed=seed, sample_weight=weight
            )
        else:
            aim = Aim(float(self.max_q), float(self.C), int(self.max_iter))
            found = q_value.solve(X, is_target, aim, folds, weight, self._kernel(X, weight, seed))
        self._take(found)
        return self

    def _kernel(self, X: Any, weight: np.ndarray | None, seed: int) -> q_value.Kernel | None:
        if self.kernel == "linear":
            return None
        return q_value.Kernel(_gamma(self.gamma, X, weight), int(self.n_components), seed)

    def _take(self, found: q_value.QValueResult) -> None:
        self._model, self.n_iter_ = found.model, found.n_iter
        self.recipe_, self.held_out_ = found.recipe, found.held_out
        for name in ("coef_", "intercept_"):
            vars(self).pop(name, None)
        if found.model.features is None:
            self.coef_ = self._sign * found.model.w.reshape(1, -1)
            self.intercept_ = self._sign * np.array([found.model.intercept])
        if self.verbose:
            counts = ", ".join(f"{name} {count:.0f}" for name, count in found.held_out.items())
            print(f"QValueClassifier: {found.recipe}; accepted among rows left out: {counts or 'none were left out'}")
        if not found.objective:
            warnings.warn(
                f"no threshold keeps the decoys within max_q={self.max_q:g} of the targets, so `predict` calls every "
                "row a decoy: decoys score as high as the best targets. Try a larger max_q, more rows, other features",
                UserWarning,
                stacklevel=3,
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed scores, positive for ``classes_[1]``; what `accepted` ranks by when that is the target class."""
        scores = self._scores(X)
        return self._sign * scores

    def predict(self, X: Any) -> np.ndarray:
        """The label of targets where the score is within `max_q` by the rows left out in training.

        For a list of a new batch at `max_q` use `accepted`, which counts that batch's own decoys."""
        return self._labels(self._scores(X) > 0)

    def accepted(self, X: Any, is_target: Any) -> np.ndarray:
        """Which rows of this batch are targets with a q-value of at most `max_q`, by the batch's own decoys."""
        scores = self._scores(X)
        target = check_targets(is_target, len(scores))
        return target & (q_values(scores, target) <= self.max_q)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._model(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))

    def _check_parameters(self) -> None:
        if not isinstance(self.max_q, numbers.Real) or not 0.0 < self.max_q <= 1.0:
            raise ValueError(
                f"max_q is decoys per accepted target, above 0 and at most 1; got {self.max_q!r}. With the 1 that is "
                "added to the decoys no list has a q-value of 0"
            )
        for name, allowed in (("kernel", KERNELS), ("solver", SOLVERS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        if self.kernel != "linear" and self.solver == "stochastic":
            raise ValueError("solver='stochastic' learns a linear model: give kernel='linear', or solver='annealed'")
        if not isinstance(self.C, numbers.Real) or not 0.0 < self.C < np.inf:
            raise ValueError(f"C must be a finite number above 0; got {self.C!r}")
        if isinstance(self.gamma, str) and self.gamma != "scale":
            raise ValueError(f"gamma is 'scale', None or a positive number; got {self.gamma!r}")
        for name, low in (("cv", 2), ("max_iter", 1), ("n_components", 1)):
            value = getattr(self, name)
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
                raise ValueError(f"{name} must be a whole number of at least {low}; got {value!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _gamma(gamma: Any, X: Any, weight: np.ndarray | None) -> float:
    plain = float(kernel_params("rbf", "scale" if gamma is None else gamma, 0, 0.0, X, weight)["gamma"])
    return WIDE * plain if gamma is None else plain


def _check_groups(groups: Any, X: Any) -> np.ndarray | None:
    if groups is None:
        return None
    groups = column_or_1d(groups)
    check_consistent_length(X, groups)
    return groups


def _folds(is_target: np.ndarray, groups: np.ndarray | None, number: int, rng: Any) -> list[np.ndarray]:
    """Row numbers to leave out in turn, groups whole; none at all where a part of the rest would lack a class."""
    part = np.empty(len(is_target), dtype=np.intp)
    if groups is None:
        for side in (is_target, ~is_target):
            part[side] = rng.permutation(side.sum()) % number
    else:
        names, group = np.unique(groups, return_inverse=True)
        part = (rng.permutation(len(names)) % number)[group]
    folds = [np.flatnonzero(part == k) for k in range(number)]
    both = [is_target[part != k].any() and (~is_target[part != k]).any() for k in range(number)]
    return [fold for fold in folds if len(fold)] if all(both) else []
