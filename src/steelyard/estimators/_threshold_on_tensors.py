"""`ThresholdClassifier` on rows in a tensor: the classifier gets parts of the tensor, and the scan runs where it is.

The classifier may be any that takes tensors (those of this library do) or gives scores as arrays. Folds take the rows
of each class as they come, a share is drawn. Of up to `HOST_ROWS` scored rows the scores are read in memory, with all
rules; of more every threshold is tried on the device, and rows are many enough for the exact best point. A promise is
made in memory, by the scores of the rows that promise.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ..measures.constraints import Constraint
from ..statistics import frontier
from ..statistics.frontier import Choice, Frontier
from ..statistics.promises.counts import Scored
from ..statistics.promises.promise import asked_of, keep
from ._border import as_before
from ._on_tensors import HOST_ROWS, TensorLabels, check_weight, host, positive_scores
from ._promised import refuse_refit
from ._scored_rows import ScoredRows
from ._splits import WHAT, Splits
from ._wrapper import show_features

Tensor = Any


def fit(wrapper: Any, X: Any, y: Any, sample_weight: Any, constraints: tuple[Constraint, ...]) -> None:
    """Fits the classifier on tensors and sets the threshold."""
    import torch

    labels = TensorLabels.of(y, wrapper.pos_label, X.device, len(X))
    weight = check_weight(sample_weight, labels.is_positive)
    y = torch.as_tensor(y, device=X.device)
    estimator = wrapper._inner()
    prefit = isinstance(estimator, FrozenEstimator) or (isinstance(wrapper.cv, str) and wrapper.cv == "prefit")
    shared = isinstance(wrapper.cv, numbers.Real) and not isinstance(wrapper.cv, numbers.Integral)
    if wrapper.measure.is_lifted:
        raise ValueError(f"{wrapper.measure!r} is about several classes; on tensors there are two")
    asked = asked_of(constraints, wrapper.measure, wrapper.delta, weight)
    if asked is not None and not (prefit or shared):
        refuse_refit(wrapper.cv)
    if prefit:
        check_is_fitted(estimator)
        model, tested = estimator, torch.arange(len(X), device=X.device)
        scores = positive_scores(model, X, wrapper.response_method, labels.positive)
    else:
        model, scores, tested = _left_out(wrapper, estimator, X, y, labels, weight)
    scored = scores, labels.is_positive[tested], None if weight is None else weight[tested]
    promise = None
    if asked is None:
        found, choice = _choose(wrapper, scored, constraints, prefit)
    else:
        rows = Scored(host(scored[0]).astype("float64"), host(scored[1]), None)
        found = frontier.scan(rows.scores, rows.is_positive)
        promise, choice = keep(rows, None, asked)
    with as_before(wrapper):
        wrapper.__dict__.pop("offsets_", None)
        wrapper._take_labels(labels)
        wrapper.promise_ = promise
        wrapper.estimator_, wrapper.frontier_ = model, found
        wrapper.best_threshold_, wrapper.best_score_ = choice.threshold, choice.value
        show_features(wrapper, model)


def _left_out(
    wrapper: Any, estimator: Any, X: Tensor, y: Tensor, labels: TensorLabels, weight: Tensor | None
) -> tuple[Any, Tensor, Tensor]:
    """The final model, the scores of the rows left out, and which rows these are."""
    import torch

    def fitted(which: Any) -> Any:
        params = {} if weight is None else {"sample_weight": weight[which]}
        return clone(estimator).fit(X[which], y[which], **params)

    scores, tested, model = [], [], None
    for is_test in _folds(wrapper.cv, labels.is_positive, wrapper.random_state):
        test = is_test.nonzero()[:, 0]
        model = fitted((~is_test).nonzero()[:, 0])
        scores.append(positive_scores(model, X[test], wrapper.response_method, labels.positive))
        tested.append(test)
    model = model if len(scores) == 1 else fitted(slice(None))
    return model, torch.cat(scores), torch.cat(tested)


def _folds(cv: Any, is_positive: Tensor, random_state: Any) -> Iterator[Tensor]:
    """Masks of the rows left out."""
    import torch

    counts = [int((is_positive == side).sum()) for side in (False, True)]
    share = isinstance(cv, numbers.Real) and not isinstance(cv, numbers.Integral) and 0.0 < float(cv) < 1.0
    if not share and not (isinstance(cv, numbers.Integral) and 2 <= int(cv) <= min(counts)):
        raise ValueError(f"{WHAT}; on tensors it is no splitter, and no class has fewer rows than folds; got {cv!r}")
    rank = torch.where(is_positive, is_positive.cumsum(0), (~is_positive).cumsum(0)) - 1
    of_class = torch.where(is_positive, counts[1], counts[0])
    if share:
        seed = random_state if isinstance(random_state, numbers.Integral) else 0
        random = torch.Generator(device=is_positive.device).manual_seed(int(seed))
        yield torch.rand(len(is_positive), generator=random, device=is_positive.device) < float(cv)
        return
    fold = (rank * int(cv)).div(of_class, rounding_mode="floor")
    for k in range(int(cv)):
        yield fold == k


def _choose(
    wrapper: Any, scored: tuple[Tensor, Tensor, Tensor | None], constraints: tuple[Constraint, ...], prefit: bool
) -> tuple[Frontier, Choice]:
    scores, is_positive, weight = scored
    if len(scores) <= HOST_ROWS:
        rows = ScoredRows(host(scores).astype("float64"), host(is_positive), None if weight is None else host(weight))
        found = frontier.scan(rows.scores, rows.is_positive, rows.weight)
        splits = Splits(()) if prefit else Splits(((None, None),))  # type: ignore[arg-type]
        return found, wrapper._choose(found, rows, constraints, wrapper._rule(constraints, splits))
    from ..tensors import frontier as on_device

    if wrapper.rule not in ("auto", "exact"):
        raise ValueError(
            f"rule={wrapper.rule!r} is for few rows; of {len(scores)} on a tensor the best point is 'exact'"
        )
    points = on_device.scan(scores, is_positive, weight)
    return points.thinned(), points.best(wrapper.measure, constraints)
