"""What a file holds of every estimator here: its parameters, and the fitted attributes that are listed below.

An attribute that `fit` sets and that is not listed is noticed when the estimator is saved, by every test that saves
one. Estimators of scikit-learn that only hold others (a `Pipeline`, a `FrozenEstimator`, `OneVsRestClassifier`) are
described too, so that ours may stand in them; all others are left to skops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline

from ..files.errors import ModelFileError
from ..files.kinds import (
    ANYTHING,
    COLUMNS,
    COUNT,
    FINITE,
    FLAG,
    REAL,
    Array,
    ByName,
    Each,
    Fields,
    Having,
    IfThere,
    Is,
    Labels,
    Maybe,
    Names,
    Number,
    Text,
    check_fields,
    fits,
)
from ..files.values import Description
from ..rows import Rows
from ..solvers.decoys.q_value import MatchScore
from ..solvers.kernel.expansion import KernelExpansion, LinearScore
from ..solvers.path.approximate import ApproximatePath
from ..solvers.path.exact import ExactPath
from ..solvers.path.joined import JoinedPath
from ..solvers.path.problem import ModelPath
from ..solvers.status import Status
from ..solvers.stream.class_learner import ClassLearner
from ..solvers.stream.learner import Learner
from ..solvers.stream.merged import MergedLearner
from ..solvers.stream.mini_batch import MiniBatchLearner
from ..solvers.stream.problem import BY_NAME
from ..statistics.frontier import Frontier
from ..statistics.promises.promise import Promise
from ._path_features import KernelColumns, KernelFeatures, LinearFeatures
from ._saved_parts import PARTS
from ._saved_promises import PROMISES
from ._table import TableColumns
from .cost_path import CostClassifier, CostPath
from .expected_fbeta import ExpectedFBetaClassifier
from .measure_classifier import MeasureClassifier
from .neyman_pearson import NeymanPearsonClassifier
from .online import OnlineClassifier
from .q_value import QValueClassifier
from .quantile_path import QuantileModel, QuantilePath
from .structural import StructuralSVM
from .threshold import ThresholdClassifier
from .watch import Alarm, Watch, Watched

FORGOTTEN = {"_metadata_request", "_sklearn_output_config"}  # what scikit-learn keeps of how it was asked to behave


def estimator(kind: type, fitted: Fields, sound: Callable[[Any], None] = lambda model: None) -> Description:
    """Parameters as the constructor takes them, and either no fitted attribute or all that are listed."""

    def state_of(model: Any) -> dict[str, Any]:
        parameters = model.get_params(deep=False)
        held = {name: value for name, value in vars(model).items() if name not in {*parameters, *FORGOTTEN}}
        strange = sorted(set(held) - set(fitted))
        if strange:
            raise ModelFileError(
                f"this {kind.__name__} has the attribute {strange[0]!r}, for which there is no place in a file: delete "
                "it, and save again"
            )
        return {"parameters": parameters, "fitted": held}

    def make(state: dict[str, Any]) -> Any:
        check_fields({"parameters": ByName(ANYTHING), "fitted": ByName(ANYTHING)}, state)
        model = kind(**state["parameters"])
        held = state["fitted"]
        if held:
            if hasattr(model, "_check_parameters"):
                model._check_parameters()
            check_fields(fitted, held)
            vars(model).update(held)
            if "_positive" in held:
                fits(held["_positive"] in held["classes_"].tolist(), "the positive label and the classes")
        if held or not fitted:  # those without a table of their own hold others as parameters
            sound(model)
        return model

    return Description(kind.__name__, kind, state_of, make)


# -- attributes that many have ------------------------------------------------------------------------------------
SEEN: Fields = {"n_features_in_": COLUMNS, "feature_names_in_": IfThere(Names())}
SEEN_BY_MODEL: Fields = {"n_features_in_": IfThere(COLUMNS), "feature_names_in_": IfThere(Names())}
BINARY: Fields = {"classes_": Labels(2), "_positive": ANYTHING}
LINEAR: Fields = {**SEEN, **BINARY, "coef_": Array("f8", 1, "d"), "intercept_": Array("f8", 1)}
CLASSIFIER = Having("predict", "classes_")
ANY_NUMBER = Number(nan=True)
PROMISE = Maybe(Is(Promise))
ANY_OFFSET = Array("f8", 1, low=-np.inf, high=np.inf)  # infinite where nothing may be called positive
MODEL_PATH = Is(ExactPath, ApproximatePath, JoinedPath)
MODEL_FEATURES = Is(LinearFeatures, KernelColumns, KernelFeatures)


# -- paths ------------------------------------------------------------------------------------------------------
def _columns_of(features: Any, d: int) -> int:
    """How many numbers a model on these features has; d is the number of columns of X."""
    if isinstance(features, LinearFeatures):
        return d + features.constant
    if isinstance(features, KernelColumns):
        if features.columns is not None:
            fits(np.all(features.columns < d), "the columns of a kernel matrix and X")
            return len(features.columns)
        fits(features.vectors is not None and features.vectors.n_cols == d, "the vectors of a kernel and X")
        return features._n_columns()
    if features.landmarks_ is None:
        fits(np.all(features.pivots_ < d), "the columns of a kernel matrix and X")
    else:
        fits(features.landmarks_.shape[1] == d, "the vectors of a kernel and X")
    return len(features.triangle_) + bool(features.constant)


def _size_of(path: ModelPath) -> int:
    if isinstance(path, JoinedPath):
        fits(_size_of(path.first) == _size_of(path.rest), "the parts of a path")
        return _size_of(path.rest)
    return int(path.w.shape[1]) if isinstance(path, ApproximatePath) else path.problem.model_size  # type: ignore[attr-defined]


def _sound_path(model: Any) -> None:
    path, d = model._path, model.n_features_in_
    fits(_columns_of(model._features, d) == _size_of(path), "the features and the models of a path")
    fits(model.tau_range_ == (path.start, path.end), "the range of tau and a path")
    fits(isinstance(model._features, LinearFeatures) == (model.kernel == "linear"), "the kernel and the features")
    if isinstance(model._features, LinearFeatures):
        fits(model._features.constant == bool(model.fit_intercept), "the intercept and the features")


def _sound_cost_path(model: Any) -> None:
    _sound_path(model)
    fits(model._train.n_cols == model.n_features_in_, "the training rows and the number of columns")


def _sound_point(model: Any) -> None:
    fits(_columns_of(model._features, model.n_features_in_) == len(model._w), "the features and a model")


# Of a whole path, and of the model at one tau.
PATH: Fields = {
    **SEEN, "_path": MODEL_PATH, "_features": MODEL_FEATURES, "kinks_": Array("f8", "k", low=0, high=1),
    "tau_range_": Each(Number(0.0, 1.0), 2), "n_iter_": COUNT,
}  # fmt: skip
POINT: Fields = {**SEEN, "_features": MODEL_FEATURES, "_w": Array("f8", "w")}
PATHS = (
    estimator(
        CostPath,
        {**PATH, **BINARY, "method_": Text(("exact", "approximate")), "gap_": Number(0.0, nan=True),
         "_train": Is(Rows), "_recrossing": Maybe(Number(0.0, 1.0)), "_sample_size": Number(1.0)},
        _sound_cost_path,
    ),
    estimator(QuantilePath, {**PATH, "_middle": REAL}, _sound_path),
    estimator(
        CostClassifier,
        {**POINT, **BINARY, "coef_": IfThere(Array("f8", 1, "d")), "intercept_": IfThere(Array("f8", 1))},
        _sound_point,
    ),
    estimator(
        QuantileModel,
        {**POINT, "_middle": REAL, "coef_": IfThere(Array("f8", "d")), "intercept_": IfThere(FINITE)},
        _sound_point,
    ),
)  # fmt: skip


# -- linear and kernel models -----------------------------------------------------------------------------------
def _sound_measure(model: Any) -> None:
    """Costs and a frontier for two classes under a measure of them, weights for any number under a lifted one."""
    several = hasattr(model, "class_weights_")
    fits(several == model.measure.is_lifted, "the measure and the classes")
    held = {"costs_", "frontier_"} & vars(model).keys()
    fits(not held if several else len(held) == 2 and len(model.classes_) == 2, "the model and the classes")
    _sound_rows(model)


def _sound_rows(model: Any) -> None:
    k = len(model.classes_)
    fits(hasattr(model, "_positive") == (k == 2), "the positive label and the classes")
    fits(k >= 2 and len(model.coef_) == (1 if k == 2 else k), "the models and the classes")


def _sound_online(model: Any) -> None:
    learner = model._learner
    fits(learner.n_features == model.n_features_in_, "the learner and the number of columns")
    fits(isinstance(learner.problem.solver, BY_NAME[model.solver_]), "the learner and the solver")
    k = len(model.classes_)
    fits(k >= 2 and hasattr(model, "_positive") == (k == 2), "the positive label and the classes")
    if isinstance(learner, ClassLearner):
        fits(list(learner.classes) == model.classes_.tolist(), "the learner and the classes")
    else:
        fits(k == 2, "the learner and the classes")


def _sound_neyman_pearson(model: Any) -> None:
    score = model._score
    width = len(score.w) if isinstance(score, LinearScore) else score.vectors.shape[1]
    fits(width == model.n_features_in_, "the score and the number of columns")
    fits(hasattr(model, "training_decoys_") == hasattr(model, "_fit_scores"), "the training decoys and their scores")


def _sound_q_value(model: Any) -> None:
    features = model._model.features
    width = len(model._model.w) if features is None else features.points.shape[1]
    fits(width == model.n_features_in_, "the score and the number of columns")


# Numbers that are only reported may be anything, also NaN, as they are where there is nothing to report.
LINEAR_MODELS = (
    estimator(
        MeasureClassifier,
        {**SEEN, "classes_": Labels("k"), "_positive": IfThere(ANYTHING), "coef_": Array("f8", "m", "d"),
         "intercept_": Array("f8", "m"), "C_": ANY_NUMBER, "loss_": Text(), "costs_": IfThere(Each(ANY_NUMBER, 2)),
         "gap_": ANY_NUMBER, "n_iter_": COUNT, "best_score_": ANY_NUMBER, "frontier_": IfThere(Is(Frontier)),
         "levels_": IfThere(Array("f8", "l")), "promise_": IfThere(PROMISE),
         "class_weights_": IfThere(Array("f8", "k", low=0))},
        _sound_measure,
    ),
    estimator(
        OnlineClassifier,
        {**SEEN, "classes_": Labels("k"), "_positive": IfThere(ANYTHING),
         "_learner": Is(Learner, MiniBatchLearner, ClassLearner, MergedLearner), "solver_": Text(tuple(BY_NAME)),
         "n_iter_": COUNT, "_scales_seen": FLAG},
        _sound_online,
    ),
    estimator(
        StructuralSVM,
        {**LINEAR, "objective_": ANY_NUMBER, "gap_": ANY_NUMBER, "n_iter_": COUNT, "search_": Text(),
         "status_": Is(Status)},
    ),
    estimator(
        NeymanPearsonClassifier,
        {**SEEN, **BINARY, "_score": Is(LinearScore, KernelExpansion), "_threshold": Number(real=True),
         "C_": Maybe(FINITE), "gamma_": Maybe(FINITE), "solver_": Text(), "n_iter_": COUNT, "intercept_": ANY_OFFSET,
         "support_": IfThere(Array("i8", "s", low=0)), "dual_coef_": IfThere(Array("f8", 1, "s")),
         "coef_": IfThere(Array("f8", 1, "d")), "multiplier_": ANY_NUMBER, "fpr_train_": ANY_NUMBER,
         "fpr_heldout_": ANY_NUMBER, "fpr_heldout_interval_": Each(ANY_NUMBER, 2), "promise_": IfThere(PROMISE)},
        _sound_neyman_pearson,
    ),
    estimator(
        QValueClassifier,
        {**SEEN, **BINARY, "_model": Is(MatchScore), "n_iter_": COUNT, "recipe_": Text(),
         "held_out_": ByName(ANY_NUMBER), "coef_": IfThere(Array("f8", 1, "d")), "intercept_": IfThere(ANY_OFFSET),
         "bounds_": IfThere(Array("f8", 2, "d")), "training_decoys_": IfThere(Array("b1", "n")),
         "_fit_scores": IfThere(Array("f8", "n"))},
        _sound_q_value,
    ),
)  # fmt: skip


# -- those around other classifiers -----------------------------------------------------------------------------
def _sound_pipeline(model: Any) -> None:
    """Steps by their names; no cache, which would be a folder of pickles wherever a file says."""
    fits(model.memory is None and type(model.steps) is list and model.steps, "the steps of a pipeline")
    for step in model.steps:
        fits(type(step) is tuple and len(step) == 2 and type(step[0]) is str, "the names and steps of a pipeline")
        fits(step[1] in (None, "passthrough") if not hasattr(step[1], "fit") else True, "the steps of a pipeline")
    for _, step in model.steps[:-1]:
        fits(not hasattr(step, "fit") or hasattr(step, "transform"), "the steps of a pipeline")


def _sound_table(model: Any) -> None:
    names = list(model.names)
    fits(all(type(name) is str for name in names) and set(model.categorical) <= set(names), "the columns of a table")


def _sound_frozen(model: Any) -> None:
    fits(hasattr(model.estimator, "predict"), "a frozen estimator and its model")


def _sound_threshold(model: Any) -> None:
    """One threshold for two classes, or one for each group of rows, or an offset for each of several classes, or a
    threshold for each of several labels."""
    by_group = hasattr(model, "groups_")
    of_two = {"_positive", "frontier_", "best_thresholds_" if by_group else "best_threshold_"}
    held = {"_positive", "frontier_", "best_threshold_", "best_thresholds_"} & vars(model).keys()
    several = hasattr(model, "offsets_") or hasattr(model, "label_thresholds_")
    fits(not (hasattr(model, "offsets_") and hasattr(model, "label_thresholds_")), "the classes and the labels")
    fits(not held if several else held == of_two and len(model.classes_) == 2, "the threshold and the classes")
    fits(several == model.measure.is_lifted, "the measure and the classes")


def _sound_watch(model: Any) -> None:
    fits(hasattr(model.estimator, "classes_") and hasattr(model.estimator, "_positive"), "a watch and its classifier")


WRAPPERS = (
    estimator(
        ThresholdClassifier,
        {**SEEN_BY_MODEL, "classes_": Labels("k"), "_positive": IfThere(ANYTHING), "estimator_": CLASSIFIER,
         "frontier_": IfThere(Is(Frontier)), "best_threshold_": IfThere(REAL), "best_score_": ANY_NUMBER,
         "promise_": IfThere(PROMISE), "offsets_": IfThere(Array("f8", "k")), "groups_": IfThere(Labels("g")),
         "best_thresholds_": IfThere(Array("f8", "g")), "label_thresholds_": IfThere(Array("f8", "k"))},
        _sound_threshold,
    ),
    estimator(Watch, {"_watched": Each(Is(Watched)), "_alarms": Each(Is(Alarm)), "_n_seen": COUNT}, _sound_watch),
    estimator(ExpectedFBetaClassifier, {**SEEN_BY_MODEL, **BINARY, "estimator_": CLASSIFIER}),
    estimator(TableColumns, {}, _sound_table),
    estimator(Pipeline, {}, _sound_pipeline),
    estimator(FrozenEstimator, {}, _sound_frozen),
    estimator(
        OneVsRestClassifier,
        {**SEEN_BY_MODEL, "estimators_": Each(Having("predict"), type=list), "label_binarizer_": Having("classes_"),
         "classes_": IfThere(Labels("k"))},
    ),
)  # fmt: skip
DESCRIPTIONS = (*PARTS, *PROMISES, *PATHS, *LINEAR_MODELS, *WRAPPERS)
