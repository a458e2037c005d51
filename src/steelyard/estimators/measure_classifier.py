"""A linear model trained for the measure that is reported, under constraints on the rates.

    max over (loss, costs, C) and the offset   measure(TPR, TNR)   subject to linear constraints on the rates

The models are cost-sensitive ones (`solvers.cost_sensitive`), explored and chosen on out-of-fold scores with the
offset taken exactly (`solvers.linear.search`). Algorithm 2 of Kar et al. (2016), CAN, is ``solver="can"``.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import validate_data

from ..measures import FBeta, Measure
from ..measures.constraints import Constraint, as_constraints
from ..solvers.linear import cost_sensitive
from ..solvers.linear.can import can
from ..solvers.linear.search import (
    Candidate,
    Effort,
    Exploration,
    Goal,
    Model,
    Sample,
    costs_of_ratio,
    linearised_costs,
    scale_of,
    thinned,
)
from ._binary import check_measure, check_weight, encode_labels, threads
from ._linear import LinearMixin
from ._scored_rows import check_cv

C_GRID = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
N_RATIOS = 7
LARGE = 1_000_000  # stored values: beyond, a sample of the rows is explored and only the short list on all of them
FEWEST = 10_000  # rows of such a sample
SHORT_LIST = 2


class MeasureClassifier(LinearMixin, BaseEstimator):
    """A linear classifier trained for any measure of TPR and TNR, under any linear constraints on them.

    Cost-sensitive models are explored over cost ratios, C and loss, refined near the optimum, and chosen on
    out-of-fold scores with the threshold taken exactly. A plain logistic regression or linear SVM with the best
    threshold is among the candidates, and is left only for a gain well beyond its standard error; the threshold is
    the mean of the best ones over resamples of these scores. Scale the features first (`StandardScaler`).

    Parameters
    ----------
    measure : Measure, default=FBeta(1)
        What to maximise: a measure of `steelyard.measures` or an expression of them.
    subject_to : Constraint or list of them, default=None
        Linear in the rates, such as ``fpr <= 0.01`` or ``Precision() >= 0.9``. Met on the out-of-fold scores, with a
        margin where few rows decide; a promise on unseen data is `ThresholdClassifier` with ``delta``.
    C : "auto", float or list of floats, default="auto"
        Weight of the losses against ``|w|^2 / 2``; larger is less regularised. "auto" tries 0.001 to 10 and in between.
    loss : {"auto", "hinge", "squared_hinge", "logistic"}, default="auto"
        "auto" tries all three.
    solver : {"auto", "coordinate", "newton", "bundle", "can"}, default="auto"
        How the cost-sensitive problems are solved (`steelyard.solvers.cost_sensitive`); "can" raises the level of a
        ratio measure by concave alternation instead of searching a grid of costs.
    tol : float, default=1e-3
        Relative duality gap of the final model; the exploration makes do with ten times as much.
    cv : int, float or splitter, default=5
        Folds, or a held-out share: then the model is fitted on the rest only.
    fit_intercept : bool, default=True
        Whether the models have an offset of their own. The threshold is set in any case.
    pos_label : label, default=None
        The positive class; the larger label by default.
    n_jobs : int, default=None
        Threads for the grids; the result is the same for any number. -1 is all cores.
    random_state : int or RandomState, default=None
        Draws the held-out share, the resamples that judge a threshold, and the order of coordinate descent. None
        draws anew in every fit, as everywhere in scikit-learn: give a number for the same model every time.
    verbose : int, default=0
        1 prints what was chosen.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
    C_, loss_, costs_ : float, str, (float, float)
        The chosen model; `costs_` are those of a false negative and a false positive.
    gap_ : float
        Certified relative duality gap of the final fit.
    best_score_ : float
        The measure on the out-of-fold scores, at the chosen threshold.
    frontier_ : Frontier
        Every operating point of the chosen model on the out-of-fold scores.
    n_iter_ : int
        Passes over the data in the final fit.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import steelyard as sy, steelyard.measures as m
    >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.1, class_sep=0.6, random_state=0)
    >>> model = sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X[:2000], y[:2000])
    >>> round(m.FBeta(1).score(y[2000:], model.predict(X[2000:])), 2)
    0.41
    """

    def __init__(
        self,
        measure: Measure = FBeta(1),
        *,
        subject_to: Constraint | list[Constraint] | None = None,
        C: Any = "auto",
        loss: str = "auto",
        solver: str = "auto",
        tol: float = 1e-3,
        cv: Any = 5,
        fit_intercept: bool = True,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.subject_to = subject_to
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MeasureClassifier:
        """Explore, choose, and fit the chosen model on all rows; `sample_weight` counts in losses and measure alike."""
        goal = Goal(check_measure(self.measure), _linear_constraints(self.subject_to))
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.classes_, is_positive, self._positive = encode_labels(y, self.pos_label)
        weight = check_weight(sample_weight, X, is_positive)
        Cs, losses = self._grid()
        constant = _typical_norm(X, weight) if self.fit_intercept else 0.0
        rows = _with_constant(X, constant) if self.fit_intercept else X
        splits, whole = self._splits(is_positive)
        sample = Sample(rows, np.where(is_positive, 1.0, -1.0), weight, splits)
        rng = check_random_state(self.random_state)
        inner = "auto" if self.solver == "can" else self.solver
        effort = Effort(min(10 * self.tol, 0.1), inner, threads(self.n_jobs), int(rng.randint(2**31)))
        exploration = Exploration(sample, goal, effort)
        chosen = (
            self._alternate(exploration, losses, Cs) if self.solver == "can" else self._explore(exploration, losses, Cs)
        )
        self._refit(exploration, chosen, np.arange(len(y)) if whole else splits[0][0], constant)
        return self

    # -- exploring ----------------------------------------------------------------------------------------------
    def _explore(self, exploration: Exploration, losses: tuple[str, ...], Cs: tuple[float, ...]) -> Candidate:
        part, factor = thinned(exploration, LARGE, FEWEST)
        self._search(part, losses, tuple(C * factor for C in Cs), factor)
        if part is not exploration:
            # The losses are sums: with 1/factor of the rows, C times factor is the same trade-off.
            listed = part.short_list(SHORT_LIST)
            exploration.anchors.update(replace(model, C=model.C / factor) for model in part.anchors)
            for model in {*listed, *part.anchors}:
                exploration.add(model.loss, [(model.c_pos, model.c_neg)], [model.C / factor])
        return exploration.choose()

    def _search(self, exploration: Exploration, losses: tuple[str, ...], Cs: tuple[float, ...], factor: float) -> None:
        """A grid of cost ratios and Cs for each loss, then models near the best."""
        prevalence = exploration.sample.prevalence
        balanced = (1.0 - prevalence) / prevalence
        wide = np.geomspace(0.5 * min(1.0, balanced), 2.0 * max(1.0, balanced), N_RATIOS)
        plain = costs_of_ratio(1.0, prevalence)
        middle = {plain, costs_of_ratio(balanced, prevalence), costs_of_ratio(np.sqrt(balanced), prevalence)}
        usual = min(Cs, key=lambda C: abs(np.log(C / factor)))
        for loss in losses:
            # The hinge depends most on the costs; the others mostly move the threshold, which is taken exactly anyway.
            costs = {costs_of_ratio(r, prevalence) for r in wide} if loss == "hinge" or len(losses) == 1 else middle
            anchors = [Model(loss, *plain, usual)] if loss != "hinge" else []
            exploration.add(loss, {plain, *costs}, Cs, anchors)
        step = (wide[1] / wide[0]) ** 0.5
        for power in (1.0, 0.5):
            exploration.refine(step**power, 10 ** (0.5 * power) if self._tunes_C() else 1.0, max(Cs))

    def _alternate(self, exploration: Exploration, losses: tuple[str, ...], Cs: tuple[float, ...]) -> Candidate:
        """CAN: the oracle trains with the linearised costs of the valuation until the valuation stops rising."""
        goal, prevalence = exploration.goal, exploration.sample.prevalence
        n = sum(len(test) for _, test in exploration.sample.splits)

        def oracle(valuation: Measure, previous: Any) -> tuple[Any, Candidate]:
            search = Exploration(exploration.sample, Goal(valuation, goal.constraints), exploration.effort)
            costs = None if previous is None else linearised_costs(valuation, previous, prevalence, n)
            costs = costs or costs_of_ratio(1.0, prevalence)
            best: Candidate | None = None
            for _ in range(3):
                for loss in losses:
                    search.add(loss, [costs], Cs)
                if best is not None and search.best().point.value <= best.point.value:
                    break
                best = search.best()
                costs = linearised_costs(valuation, best.point, prevalence, n) or costs
            return search.best().point, search.best()

        def rate(measure: Measure, point: Any) -> float:
            return float(measure(point.tpr, point.tnr, prevalence, sample_size=n))

        found = can(goal.measure, oracle, rate, tol=1e-5)
        self.levels_ = np.array(found.levels)
        model = found.payload.model
        exploration.add(model.loss, [(model.c_pos, model.c_neg)], [model.C])
        return exploration.choose()

    def _refit(self, exploration: Exploration, chosen: Candidate, train: np.ndarray, constant: float) -> None:
        sample, model = exploration.sample, chosen.model
        weight = None if sample.weight is None else sample.weight[train]
        final = cost_sensitive.solve(
            sample.X[train], sample.y[train], model.c_pos, model.c_neg, model.C, self.tol, model.loss,
            exploration.effort.solver, weight, n_jobs=exploration.effort.n_jobs, seed=exploration.effort.seed,
        )  # fmt: skip
        if not final.converged:
            warnings.warn(
                f"the final fit stopped at a relative gap of {final.gap:.2g}, above tol={self.tol}: features on very "
                "different scales are the usual reason; put a StandardScaler in front, or give a smaller C",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.C_, self.loss_, self.costs_ = model.C, model.loss, (model.c_pos, model.c_neg)
        self.gap_, self.n_iter_, self.best_score_ = final.gap, max(1, final.n_iter), chosen.point.value
        self.frontier_ = exploration.frontier(exploration.scores(model))
        center, scale = scale_of((sample.X[train] @ final.w)[:, None], weight)
        # Constant scores have an infinite scale: the offset, clear of rounding, then calls all rows one class.
        standing = chosen.point.threshold * scale[0] if np.isfinite(scale[0]) else 1.0 - 2.0 * chosen.point.tpr
        threshold = center[0] + standing
        offset = constant * final.w[-1] if self.fit_intercept else 0.0
        self._set_model(final.w[: self.n_features_in_], offset - threshold)
        if self.verbose:
            print(f"MeasureClassifier: {model}, {self.best_score_:.4f} out of fold, gap {self.gap_:.1e}")

    # -- parameters ---------------------------------------------------------------------------------------------
    def _tunes_C(self) -> bool:
        return isinstance(self.C, str)

    def _grid(self) -> tuple[tuple[float, ...], tuple[str, ...]]:
        if isinstance(self.C, str) and self.C != "auto":
            raise ValueError(f"C is 'auto', a positive number or a list of them; got {self.C!r}")
        if self.loss != "auto" and self.loss not in cost_sensitive.LOSSES:
            raise ValueError(f"loss is 'auto' or one of {cost_sensitive.LOSSES}; got {self.loss!r}")
        if self.solver not in (*cost_sensitive.NAMES, "can"):
            raise ValueError(f"solver is one of {(*cost_sensitive.NAMES, 'can')}; got {self.solver!r}")
        Cs = C_GRID if self._tunes_C() else tuple(float(c) for c in np.atleast_1d(self.C))
        if not Cs or not all(0.0 < c < np.inf for c in Cs):
            raise ValueError(f"C must be positive and finite; got {self.C!r}")
        return Cs, cost_sensitive.LOSSES if self.loss == "auto" else (self.loss,)

    def _splits(self, is_positive: np.ndarray) -> tuple[list[Any], bool]:
        """The splits, and whether the final model is fitted on all rows."""
        cv = check_cv(self.cv, is_positive)
        if isinstance(cv, str):
            raise ValueError(
                "MeasureClassifier trains its own models, so there is nothing 'prefit'; use ThresholdClassifier"
            )
        if isinstance(cv, float):
            splitter = StratifiedShuffleSplit(1, test_size=cv, random_state=self.random_state)
            return list(splitter.split(np.zeros(len(is_positive)), is_positive)), False
        splits = list(cv.split(np.zeros(len(is_positive)), is_positive)) if hasattr(cv, "split") else cv
        for k, (train, _) in enumerate(splits, start=1):
            if is_positive[train].all() or not is_positive[train].any():
                raise ValueError(f"fold {k} of {len(splits)} trains on one class only; use a stratified splitter")
        return splits, True


def _linear_constraints(subject_to: Any) -> tuple[Constraint, ...]:
    constraints = as_constraints(subject_to)
    for constraint in constraints:
        if not constraint.is_linear:
            raise ValueError(f"{constraint!r} is not linear in the rates; give a cap or a floor such as fpr <= 0.01")
    return constraints


def _with_constant(X: Any, value: float) -> Any:
    column = np.full((X.shape[0], 1), value, dtype=X.dtype)
    return sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])


def _typical_norm(X: Any, weight: np.ndarray | None) -> float:
    """Root mean square length of a row: a constant column of this size neither dominates nor is regularised away."""
    squares = row_norms(X, squared=True).astype(np.float64)
    norm = float(np.sqrt(np.average(squares, weights=weight)))
    return norm if 0.0 < norm < np.inf else 1.0
