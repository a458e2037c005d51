"""``steelyard demo``: one row per goal, on data that scikit-learn carries, in a few seconds.

The task: find the handwritten eights among 1,797 digits (10 % of them). Each goal is a measure, some with a
constraint; each contender is trained for it on one half of the rows and judged on the other, averaged over several
splits. `table` prints the result, `picture` draws the (TPR, TNR) plane of the first split as an SVG.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from . import measures as m
from .estimators.measure_classifier import MeasureClassifier
from .estimators.threshold import ThresholdClassifier
from .measures.constraints import Constraint
from .statistics.promises.promise import RefusedError
from .svg import Canvas

HELD_OUT = 0.5  # of the training rows, for a promise: some forty eights
SHARE_OF_EIGHTS = 174 / 1797  # in every part, as the splits are stratified
SPLITS = 3  # as many as keep the demo to a few seconds; standard errors are printed


@dataclass(frozen=True)
class Goal:
    """What the user reports."""

    name: str
    measure: m.Measure
    subject_to: Constraint | None = None
    shown: str = ""  # what to call the constrained quantity
    delta: float | None = None  # the constraint is promised for unseen data, but for this probability


@dataclass(frozen=True)
class Outcome:
    """One contender, trained for one goal, judged on rows it has not seen."""

    goal: Goal
    contender: str
    split: int
    tpr: float
    tnr: float
    value: float
    constrained: float  # the left side of the constraint, nan if there is none


# What people report: a measure of classification, two of counting, two under a constraint, and one that is promised.
GOALS = [
    Goal("F1", m.FBeta(1)),
    Goal("BAKLD", m.BAKLD(weight=0.5)),
    Goal("Q-measure", m.QMeasure(beta=1)),
    Goal("recall, FPR <= 1 %", m.Recall(), m.fpr <= 0.01, "FPR"),
    Goal("recall, precision >= 80 %", m.Recall(), m.Precision() >= 0.8, "prec."),
    Goal("the same, promised at 90 %", m.Recall(), m.Precision() >= 0.8, "prec.", delta=0.1),
]


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def trained(goal: Goal) -> Any:
    """steelyard's linear model for the goal."""
    model = MeasureClassifier(goal.measure, subject_to=goal.subject_to, random_state=0, **promised(goal))
    return make_pipeline(StandardScaler(), model)


def promised(goal: Goal) -> dict[str, Any]:
    """Half of the training rows promise, where a promise is asked for."""
    return {} if goal.delta is None else {"delta": goal.delta, "cv": HELD_OUT}


CONTENDERS = ("logistic regression", "its threshold tuned", "steelyard")


def run(splits: int = SPLITS) -> Iterator[Outcome]:
    """All contenders on all goals; yields as it goes."""
    X, digit = load_digits(return_X_y=True)
    y = (digit == 8).astype(int)
    for split in range(splits):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=split)
        plain = logistic().fit(X_train, y_train)
        for goal in GOALS:
            tuned = ThresholdClassifier(
                logistic(), goal.measure, subject_to=goal.subject_to, random_state=0, **promised(goal)
            )
            for name, model in zip(CONTENDERS, (plain, tuned, trained(goal)), strict=True):
                yield judged(goal, name, split, y_test, predicted(model, name, X_train, y_train, X_test))


def predicted(model: Any, name: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Labels of the test rows; where a promise is refused, no row is called."""
    try:
        fitted = model if name == CONTENDERS[0] else model.fit(X, y)
    except RefusedError:
        return np.zeros(len(X_test), dtype=y.dtype)
    return np.asarray(fitted.predict(X_test))


def judged(goal: Goal, contender: str, split: int, y: np.ndarray, called: np.ndarray) -> Outcome:
    at = m.rates(y, called)
    constrained = float("nan")
    if goal.subject_to is not None:
        constrained = goal.subject_to.left(at.tpr, at.tnr, at.prevalence)
    return Outcome(goal, contender, split, at.tpr, at.tnr, goal.measure.score(y, called), constrained)


def table(outcomes: list[Outcome]) -> str:
    """Mean over the splits; a constrained goal also shows the constrained quantity."""
    names = CONTENDERS
    wide = max(len(goal.name) for goal in GOALS)
    body = [
        [_cell(goal, [o for o in outcomes if o.goal is goal and o.contender == name]) for name in names]
        for goal in GOALS
    ]
    columns = [max(len(text) for text in (name, *cells)) for name, *cells in zip(names, *body, strict=True)]
    lines = ["  ".join([f"{'goal':{wide}}", *(f"{name:>{w}}" for name, w in zip(names, columns, strict=True))])]
    lines.append("-" * len(lines[0]))
    for goal, cells in zip(GOALS, body, strict=True):
        lines.append("  ".join([f"{goal.name:{wide}}", *(f"{c:>{w}}" for c, w in zip(cells, columns, strict=True))]))
    return "\n".join(lines)


def leads(outcomes: list[Outcome]) -> str:
    """steelyard's lead over the others with its standard error over the splits, for goals without a constraint."""
    *others, ours = CONTENDERS
    lines = ["steelyard's lead, with its standard error over the splits:"]
    for other in others:
        parts = []
        for goal in (goal for goal in GOALS if goal.subject_to is None):
            theirs, mine = (
                np.array([o.value for o in outcomes if o.goal is goal and o.contender == name])
                for name in (other, ours)
            )
            error = (mine - theirs).std(ddof=1) / len(mine) ** 0.5 if len(mine) > 1 else float("nan")
            parts.append(f"{goal.name} {(mine - theirs).mean():+.3f} +- {error:.3f}")
        lines.append(f"  over {other}: {', '.join(parts)}")
    return "\n".join(lines)


def _cell(goal: Goal, found: list[Outcome]) -> str:
    text = f"{np.mean([o.value for o in found]):.3f}"
    if goal.subject_to is None:
        return text
    refused = sum(o.tpr == 0.0 and o.tnr == 1.0 for o in found)
    broken = sum(not goal.subject_to.holds(o.tpr, o.tnr, SHARE_OF_EIGHTS) for o in found) - refused
    shown = [o.constrained for o in found if o.tpr > 0.0]
    said = [f"{goal.shown} {100 * np.mean(shown):.1f} %"] if shown else []
    said += [f"{broken}/{len(found)} broken"] if broken else []
    said += [f"{refused}/{len(found)} refused"] if refused else []
    return f"{text} ({', '.join(said)})"


COLOURS = ("#9aa5b1", "#1f4e79", "#c1440e")


def picture(outcomes: list[Outcome]) -> str:
    """The (TPR, TNR) plane with every contender's point for every goal of the first split."""
    shown = [o for o in outcomes if o.split == 0]
    low_x, low_y = (min(rates) - 0.02 for rates in ([o.tpr for o in shown], [o.tnr for o in shown]))
    canvas = Canvas(width=760, height=560, x=(low_x, 1.0), y=(low_y, 1.0))
    canvas.axes("true positive rate", "true negative rate", "Where each contender lands (steelyard demo)")
    for colour, name in zip(COLOURS, CONTENDERS, strict=False):
        points = [o for o in shown if o.contender == name]
        for place in sorted({(o.tpr, o.tnr) for o in points}):
            label = ", ".join(o.goal.name for o in points if (o.tpr, o.tnr) == place)
            canvas.point(*place, colour, label if name != "logistic regression" else "threshold 0.5")
        canvas.legend(colour, name)
    return canvas.text()
