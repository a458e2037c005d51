"""An estimator around a classifier, which checks X itself: what goes in with a fit, and what shows on the outside."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from ._binary import BinaryMixin
from ._users import Classifier


@dataclass(frozen=True)
class FitParameters:
    """What was given along with X and y, by where it goes."""

    model: dict[str, Any]
    splitter: dict[str, Any]


def route_fit(
    owner: BaseEstimator, name: str, model: Classifier, sample_weight: Any, params: dict[str, Any], only_for: str
) -> FitParameters:
    """`sample_weight` and others go to the model's fit, `groups` to the splitter; with metadata routing enabled, all
    where requested. `name` is the owner's parameter that holds the model, `only_for` what weights do in any case."""
    if get_config()["enable_metadata_routing"]:
        given = params if sample_weight is None else {"sample_weight": sample_weight, **params}
        routed = process_routing(owner, "fit", **given)
        return FitParameters(dict(routed[name].fit), dict(routed["splitter"].split) if "splitter" in routed else {})
    fit = dict(params)
    split = {"groups": fit.pop("groups")} if "groups" in fit else {}
    if sample_weight is not None and has_fit_parameter(model, "sample_weight"):
        fit["sample_weight"] = sample_weight
    elif sample_weight is not None:
        warnings.warn(
            f"{type(model).__name__}.fit takes no sample_weight: the weights are used for {only_for} only", stacklevel=3
        )
    return FitParameters(fit, split)


def router_of(owner: BaseEstimator, name: str, model: Classifier, cv: Any) -> MetadataRouter:
    """Metadata routing to a model and to the splitter, if `cv` is one."""
    router = MetadataRouter(owner=type(owner).__name__).add_self_request(owner)
    router.add(**{name: model}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    if hasattr(cv, "split"):
        router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    return router


def show_features(owner: BaseEstimator, model: Classifier) -> None:
    """Take over what a fitted model knows of its columns."""
    for attribute in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, attribute):
            setattr(owner, attribute, getattr(model, attribute))
        elif hasattr(owner, attribute):
            delattr(owner, attribute)


class WrapperMixin(BinaryMixin, MetaEstimatorMixin):
    """For classifiers with a parameter `estimator`, logistic regression if None, and its fitted ``estimator_``."""

    estimator: Any

    def _inner(self) -> Classifier:
        inner: Classifier = LogisticRegression() if self.estimator is None else self.estimator
        return inner

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._inner())
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags
