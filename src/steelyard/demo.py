"""``steelyard demo``: a search under a limit, on data that scikit-learn carries, in some fifteen seconds.

The task: find the handwritten eights among 1,797 digits (10 % of them) for somebody who can check one false alarm in a
hundred, and count them where they are more or fewer. Three parts: `compare` says which model; `limits` sets the same
model for a cap and a floor on many halves of the rows, with and without a promise, and counts on the other halves how
often the limit is broken; `batches` counts eights after their share has moved. `picture` draws the second as an SVG.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from . import measures as m
from .comparison import Comparison, compare
from .comparison.judging import few_threads
from .estimators.threshold import ThresholdClassifier
from .measures.constraints import Constraint
from .measures.labels import Rates
from .quantification import Quantifier
from .statistics.frontier import scan
from .statistics.promises.promise import RefusedError
from .svg import Canvas

Array = NDArray[np.float64]

SPLITS = 20  # halves to train on: a limit that is kept half of the time is broken between 5 and 15 times
COUNTED = 5  # of these splits, each with a batch of every share
SHARES = (0.02, 0.10, 0.25, 0.40)  # of eights in the batches; in the rows at hand it is 0.10
BATCH = 200  # rows: 80 of the 87 eights that a half has at the largest share
DELTA = 0.1  # how often a promise may fail: 1 % with 230 negatives, and half of a half has 405
CAP, FLOOR = m.fpr <= 0.01, m.Precision() >= 0.8  # what one person can check, and a list that is worth checking
AT_HALF, BALANCED, SET, PROMISED = "as it comes", "class_weight balanced", "our threshold", "our threshold, promised"
PROMISING = {CAP: 0.5, FLOOR: 0.7}  # of the training rows: a floor of 80 % needs some sixty eights


@dataclass(frozen=True)
class Outcome:
    """One rule on one split, judged on the other half; a refusal has no rates."""

    limit: Constraint
    rule: str
    split: int
    at: Rates | None

    @property
    def is_broken(self) -> bool:
        return self.at is not None and not self.limit.holds(self.at.tpr, self.at.tnr, self.at.prevalence)

    def seen(self, measure: m.Measure) -> float:
        return float("nan") if self.at is None else float(measure(self.at.tpr, self.at.tnr, self.at.prevalence))


@dataclass(frozen=True)
class Batch:
    """Rows in which another share is of eights, counted in two ways."""

    share: float
    counted: float  # by calling rows
    estimate: float
    low: float
    high: float


def rows() -> tuple[Array, NDArray[np.int64]]:
    X, digit = load_digits(return_X_y=True)
    return X, (digit == 8).astype(np.int64)


def quietly() -> AbstractContextManager[Any]:
    """Around all of it: rows are few, and threads that wait for each other are slower than one."""
    return few_threads(len(rows()[1]))


def logistic(**options: Any) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, **options))


def halves(split: int) -> list[Any]:
    """X and y to train on, X and y to judge by, as train, test, train, test."""
    X, y = rows()
    return list(train_test_split(X, y, test_size=0.5, stratify=y, random_state=split))


def compared() -> Comparison:
    """Which model, under the cap, with the promise."""
    X, y = rows()
    return compare(X, y, "recall", CAP, DELTA, cv=3, random_state=0)


def limits(splits: int = SPLITS) -> Iterator[Outcome]:
    """Logistic regression by four rules for each limit."""
    for split in range(splits):
        X, X_new, y, y_new = halves(split)
        plain = {AT_HALF: logistic().fit(X, y), BALANCED: logistic(class_weight="balanced").fit(X, y)}
        for limit in (CAP, FLOOR):
            ours = {
                SET: ThresholdClassifier(logistic(), m.Recall(), subject_to=limit, random_state=0),
                PROMISED: ThresholdClassifier(
                    logistic(), m.Recall(), subject_to=limit, delta=DELTA, cv=PROMISING[limit], random_state=0
                ),
            }
            for rule, model in (plain | ours).items():
                try:
                    called = (model.fit(X, y) if rule in ours else model).predict(X_new)
                except RefusedError:
                    yield Outcome(limit, rule, split, None)
                else:
                    yield Outcome(limit, rule, split, m.rates(y_new, called))


def batches(splits: int = COUNTED) -> Iterator[Batch]:
    """Eights counted in batches of the other half, where their share is another."""
    for split in range(splits):
        X, X_new, y, y_new = halves(split)
        plain, ours = logistic().fit(X, y), Quantifier(logistic(), random_state=0).fit(X, y)
        rng = np.random.default_rng(split)
        for share in SHARES:
            eights = round(share * BATCH)
            some = [
                rng.choice(np.flatnonzero(y_new == k), n, replace=False) for k, n in ((1, eights), (0, BATCH - eights))
            ]
            batch = X_new[np.concatenate(some)]
            low, high = ours.predict_interval(batch)[:, 1]
            yield Batch(eights / BATCH, float(plain.predict(batch).mean()), float(ours.predict(batch)[1]), low, high)


# -- tables --------------------------------------------------------------------------------------------------------
def comparison_table(found: Comparison) -> str:
    """Recall, false alarms and the cap, of every contender."""
    lines = [("on rows left out", "eights found", "false alarms", f"cap of {100 * 0.01:g} %")]
    for one in found.standings_:
        kept = one.kept + (", promised" if one.promised else "")
        kept += "   <- recommended" if one.name == found.best_name_ else ""
        lines.append((one.name, f"{100 * one.value.value:.0f} %", f"{100 * one.limits[0].value:.1f} %", kept))
    return aligned(lines)


def limits_table(outcomes: Sequence[Outcome]) -> str:
    """How often each rule breaks a limit on new rows, and what it finds."""
    lines = []
    for limit, title, what in (
        (CAP, "false alarms at most 1 %", m.fpr),
        (FLOOR, "precision at least 80 %", m.Precision()),
    ):
        lines.append((title, "limit broken", "on average", "eights found"))
        for rule in (AT_HALF, BALANCED, SET, PROMISED):
            mine = [one for one in outcomes if one.limit is limit and one.rule == rule]
            broken, refused = sum(one.is_broken for one in mine), sum(one.at is None for one in mine)
            seen, found = (np.nanmean([one.seen(part) for one in mine]) for part in (what, m.Recall()))
            said = f"{broken} of {len(mine) - refused}" + (f" ({refused} refused)" if refused else "")
            lines.append((f"  {rule}", said, f"{100 * seen:.1f} %", f"{100 * found:.0f} %"))
    return aligned(lines, rules=(0, 5))


def batches_table(counted: Sequence[Batch]) -> str:
    lines = [("eights in a batch", "counted by predictions", "by Quantifier", "95 % intervals right")]
    for share in sorted({one.share for one in counted}):
        mine = [one for one in counted if one.share == share]
        plain, ours = (np.mean([getattr(one, name) for one in mine]) for name in ("counted", "estimate"))
        right = sum(one.low <= share <= one.high for one in mine)
        lines.append((f"{100 * share:.0f} %", f"{100 * plain:.1f} %", f"{100 * ours:.1f} %", f"{right} of {len(mine)}"))
    off = [np.mean([abs(getattr(one, name) - one.share) for one in counted]) for name in ("counted", "estimate")]
    lines.append(("off by, on average", *(f"{100 * error:.1f} %" for error in off), ""))
    return aligned(lines)


def aligned(lines: Sequence[Sequence[str]], rules: Sequence[int] = (0,)) -> str:
    """The first column to the left, the others to the right but for the last; a rule below some lines."""
    wide = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    shown = []
    for k, line in enumerate(lines):
        cells = [
            f"{line[0]:<{wide[0]}}",
            *(f"{cell:>{w}}" for cell, w in zip(line[1:-1], wide[1:-1], strict=True)),
            line[-1],
        ]
        shown.append("   ".join(cells).rstrip())
        shown += ["-" * (sum(wide) + 3 * (len(wide) - 1))] if k in rules else []
    return "\n".join(shown)


# -- the picture ---------------------------------------------------------------------------------------------------
COLOURS = {AT_HALF: "#52606d", BALANCED: "#8d6e00", SET: "#1f4e79", PROMISED: "#c1440e"}


def mean_frontier(splits: int = SPLITS) -> list[tuple[float, float]]:
    """FPR and mean TPR of logistic regression on the halves that it has not seen."""
    grid, found = np.linspace(0.0, 0.08, 161), []
    for split in range(splits):
        X, X_new, y, y_new = halves(split)
        at = scan(logistic().fit(X, y).predict_proba(X_new)[:, 1], y_new == 1)
        found.append(np.interp(grid, 1.0 - at.tnr[::-1], at.tpr[::-1]))
    return list(zip(grid.tolist(), np.mean(found, axis=0).tolist(), strict=True))


def picture(outcomes: Sequence[Outcome], frontier: Sequence[tuple[float, float]]) -> str:
    """Each rule for the cap: a dot for every split, a point for the mean, over the mean frontier."""
    mine = [one for one in outcomes if one.limit is CAP and one.at is not None]
    places = {
        rule: np.array([(one.seen(m.fpr), one.seen(m.Recall())) for one in mine if one.rule == rule])
        for rule in COLOURS
    }
    lowest = min(at[:, 1].min() for at in places.values())
    canvas = Canvas(820, 560, x=(0.0, 0.08), y=(np.floor(lowest * 10.0) / 10.0, 1.0))
    canvas.region((0.01, 0.08), "#f7eeee", "more than 1 % false alarms")
    canvas.axes(
        "false alarms on new rows", "eights found", "A cap of 1 % on false alarms: means and single splits",
        lambda share: f"{100 * share:.0f} %",
    )  # fmt: skip
    canvas.line(frontier, "#b0bac4")
    for rule, at in places.items():
        for one in at.tolist():
            canvas.dot(*one, COLOURS[rule])
    for rule, at in places.items():
        broken = sum(one.is_broken for one in mine if one.rule == rule)
        canvas.point(*at.mean(axis=0).tolist(), COLOURS[rule], f"{rule}: broken in {broken} of {len(at)}")
    return canvas.text()
