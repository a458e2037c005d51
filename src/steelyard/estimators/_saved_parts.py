"""What a file holds of the parts that estimators are made of: learners, paths, features, scores, frontiers.

A frozen dataclass is its fields; each other class says what it is made of again. Everything that comes out of a file is
checked here before a solver or the core sees it: sizes, ranges, and that the parts fit each other.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import PathLog
from ..files.kinds import (
    COUNT,
    FINITE,
    FLAG,
    LARGEST,
    REAL,
    Array,
    ByName,
    Each,
    Fields,
    IfThere,
    Is,
    Labels,
    Maybe,
    Number,
    Table,
    Text,
    check_fields,
    fits,
)
from ..files.values import Description
from ..measures import Constraint, Measure
from ..rows import Rows
from ..solvers.decoys.bounds import Soft
from ..solvers.decoys.landmarks import Landmarks
from ..solvers.decoys.q_value import MatchScore
from ..solvers.kernel.expansion import KernelExpansion, LinearScore
from ..solvers.kernel.smo import KERNELS, KernelFunction
from ..solvers.path.approximate import ApproximatePath
from ..solvers.path.exact import ExactPath
from ..solvers.path.joined import JoinedPath
from ..solvers.path.problem import CACHE, PathKernel, PathProblem
from ..solvers.status import Ended, Status
from ..solvers.stream.class_learner import BY_REWARD, ClassLearner
from ..solvers.stream.learner import Learner
from ..solvers.stream.merged import MergedLearner
from ..solvers.stream.mini_batch import MiniBatchLearner
from ..solvers.stream.problem import BY_NAME, REWARDS, Problem, check_problem
from ..statistics.frontier import Frontier
from ._path_features import KernelColumns, KernelFeatures, LinearFeatures
from ._stream_problem import AnyLearner, new_learner

# The least double above 0; shares; what the core takes as an int.
POSITIVE = Number(5e-324, LARGEST)
SHARE = Number(0.0, 1.0)
SMALL_COUNT = Number(0, 2**31 - 1, whole=True)
VECTOR = Array("f8", "w")


def frozen(kind: type, fields: Fields, sound: Callable[[Any], None] = lambda made: None) -> Description:
    """Of a dataclass: its fields."""

    def state_of(value: Any) -> dict[str, Any]:
        return {name: getattr(value, name) for name in fields}

    def make(state: dict[str, Any]) -> Any:
        check_fields(fields, state)
        made = kind(**state)
        sound(made)
        return made

    return Description(kind.__name__, kind, state_of, make)


# -- streams ----------------------------------------------------------------------------------------------------
def _learner_state(learner: AnyLearner) -> dict[str, Any]:
    return {"problem": learner.problem, "n_features": learner.n_features, "state": learner.save()}


def _make_learner(state: dict[str, Any]) -> AnyLearner:
    check_fields({"problem": Is(Problem), "n_features": Number(1, 2**62, whole=True), "state": Is(bytes)}, state)
    # A weight for every feature is in the state: no memory is taken for features that are not there.
    fits(8 * state["n_features"] <= len(state["state"]), "the number of features and the state of a learner")
    fits(not state["problem"].measure.is_lifted, "the measure and the classes")
    check_problem(state["problem"])
    learner = new_learner(state["problem"], state["n_features"])
    learner.load(state["state"])
    return learner


def _make_merged_learner(state: dict[str, Any]) -> MergedLearner:
    check_fields({"problem": Is(Problem), "n_features": Number(1, 2**62, whole=True), "state": Is(bytes)}, state)
    fits(not state["problem"].measure.is_lifted, "the measure and the classes")
    check_problem(state["problem"])
    learner = MergedLearner(state["problem"], state["n_features"])
    learner.load(state["state"])
    return learner


def _class_learner_state(learner: ClassLearner) -> dict[str, Any]:
    return {**_learner_state(learner), "classes": np.asarray(learner.classes)}


def _make_class_learner(state: dict[str, Any]) -> ClassLearner:
    fields: Fields = {
        "problem": Is(Problem), "n_features": Number(1, 2**62, whole=True), "state": Is(bytes), "classes": Labels("k"),
    }  # fmt: skip
    check_fields(fields, state)
    fits(8 * state["n_features"] <= len(state["state"]), "the number of features and the state of a learner")
    problem = state["problem"]
    fits(problem.measure.is_lifted and problem.reward in BY_REWARD, "the measure and the classes")
    learner = ClassLearner(problem, state["n_features"], tuple(state["classes"].tolist()))
    learner.load(state["state"])
    return learner


# As the dataclasses in `solvers.stream.problem` have them; whole numbers up to what the core can hold.
_OPTIONS: dict[str, Fields] = {
    "scan": {"epoch": Maybe(Number(1, 2**62, whole=True)), "growth": Number(1.0, LARGEST)},
    "neyman-pearson": {"gain": Maybe(POSITIVE), "width": POSITIVE, "balanced": FLAG},
    "1pmb": {"buffer": Number(2, 2**31, whole=True), "passes": Number(1, 2**31, whole=True)},
}
_PROBLEM: Fields = {
    "measure": Is(Measure), "constraint": Maybe(Is(Constraint)), "solver": Is(*BY_NAME.values()),
    "reward": Text(REWARDS), "counts": FLAG, "guard": FLAG, "eta0": Maybe(POSITIVE), "alpha": Number(0.0, LARGEST),
    "radius": Maybe(POSITIVE), "average": FLAG, "refresh": Number(1, 2**31 - 1, whole=True), "fit_intercept": FLAG,
    "seed": Number(0, 2**63 - 1, whole=True),
}  # fmt: skip
STREAM = (
    *(frozen(kind, _OPTIONS.get(name, {})) for name, kind in BY_NAME.items()),
    frozen(Problem, _PROBLEM),
    Description("StreamLearner", Learner, _learner_state, _make_learner),
    Description("MiniBatchLearner", MiniBatchLearner, _learner_state, _make_learner),
    Description("MergedLearner", MergedLearner, _learner_state, _make_merged_learner),
    Description("ClassLearner", ClassLearner, _class_learner_state, _make_class_learner),
)


# -- paths ------------------------------------------------------------------------------------------------------
def _make_kernel(state: dict[str, Any]) -> PathKernel:
    fields: Fields = {
        "name": Text(KERNELS), "gamma": POSITIVE, "coef0": FINITE, "degree": SMALL_COUNT, "constant": Number(0.0, 1.0),
    }  # fmt: skip
    check_fields(fields, state)
    return PathKernel(**state, cache_bytes=CACHE)


def _kernel_state(kernel: PathKernel) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(kernel).items() if name != "cache_bytes"}


# As the dataclass has them, but for `kernel.cache_bytes`, which says nothing of the path.
_PATH_PROBLEM: Fields = {
    "rows": Is(Rows), "sign": Array("f8", "n", low=-1, high=1), "target": Array("f8", "n"), "box": Array("f8", "n", 4),
    "unit": POSITIVE, "kernel": Maybe(Is(PathKernel)), "kept": Array("i8", "n", low=0),
}  # fmt: skip


def _sound_problem(problem: PathProblem) -> None:
    rows = problem.rows
    fits(rows.n_rows == len(problem.sign) > 0 and np.all(np.abs(problem.sign) == 1.0), "the rows and labels of a path")
    if problem.kernel is not None:
        fits(rows.constant == 0.0, "a kernel and a constant column")
        if problem.kernel.name == "precomputed":
            fits(rows.source.shape[0] == rows.source.shape[1], "the rows and columns of a kernel matrix")


def _make_log(state: dict[str, Any]) -> PathLog:
    check_fields({"parts": Is(tuple)}, state)
    log = PathLog.__new__(PathLog)
    log.__setstate__(state["parts"])  # which checks all of it
    return log


def _sound_exact(path: ExactPath) -> None:
    legs = path.legs
    fits(all(a.end <= b.start for a, b in itertools.pairwise(legs)), "the order of a path's legs")
    fits(path.problem.kernel is None or len(legs) == 1, "a kernel and a path in legs")
    ends = np.array([tau for leg in legs for tau in (leg.start, leg.end)])
    models = path.models(ends)  # the core looks whether the logs are of these rows
    fits(np.isfinite(models).all() and models.shape[1] == path.problem.model_size, "the events and rows of a path")


def _sound_approximate(path: ApproximatePath) -> None:
    fits(len(path.tau) > 0 and np.all(np.diff(path.tau) >= 0.0), "the knots of a path")


# tau is a share, and a gap is not negative.
PATHS = (
    Description("PathKernel", PathKernel, _kernel_state, _make_kernel),
    frozen(PathProblem, _PATH_PROBLEM, _sound_problem),
    Description("PathLog", PathLog, lambda log: {"parts": tuple(log.__getstate__())}, _make_log),
    frozen(
        ExactPath,
        {"problem": Is(PathProblem), "log": Is(PathLog), "until": SHARE, "further": IfThere(Each(Is(PathLog)))},
        _sound_exact,
    ),
    frozen(
        ApproximatePath,
        {"tau": Array("f8", "k", low=0, high=1), "w": Array("f8", "k", "w"), "gap": Number(0.0, nan=True),
         "tol": SHARE, "n_passes": Number(0.0, LARGEST), "status": Is(Status)},
        _sound_approximate,
    ),
    frozen(JoinedPath, {"first": Is(ExactPath), "rest": Is(ApproximatePath)}),
)  # fmt: skip


# -- features ---------------------------------------------------------------------------------------------------
def _make_linear(state: dict[str, Any]) -> LinearFeatures:
    check_fields({"constant": FLAG}, state)
    return LinearFeatures(**state)


def _make_columns(state: dict[str, Any]) -> KernelColumns:
    check_fields(
        {"kernel": Is(PathKernel), "vectors": Maybe(Is(Rows)), "columns": Maybe(Array("i8", "n", low=0))}, state
    )
    made = KernelColumns(state["kernel"], state.get("vectors"), state.get("columns"))
    precomputed = made.kernel.name == "precomputed"
    fits(made.kernel.name != "linear" and (made.columns is None) != precomputed, "a kernel and its vectors")
    fits((made.vectors is None) == precomputed, "a kernel and its vectors")
    return made


# The parameters of the constructor, and what `fit` adds to them.
_KERNEL_FEATURES: Fields = {
    "kernel": Text(KERNELS), "params": ByName(FINITE), "constant": FLAG, "pivots_": Array("i8", "r", low=0),
    "landmarks_": Maybe(Table("r", "d")), "triangle_": Array("f8", "r", "r"),
}  # fmt: skip
_TAKES = {"rbf": {"gamma"}, "poly": {"gamma", "degree", "coef0"}}


def _make_features(state: dict[str, Any]) -> KernelFeatures:
    check_fields(_KERNEL_FEATURES, state)
    made = KernelFeatures(state["kernel"], state["params"], state["constant"])
    fits(set(made.params) == _TAKES.get(made.kernel, set()), "a kernel and its parameters")
    fits((state["landmarks_"] is None) == (made.kernel == "precomputed"), "a kernel and its landmarks")
    fits(np.all(np.diagonal(state["triangle_"]) != 0.0), "the landmarks of a kernel")
    made.pivots_, made.landmarks_, made.triangle_ = state["pivots_"], state["landmarks_"], state["triangle_"]
    return made


FEATURES = (
    Description("LinearFeatures", LinearFeatures, lambda made: {"constant": made.constant}, _make_linear),
    Description(
        "KernelColumns", KernelColumns,
        lambda made: {"kernel": made.kernel, "vectors": made.vectors, "columns": made.columns}, _make_columns,
    ),
    Description(
        "KernelFeatures", KernelFeatures,
        lambda made: {name: getattr(made, name) for name in _KERNEL_FEATURES}, _make_features,
    ),
)  # fmt: skip


# -- scores -----------------------------------------------------------------------------------------------------
def _sound_expansion(made: KernelExpansion) -> None:
    fits(made.function.name in ("rbf", "poly"), "a kernel and its vectors")


def _sound_match(made: MatchScore) -> None:
    columns = len(made.w) if made.features is None else made.features.points.shape[1]
    fits(not isinstance(made.bounds, Soft) or len(made.bounds.centre) == columns, "bounds and columns")
    if made.features is not None:
        fits(len(made.w) == sum(made.features.points.shape[1:] + made.features.whiten.shape[1:]), "landmarks and w")


def _make_status(state: dict[str, Any]) -> Status:
    check_fields({"ended": Number(0, len(Ended) - 1, whole=True), "where": Text()}, state)
    return Status.of(state["ended"], state["where"])


SCORES = (
    frozen(LinearScore, {"w": VECTOR, "bias": REAL}),
    frozen(KernelFunction, {"name": Text(KERNELS), "gamma": POSITIVE, "degree": SMALL_COUNT, "coef0": FINITE}),
    frozen(
        KernelExpansion,
        {"vectors": Table("s", "d"), "coef": Array("f8", "s"), "bias": REAL, "function": Is(KernelFunction)},
        _sound_expansion,
    ),
    frozen(Landmarks, {"points": Array("f8", "m", "d"), "whiten": Array("f8", "m", "r"), "gamma": POSITIVE}),
    # No threshold is low enough where no target may be accepted: the intercept is then minus infinity.
    frozen(Soft, {"centre": Array("f8", "d"), "reach": Array("f8", "d", low=5e-324)}),
    frozen(
        MatchScore,
        {"w": VECTOR, "intercept": Number(real=True), "features": Maybe(Is(Landmarks)),
         "bounds": IfThere(Maybe(Is(Soft)))},
        _sound_match,
    ),
    Description("Status", Status, lambda made: {"ended": int(made.ended), "where": made.where}, _make_status),
    frozen(
        Frontier,
        {"thresholds": Array("f8", "n"), "tpr": Array("f8", "n", low=0, high=1), "tnr": Array("f8", "n", low=0, high=1),
         "prevalence": SHARE, "n_rows": COUNT},
    ),
)  # fmt: skip
PARTS = (*STREAM, *PATHS, *FEATURES, *SCORES)
