"""From the parameters of an `OnlineClassifier` to the frozen problem, and to the learner that takes it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from ..measures import Constraint, Measure
from ..measures.constraints import as_constraints
from ..solvers.stream.class_learner import BY_REWARD, ClassLearner
from ..solvers.stream.learner import Learner
from ..solvers.stream.merged import MergedLearner
from ..solvers.stream.mini_batch import MiniBatchLearner
from ..solvers.stream.problem import BY_NAME, Nemsis, OnePassMiniBatch, Problem, Solver, check_problem, choose_solver
from ._measure_classes import refuse_by_row

AnyLearner = Learner | MiniBatchLearner | ClassLearner | MergedLearner


class StreamParameters(Protocol):
    """The parameters that make a problem, as `OnlineClassifier` names them and has checked them one by one."""

    measure: Measure
    subject_to: Constraint | None
    solver: Any
    reward: str
    dual_rates: str
    guard: bool
    eta0: Any
    alpha: float
    radius: float | None
    average: bool
    refresh: int
    fit_intercept: bool
    pos_label: Any
    random_state: Any


def problem_of(given: StreamParameters) -> Problem:
    if given.measure.is_lifted:
        _refuse_for_classes(given)
        return _problem(given, None, Nemsis())
    constraints = as_constraints(given.subject_to)
    if len(constraints) > 1:
        raise ValueError(f"on a stream there can be one constraint; got {len(constraints)}: {given.subject_to!r}")
    constraint, solver = constraints[0] if constraints else None, given.solver
    if isinstance(solver, str):
        auto = solver == "auto"
        solver = choose_solver(given.measure, constraint, bool(given.guard)) if auto else BY_NAME[solver]()
    problem = _problem(given, constraint, solver)
    check_problem(problem)
    return problem


def _refuse_for_classes(given: StreamParameters) -> None:
    """What the stream of two classes has, and that of several has not."""
    refuse_by_row(given.measure)
    what = f"{given.measure!r} is about several classes"
    if given.subject_to is not None:
        raise ValueError(
            f"{what}, and on a stream of them there are no constraints; got {given.subject_to!r}. MeasureClassifier "
            "and ThresholdClassifier take constraints such as of(label, fpr) <= 0.01"
        )
    if not (isinstance(given.solver, Nemsis) or given.solver in ("auto", "nemsis")):
        raise ValueError(f"{what}, for which there is one solver: solver='auto' or 'nemsis'; got {given.solver!r}")
    if given.reward not in BY_REWARD:
        raise ValueError(f"{what}: the reward is one of {tuple(BY_REWARD)}; got {given.reward!r}")
    for name, value, usual in (("dual_rates", given.dual_rates, "counts"), ("alpha", given.alpha, 0.0),
                               ("radius", given.radius, None), ("pos_label", given.pos_label, None)):  # fmt: skip
        if value != usual:
            raise ValueError(f"{name} is for two classes; {what}: leave it at {usual!r}; got {value!r}")


def _problem(given: StreamParameters, constraint: Constraint | None, solver: Solver) -> Problem:
    return Problem(
        measure=given.measure,
        constraint=constraint,
        solver=solver,
        reward=given.reward,
        counts=given.dual_rates == "counts",
        guard=bool(given.guard),
        eta0=None if isinstance(given.eta0, str) else float(given.eta0),
        alpha=float(given.alpha),
        radius=None if given.radius is None else float(given.radius),
        average=bool(given.average),
        refresh=int(given.refresh),
        fit_intercept=bool(given.fit_intercept),
        seed=int(check_random_state(given.random_state).randint(2**31 - 1)),
    )


def new_learner(problem: Problem, n_features: int, classes: Any = ()) -> AnyLearner:
    """`classes` are those of a measure of several."""
    if problem.measure.is_lifted:
        return ClassLearner(problem, n_features, tuple(np.asarray(classes).tolist()))
    return (MiniBatchLearner if isinstance(problem.solver, OnePassMiniBatch) else Learner)(problem, n_features)
