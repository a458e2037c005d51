"""`MeasureClassifier` for several classes: K linear models and their offsets, for a measure that is lifted to them.

    max over (loss, weights of the classes, C) and the offsets   measure(rates of every class)

The search is `solvers.search.classes`; here is what it takes from the estimator, and what it leaves there. Two classes
under such a measure have one model, the difference of the two.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..elsewhere import is_elsewhere
from ..measures import Measure
from ..measures.by_row import nodes_by_row
from ..measures.constraints import Constraint, as_constraints
from ..solvers.search import class_models, classes
from ..solvers.search.class_models import FittedClasses, LabelledClasses
from ..solvers.search.classes import ClassExploration, Verdict, Wanted
from ..solvers.search.models import Effort
from ..solvers.search.work import State, Work
from ..statistics.offsets import Goal
from ._binary import check_weight, threads
from ._border import as_before, rows_and_y
from ._linear import typical_norm
from ._offsets import ClassLabels
from ._progress import watching
from ._splits import NO_PREFIT, Stratum, read_cv

Array = NDArray[np.float64]
OF_TWO = ("_positive", "frontier_", "costs_", "levels_", "promise_")  # what a fit to two classes may have left
# Times `tol` of the final fit, and at least; passes: a certificate of |J'|^2 / 2 is far above what it bounds.
LOOSER, AT_LEAST, PASSES = 100.0, 0.1, 100
# With more weights than this a pass is slow, and models of few rows are soon told apart: then so many passes.
WIDE, PASSES_WIDE = 2**17, 20


def fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """The estimator, fitted; `_check_parameters` has been called."""
    goal = Goal(estimator.measure, lifted_constraints(estimator.subject_to, estimator.measure))
    refuse(estimator)
    if is_elsewhere(X):
        raise ValueError(f"on tensors and Dask collections there are two classes; {estimator.measure!r} has more")
    with as_before(estimator):
        rows, y = rows_and_y(estimator, X, y)
        labels = ClassLabels.of(y)
        weight = check_weight(sample_weight, labels.codes)
        k = len(labels.classes)
        mass = np.bincount(labels.codes, weights=weight, minlength=k)
        if not (mass > 0.0).all():
            raise ValueError(f"sample_weight leaves class {labels.classes.tolist()[mass.argmin()]!r} without weight")
        splits = read_cv(estimator.cv, Stratum(labels.codes, labels.classes.tolist()), estimator.random_state)
        if splits.prefit:
            raise ValueError(NO_PREFIT)
        rows = rows.packed().with_constant(typical_norm(rows, weight) if estimator.fit_intercept else 0.0)
        data = LabelledClasses(rows, labels.codes, tuple(labels.classes.tolist()), weight)
        with watching(estimator.verbose, type(estimator).__name__, State.told) as watch:
            effort = _effort(estimator, k * rows.n_cols, None if watch is None else Work(watch))
            found = classes.search(data, splits.pairs, goal, effort, _wanted(estimator))
            for name in OF_TWO:
                estimator.__dict__.pop(name, None)
            estimator.classes_ = labels.classes
            _take(estimator, data if splits.refits else data.take(splits.pairs[0][0]), *found)
    estimator._say(found[1].candidate.model)
    return estimator


def refuse(estimator: Any) -> None:
    """What two classes have and several do not."""
    refuse_by_row(estimator.measure)
    what = f"{estimator.measure!r} is about several"
    if estimator.delta is not None:
        raise ValueError(f"delta promises limits on two classes; {what}")
    if estimator.solver == "can":
        raise ValueError(f"solver='can' alternates for a measure of two classes; {what}. Use solver='auto'")
    refuse_positive(estimator)


def refuse_by_row(measure: Measure) -> None:
    for node in nodes_by_row(measure):
        raise ValueError(f"{node!r} is a mean over rows of several labels each; y has one label a row")


def refuse_positive(estimator: Any) -> None:
    if estimator.pos_label is not None:
        raise ValueError(
            f"pos_label={estimator.pos_label!r} names one of two classes, and {estimator.measure!r} is about several: "
            f"of({estimator.pos_label!r}, measure) is a measure of that class"
        )


def lifted_constraints(subject_to: Any, measure: Any) -> tuple[Constraint, ...]:
    constraints = as_constraints(subject_to)
    for constraint in constraints:
        if not constraint.cleared.is_lifted:
            left = constraint.left if constraint.left.varies else constraint.right
            raise ValueError(
                f"{constraint!r} is about two classes, and {measure!r} about several: say of which class it is, as in "
                f"of(label, {left!r}), or worst({left!r})"
            )
    return constraints


def _effort(estimator: Any, n_weights: int, work: Work | None) -> Effort:
    seed = int(check_random_state(estimator.random_state).randint(2**31))
    tol = max(min(LOOSER * estimator.tol, AT_LEAST), estimator.tol)
    passes = PASSES_WIDE if n_weights > WIDE else PASSES
    return Effort(tol, passes, estimator.solver, threads(estimator.n_jobs), seed, work)


def _wanted(estimator: Any) -> Wanted:
    losses = classes.PLAN.losses if estimator.loss == "auto" else (estimator.loss,)
    if isinstance(estimator.C, str):
        return Wanted(losses)
    return Wanted(losses, tuple(float(c) for c in np.atleast_1d(estimator.C)), refines=False)


def _take(estimator: Any, data: LabelledClasses, explored: ClassExploration, chosen: Verdict) -> None:
    """The chosen model on all rows, with the offsets of the rows left out."""
    candidate, model = chosen.candidate, chosen.candidate.model
    watch, work = None, explored.effort.work
    if work is not None:
        said = f"{model} on all {data.rows.n_rows:,} rows"
        work.expect(0.0)
        watch = partial(work.part, doing=said)
        watch(0.0)
    effort = Effort(estimator.tol, solver=estimator.solver, n_jobs=explored.effort.n_jobs, seed=explored.effort.seed)
    final = class_models.fit(model, data, effort, candidate.folds[0], watch)
    _warn(estimator, final)
    shift = candidate.best.offsets / candidate.unit if chosen.tuned else np.zeros(len(data.classes))
    constant = data.rows.constant * final.W[:, -1] if estimator.fit_intercept else 0.0
    estimator._set_class_models(final.W[:, : estimator.n_features_in_], constant + shift)
    estimator.C_, estimator.loss_, estimator.class_weights_ = model.C, model.loss, np.asarray(model.weights)
    estimator.gap_, estimator.n_iter_, estimator.best_score_ = final.gap, max(1, final.n_iter), chosen.value


def _warn(estimator: Any, final: FittedClasses) -> None:
    if not final.status.solved and final.gap > estimator.tol:
        warnings.warn(
            f"the final fit ended at a relative gap of {final.gap:.2g}, above tol={estimator.tol} ({final.status}): "
            "features on very different scales are the usual reason; put a StandardScaler in front, or give a "
            "smaller C",
            ConvergenceWarning,
            stacklevel=5,
        )
