"""Who takes part: models that everybody has, as they come and with our threshold, and those trained for the measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from ..estimators.measure_classifier import MeasureClassifier
from ..estimators.online import OnlineClassifier
from ..estimators.threshold import ThresholdClassifier
from ..measures import Measure
from ..measures.constraints import Constraint, as_constraints

HELD_OUT = 0.3  # of the rows, for a promise: as in the docs of `delta`
OURS = ", our threshold"  # after the name of the model that it is set for


@dataclass(frozen=True)
class Task:
    """What is asked of every contender."""

    measure: Measure
    constraints: tuple[Constraint, ...] = ()
    delta: float | None = None
    pos_label: Any = None
    random_state: Any = 0

    @property
    def goal(self) -> dict[str, Any]:
        """As our estimators take it."""
        asked: dict[str, Any] = {"subject_to": list(self.constraints) or None, "random_state": self.random_state}
        if not self.measure.is_lifted:
            asked["pos_label"] = self.pos_label
        return asked

    @property
    def promised(self) -> dict[str, Any]:
        """`goal`, and the promise for those that make one."""
        return self.goal | ({} if self.delta is None else {"delta": self.delta, "cv": HELD_OUT})


def automatic(task: Task, prepare: Any) -> dict[str, Any]:
    """The contenders that are always there, by name.

    Class weights move the scores of a forest or of boosted trees, and hardly their order: with a threshold that is
    set exactly they would be the same contender at six times the price of one fit, and stand as they come only.
    """
    seed = task.random_state
    plain = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "logistic regression, balanced": LogisticRegression(max_iter=1000, class_weight="balanced"),
        "boosted trees": HistGradientBoostingClassifier(random_state=seed),
        "boosted trees, balanced": HistGradientBoostingClassifier(class_weight="balanced", random_state=seed),
        "forest": RandomForestClassifier(random_state=seed),
        "forest, balanced": RandomForestClassifier(class_weight="balanced", random_state=seed),
    }
    models = {name: make_pipeline(clone(prepare), model) for name, model in plain.items()}
    for name in ("logistic regression", "logistic regression, balanced", "boosted trees", "forest"):
        models[name + OURS] = ThresholdClassifier(clone(models[name]), task.measure, **task.promised)
    trained = {"linear, trained for the measure": MeasureClassifier(task.measure, **task.promised)}
    if task.delta is None:  # a stream promises nothing
        trained["one pass (stream)"] = OnlineClassifier(task.measure, **task.goal)
    for name, model in trained.items():
        if not task.measure.is_lifted or get_tags(model).classifier_tags.multi_class:
            models[name] = make_pipeline(clone(prepare), model)
    return models


def with_and_without(models: dict[str, Any], given: Any) -> dict[str, str]:
    """Those with our threshold that stands here because of one without, and which one that is."""
    return {
        name: name.removesuffix(OURS)
        for name in models
        if name.endswith(OURS) and name.removesuffix(OURS) in models and name not in given
    }


def last_step(model: Any) -> Any:
    """The classifier at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def is_set_for(model: Any, task: Task) -> bool:
    """Whether it is trained, or its threshold set, for this measure."""
    return bool(getattr(last_step(model), "measure", None) == task.measure)


def promises(model: Any, task: Task) -> bool:
    """Whether its fit holds rows out and promises these constraints; what it is called says nothing about that."""
    last = last_step(model)
    if task.delta is None or not isinstance(last, (ThresholdClassifier, MeasureClassifier)):
        return False
    return last.delta is not None and last.delta <= task.delta and as_constraints(last.subject_to) == task.constraints


def added(given: Mapping[str, Any], task: Task, prepare: Any) -> dict[str, Any]:
    """The user's own, each as it comes and, unless it has a measure of its own, with our threshold. A pipeline reads
    the table itself; before all others stands the same preparation as before ours."""
    models: dict[str, Any] = {}
    for name, model in given.items():
        if not hasattr(model, "fit") or not hasattr(model, "predict"):
            raise TypeError(f"contender {name!r} is no classifier: {model!r} has no fit and predict")
        whole = isinstance(model, Pipeline) or hasattr(getattr(model, "estimator", None), "steps")
        models[str(name)] = clone(model) if whole else make_pipeline(clone(prepare), clone(model))
        last = last_step(model)
        scores = hasattr(last, "predict_proba") or hasattr(last, "decision_function")
        if scores and not hasattr(last, "measure"):
            models[str(name) + OURS] = ThresholdClassifier(clone(models[str(name)]), task.measure, **task.promised)
    return models
