"""From the parameters of an `OnlineClassifier` to the frozen problem, and to the learner that takes it."""

from __future__ import annotations

from typing import Any, Protocol

from sklearn.utils import check_random_state

from ..measures import Constraint, Measure
from ..measures.constraints import as_constraints
from ..solvers.stream.learner import Learner
from ..solvers.stream.mini_batch import MiniBatchLearner
from ..solvers.stream.problem import BY_NAME, OnePassMiniBatch, Problem, check_problem, choose_solver

AnyLearner = Learner | MiniBatchLearner


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
    random_state: Any


def problem_of(given: StreamParameters) -> Problem:
    constraints = as_constraints(given.subject_to)
    if len(constraints) > 1:
        raise ValueError(f"on a stream there can be one constraint; got {len(constraints)}: {given.subject_to!r}")
    constraint, solver = constraints[0] if constraints else None, given.solver
    if isinstance(solver, str):
        auto = solver == "auto"
        solver = choose_solver(given.measure, constraint, bool(given.guard)) if auto else BY_NAME[solver]()
    problem = Problem(
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
    check_problem(problem)
    return problem


def new_learner(problem: Problem, n_features: int) -> AnyLearner:
    return (MiniBatchLearner if isinstance(problem.solver, OnePassMiniBatch) else Learner)(problem, n_features)
