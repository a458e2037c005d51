"""Rows scored by models that were not fitted on them, a part at a time, and the final model; with one label a row or
several, and of two classes or more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from ._progress import Steps
from ._splits import Splits
from ._users import Classifier, RowNumbers

Scores = TypeVar("Scores")


def scored_in_turn(
    estimator: Classifier,
    fit: Callable[[Classifier, RowNumbers | None], Classifier],
    score: Callable[[Classifier, RowNumbers], Scores],
    splits: Splits,
    n_jobs: int | None,
    verbose: int,
) -> tuple[Classifier, list[Scores], list[RowNumbers]]:
    """The final model, the scores of every part that a model has not seen, and the rows of these parts.

    `fit` is to a part of the rows, or to all (None). The final model is that of the one part if `splits` holds out a
    share, and otherwise fitted on all rows.
    """

    def one(train: RowNumbers, test: RowNumbers) -> tuple[Classifier | None, Scores]:
        model = fit(clone(estimator), train)
        return model if splits.held_out else None, score(model, test)

    used = [(train, test) for train, test in splits.pairs if len(test)]
    found, name = list[tuple[Classifier | None, Scores]](), type(estimator).__name__
    how = {"return_as": "generator"} if verbose else {}  # as they come, for who watches
    with Steps(verbose, total=len(used) + (not splits.held_out)) as steps:
        for part in Parallel(n_jobs=n_jobs, **how)(delayed(one)(train, test) for train, test in used):
            found.append(part)
            steps.step(f"{name}, part {len(found)} of {len(used)} scored by a model of the others")
        model = found[0][0] if splits.held_out else fit(clone(estimator), None)
        if not splits.held_out:
            steps.step(f"{name} on all rows")
    assert model is not None
    return model, [scores for _, scores in found], [test for _, test in used]
