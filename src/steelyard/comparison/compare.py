"""`compare`: which model, and which door, for a measure on the user's own data.

given (X, y), a measure and constraints; returns the contenders by their measure on rows left out, and the best one
of those that keep the constraints, fitted on all rows.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from ..estimators._binary import Labels, say_positive
from ..estimators._border import check_form
from ..estimators._progress import Steps
from ..labels import plain_labels
from ..measures import Measure, measure_of
from ..measures.constraints import as_constraints
from ..statistics.promises.promise import asked_of
from ..statistics.reporting import Figure
from .contenders import Task, added, automatic, is_set_for, promises, with_and_without
from .judging import Contest, Judged, few_threads, figures, paired_error, take
from .preparing import preparation
from .result import BROKEN, KEPT, UNCLEAR, Comparison, Facts, Standing
from .saying import recommendation


def compare(
    X: Any,
    y: Any,
    measure: Any = "f1",
    subject_to: Any = None,
    delta: float | None = None,
    contenders: Any = "auto",
    cv: Any = 5,
    *,
    automatic: bool = True, groups: Any = None, pos_label: Any = None, confidence: float = 0.95,
    n_jobs: int | None = None, random_state: Any = 0, verbose: int = 0,
) -> Comparison:  # fmt: skip
    """Judge models and the doors of this library for a measure, all on the same rows left out.

    A data frame with categories and missing values gets a scikit-learn transformer in front (`preparation_`). The
    contenders are logistic regression, boosted trees and a forest, plain, balanced and with our threshold, the linear
    model trained for the measure, the stream's learner, and those of the dict `contenders` (alone with
    ``automatic=False``). The one that is recommended keeps `subject_to` on rows left out, or misses it by no more than
    noise; with `delta` it is one that promises it for unseen rows. `cv` is a number of folds, drawn by `random_state`,
    a splitter (which gets `groups`) or a list of splits; `confidence` is that of the intervals; `n_jobs` processes
    change nothing but the seconds. ``verbose=1`` shows who is tried, who is ahead and the time left.

    The measure is that of all rows left out together; a difference is paired, with a standard error corrected for
    training parts that overlap (Nadeau & Bengio 2003). Where the first few lead by noise, `cv` of scikit-learn's
    ``RepeatedStratifiedKFold`` leaves less to chance. The best of many is flattered by being chosen: keep rows apart
    for a figure to report. Ctrl-C ends it and leaves nothing behind.

    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import steelyard as sy
    >>> X, y = make_classification(2000, weights=[0.9], flip_y=0.1, class_sep=0.6, random_state=0)
    >>> found = sy.compare(X, y, "f1", contenders={"logistic": LogisticRegression()}, automatic=False)
    >>> found.best_name_, len(found.frame())
    ('logistic, our threshold', 2)
    """
    check_form(X)
    X, y = indexable(X, plain_labels(y))
    y = np.asarray(y).ravel()
    task, classes = _task(y, measure, subject_to, delta, pos_label, random_state)
    prepare = preparation(X)
    models = _contenders(contenders, automatic, task, prepare)
    splits = check_cv(cv, y, classifier=True)
    if isinstance(cv, int):
        splits.shuffle, splits.random_state = True, random_state
    folds = [(np.asarray(train), np.asarray(test)) for train, test in splits.split(X, y, groups)]
    plain_of = {} if task.delta is not None else with_and_without(models, contenders)
    with Steps(verbose, total=len(models) * len(folds) + 1) as steps:
        judged = _judge(Contest(models, X, y, folds, plain_of), classes, task, n_jobs, steps)
        facts = _facts(judged, models, classes, folds, task, confidence, prepare)
        with few_threads(len(y)):
            best = clone(models[facts.standings[facts.best].name]).fit(X, y)
        steps.step(f"{facts.standings[facts.best].name} on all rows")
    return Comparison(facts, best, recommendation(facts))


def _task(
    y: NDArray[Any], measure: Any, subject_to: Any, delta: float | None, pos_label: Any, random_state: Any
) -> tuple[Task, NDArray[Any]]:
    goal = measure_of(measure)
    constraints = as_constraints(subject_to)
    if goal.is_lifted:
        return Task(goal, constraints, delta, None, random_state), np.unique(y)
    labels = Labels.of(y, pos_label)
    say_positive(
        SimpleNamespace(measure=goal, subject_to=constraints, pos_label=pos_label), labels.classes, labels.positive
    )
    asked_of(constraints, goal, delta, None)  # refuses what nobody can promise, before anything is fitted
    return Task(goal, constraints, delta, labels.positive, random_state), labels.classes


def _contenders(given: Any, ours: bool, task: Task, prepare: Any) -> dict[str, Any]:
    extra = {} if isinstance(given, str) and given == "auto" else given
    if not isinstance(extra, dict):
        raise TypeError(f"contenders is 'auto' or a dict of names and classifiers; got {given!r}")
    models = automatic_of(task, prepare) if ours else {}
    twice = sorted(set(models) & set(extra))
    if twice:
        raise ValueError(f"there is a contender {twice[0]!r} already; give yours another name")
    models |= added(extra, task, prepare)
    if not models:
        raise ValueError("there is nobody to compare: automatic=False needs a dict of contenders")
    return models


automatic_of = automatic  # the parameter of `compare` has the same name


def _judge(
    contest: Contest, classes: NDArray[Any], task: Task, n_jobs: int | None, steps: Steps
) -> list[Judged]:  # fmt: skip
    y, folds = contest.y, contest.folds
    judged = {name: Judged.nothing_yet(name, y, len(classes)) for name in contest.models}
    steps.say(f"fold 1 of {len(folds)}")
    for turn in contest.turns(n_jobs):
        take(judged[turn.name], turn, y, classes, task)
        leader = max((one for one in judged.values() if one.values), key=_mean, default=None)
        ahead = "" if leader is None else f", ahead: {leader.name} {_mean(leader):.4f}"
        steps.step(f"fold {turn.fold + 1} of {len(folds)}, {turn.name}{ahead}")
    failed = [one for one in judged.values() if one.failure]
    if len(failed) == len(judged):
        raise ValueError(f"no contender could be fitted; {failed[0].name}: {failed[0].failure}")
    return list(judged.values())


def _mean(judged: Judged) -> float:
    return float(np.mean(judged.values))


def _facts(
    judged: list[Judged], models: dict[str, Any], classes: NDArray[Any], folds: list[Any], task: Task,
    confidence: float, prepare: Any,
) -> Facts:  # fmt: skip
    taking = [one for one in judged if not one.failure]
    rows = taking[0].is_judged
    measures: list[Measure] = [task.measure, *(constraint.left for constraint in task.constraints)]
    found = {}
    for one in taking:
        found[one.name] = figures(measures, one.table, classes, task, confidence)
    kept = {name: _kept(limits, task) for name, (_, *limits) in found.items()}
    promised = {name: promises(models[name], task) for name in found}
    ours = {name for name in found if is_set_for(models[name], task)}
    share = float(np.mean([len(test) / len(train) for train, test in folds]))
    by_name = {one.name: one for one in taking}
    eligible = _eligible(kept, promised)
    top = max(eligible, key=lambda name: found[name][0].value)
    best = _steady(top, ours, {name: by_name[name] for name in eligible}, found, share)
    standings = [
        Standing(
            name, value, value.value - found[best][0].value,
            paired_error(by_name[name].values, by_name[best].values, share), tuple(limits), kept[name], promised[name],
            by_name[name].seconds,
        )
        for name, (value, *limits) in found.items()
    ]  # fmt: skip
    standings.sort(key=lambda one: (one.name != best, one.kept == BROKEN, -one.value.value))
    return Facts(
        repr(task.measure), tuple(map(repr, task.constraints)), tuple(repr(one.left) for one in task.constraints),
        task.delta, confidence, int(rows.sum()), len(folds), tuple(standings), 0,
        {one.name: one.failure for one in judged if one.failure}, prepare, {one.name: one.called for one in taking},
    )  # fmt: skip


def _kept(limits: list[Figure], task: Task) -> str:
    """All constraints at the rates seen, or at the friendly end of what they bound."""
    if not task.constraints:
        return ""
    sides = []
    for limit, constraint in zip(limits, task.constraints, strict=True):
        bound = float(constraint.right(0.5, 0.5, 0.5)) if not constraint.right.varies else None
        sides.append(_side(limit, constraint.sense, bound))
    return BROKEN if BROKEN in sides else UNCLEAR if UNCLEAR in sides else KEPT


def _side(limit: Figure, sense: str, bound: float | None) -> str:
    if bound is None:
        return UNCLEAR
    at, friendly = (limit.value, limit.low) if sense == "<=" else (-limit.value, -limit.high)
    cap = bound if sense == "<=" else -bound
    return KEPT if at <= cap + 1e-12 else UNCLEAR if friendly <= cap else BROKEN


def _eligible(kept: dict[str, str], promised: dict[str, bool]) -> list[str]:
    """Those that promise, or else keep, the constraints; if nobody does, all."""
    sound = [name for name in kept if kept[name] != BROKEN] or list(kept)
    return [name for name in sound if promised[name]] or sound


def _steady(top: str, ours: set[str], judged: dict[str, Judged], found: dict[str, list[Figure]], share: float) -> str:
    """The best, unless one that is set for the measure is less than a standard error behind: where the first of a dozen
    leads by noise, what a model does at 1/2 is luck that new rows need not repeat, and a threshold set is not."""
    if top in ours:
        return top
    near = [top]
    for name, one in judged.items():
        behind = found[top][0].value - found[name][0].value
        if name in ours and behind <= paired_error(one.values, judged[top].values, share):
            near.append(name)
    return max(near, key=lambda name: (name != top, found[name][0].value))
