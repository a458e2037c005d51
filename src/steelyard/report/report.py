"""`Report`: every operating point of a model on labelled rows, to look at, to move, and to take a classifier from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators._slices import kinds, read_slices
from ..files import replace
from ..measures import Measure, fpr, prevalence, tpr
from ..measures.constraints import Constraint, as_constraints
from ..statistics import frontier, reporting
from ..statistics.frontier import Frontier
from ..statistics.reporting import Figure
from . import page
from .points import cheapest, cost_ratios, group_names, nearest_alarms
from .reading import Reading, goal_of, promise_of, promised_points, read

MOST_GROUPS = 20  # shown; the smallest beyond them are taken together
ALARMS = prevalence * tpr + (1 - prevalence) * fpr  # the share of rows that are called


@dataclass(frozen=True)
class OperatingPoint:
    """One point of a report: what the page shows there.

    `counts` are TP, FP, FN and TN on the rows; `figures` have the measure, what the constraints bound and every rate,
    with intervals; `alarms` is per 1,000 rows; `changed` says how many rows are called here and not at the recommended
    point, and how many the other way round; `cost_ratios` between which prices of a miss, in false alarms, no other
    point is cheaper; `groups` have the rates within each group.
    """

    index: int
    threshold: float
    counts: tuple[int, int, int, int]
    figures: Mapping[str, Figure]
    alarms: Figure
    changed: tuple[int, int]
    cost_ratios: tuple[float, float]
    groups: Mapping[str, Mapping[str, Figure]]
    promised: bool
    prevalence: float | None = None

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]


class Report:
    """Every operating point of a classifier on labelled rows, as one HTML file to open, move and copy from.

    Parameters
    ----------
    model : classifier, pipeline, CostPath or path of a model file
        Fitted, with two classes.
    X, y : rows and labels
        Rows that neither fitted the model nor set its threshold: on those all figures are flattered. Each counts as
        one; there are no weights.
    measure, subject_to : default=None
        As in `ThresholdClassifier`, but for limits within groups; the model's own if not given, else F1 and nothing.
    slices : array-like, default=None
        The group of each row, for the table of groups.
    baselines : dict of fitted classifiers, default=None
        Drawn beside the frontier by their own predictions.
    pos_label : label, default=None
        The positive class; the model's own if not given.
    confidence : float, default=0.95
        Of all intervals, and of the band of the frontier.
    title : str, default=None

    Attributes
    ----------
    recommended_ : OperatingPoint
        Where the page opens: the point that the model takes, or the best on these rows if it was set for no measure.
    frontier_ : Frontier
        All points.

    See Also
    --------
    FrontierDisplay : The same frontier as a figure.
    compare : Which model, before one looks at its points.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import steelyard as sy
    >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.1, class_sep=0.6, random_state=0)
    >>> model = sy.ThresholdClassifier(LogisticRegression(), "f1").fit(X[:2000], y[:2000])
    >>> report = sy.Report(model, X[2000:], y[2000:])
    >>> report.recommended_.counts
    (131, 312, 127, 1430)
    >>> report.at(alarms=50)["tpr"]
    0.1473 [0.1081, 0.1944]
    >>> report.best("fpr <= 0.05", prevalence=0.02)["Precision()"]
    0.08833 [0.0631, 0.1212]
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        *,
        measure: Any = None,
        subject_to: Any = None,
        slices: Any = None,
        baselines: Mapping[str, Any] | None = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        title: str | None = None,
    ) -> None:
        self._reading = read(model, X, y, pos_label)
        self.measure, asked = goal_of(self._reading.last, measure, subject_to)
        self.constraints = tuple(one for one in asked if not one.needs_groups)
        self._in_groups = tuple(one for one in asked if one.needs_groups)
        self.confidence, self.title = confidence, title
        groups = read_slices(slices, y)
        self._groups = None if groups is None else group_names(groups, MOST_GROUPS)
        self._columns = page.columns_of(self._reading.model, X)
        self._baselines = self._judge(baselines or {}, X)
        self._counts = self._reading.points.counts()
        self._promised = promised_points(self._reading)
        self._set_for = hasattr(self._reading.last, "measure") or hasattr(self._reading.last, "max_fpr")
        own = self._reading.own if self._set_for else None
        self._recommended = self._best(self.constraints, None, closest=True) if own is None else own
        self.frontier_: Frontier = self._reading.points.frontier()
        self.recommended_ = self._point(self._recommended, None)

    # -- points -------------------------------------------------------------------------------------------------
    def at(
        self,
        threshold: float | None = None,
        *,
        cost_ratio: float | None = None,
        alarms: float | None = None,
        prevalence: float | None = None,
    ) -> OperatingPoint:
        """The point of a threshold (of a path: of a tau), the cheapest where a miss costs `cost_ratio` false alarms, or
        that with about so many `alarms` per 1,000 rows; `prevalence` is the share of positives in use."""
        given = {"threshold": threshold, "cost_ratio": cost_ratio, "alarms": alarms}
        if sum(one is not None for one in given.values()) != 1:
            raise ValueError(f"give one of threshold, cost_ratio and alarms; got {given}")
        points = self._reading.points
        if cost_ratio is not None:
            return self._point(cheapest(points, cost_ratio, prevalence), prevalence)
        if alarms is not None:
            return self._point(nearest_alarms(points, alarms, prevalence), prevalence)
        assert threshold is not None
        return self._point(points.of_threshold(threshold), prevalence)

    def best(self, subject_to: Any = None, *, prevalence: float | None = None) -> OperatingPoint:
        """The point of these rows with the most of the measure under the constraints given, else the report's own;
        InfeasibleError if there is none. Chosen on these rows, its figures are flattered."""
        constraints = self.constraints if subject_to is None else as_constraints(subject_to)
        return self._point(self._best(constraints, prevalence), prevalence)

    def _best(self, constraints: tuple[Constraint, ...], share: float | None, closest: bool = False) -> int:
        try:
            return frontier.best_point(self._reading.points.frontier(share), self.measure, constraints).index
        except frontier.InfeasibleError as error:
            if not closest or error.closest is None:
                raise
            return int(error.closest.index)

    def _point(self, k: int, share: float | None) -> OperatingPoint:
        points = self._reading.points
        called, is_positive = points.called(k), self._reading.is_positive
        counts = kinds(is_positive, called)
        found = reporting.report(*counts, (*self._measures(), ALARMS), self.confidence, share)
        alarms = found[repr(ALARMS)]
        before = points.called(self._recommended)
        groups = {}
        for name, rows in self._rows_of_groups():
            groups[name] = _in_group(kinds(is_positive[rows], called[rows]), self.confidence)
        return OperatingPoint(
            k, points.threshold(k), counts, {name: one for name, one in found.figures.items() if name != repr(ALARMS)},
            Figure(*(1000.0 * part for part in (alarms.value, alarms.low, alarms.high))),
            (int(np.sum(called & ~before)), int(np.sum(before & ~called))), cost_ratios(points, k, share), groups,
            self._is_promised(k), share,
        )  # fmt: skip

    def _measures(self) -> tuple[Measure, ...]:
        """What is shown beside the rates."""
        return tuple(dict.fromkeys((self.measure, *(one.left for one in self.constraints))))

    def _rows_of_groups(self) -> list[tuple[str, NDArray[np.bool_]]]:
        if self._groups is None:
            return []
        names, codes = self._groups
        return [(name, codes == k) for k, name in enumerate(names)]

    def _is_promised(self, k: int) -> bool:
        if isinstance(self._promised, tuple):
            return self._promised[0] <= k <= self._promised[1]
        return self._promised is not None and k in self._promised

    def _judge(self, models: Mapping[str, Any], X: Any) -> dict[str, tuple[int, int, int, int]]:
        positive, is_positive = self._reading.classes[1], self._reading.is_positive
        found = {}
        for name, model in models.items():
            if not hasattr(model, "predict"):
                raise TypeError(f"the baseline {name!r} is a fitted classifier; got {model!r}")
            found[str(name)] = kinds(is_positive, np.asarray(model.predict(X)) == positive)
        return found

    # -- the page -----------------------------------------------------------------------------------------------
    def html(self) -> str:
        """The page as text."""
        return page.page(self)

    def save(self, path: Any) -> None:
        """Write the page to a file, which is there only when it is whole."""
        replace.write(path, self.html().encode("utf-8"))

    def _repr_html_(self) -> str:
        """The same page in a notebook, in a frame of its own."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" title="{escape(page.title_of(self))}" '
            'style="width:100%;height:1100px;border:0" sandbox="allow-scripts"></iframe>'
        )

    def __repr__(self) -> str:
        point, n = self.recommended_, len(self._reading.is_positive)
        promise = promise_of(self._reading.last)
        lines = [f"{page.title_of(self)}: {n:,} rows, {len(self._reading.points):,} operating points"]
        lines += [f"  threshold {point.threshold:g}, {point.alarms.value:.1f} alarms per 1,000 rows"]
        lines += [f"  {name}  {figure!r}" for name, figure in point.figures.items()]
        lines += [] if promise is None else [f"  promised: {promise!r}"]
        return "\n".join(lines)


def _in_group(counts: tuple[int, int, int, int], confidence: float) -> dict[str, Figure]:
    """TPR, FPR and precision of a group, those that it has rows for."""
    tp, fp, fn, tn = counts
    ends = np.array([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    shares = {"tpr": (tp, fn), "fpr": (fp, tn), "Precision()": (tp, fp)}
    return {
        name: Figure(hits / (hits + rest), *reporting.jeffreys(hits, rest, ends))
        for name, (hits, rest) in shares.items()
        if hits + rest
    }


__all__ = ["OperatingPoint", "Reading", "Report"]
