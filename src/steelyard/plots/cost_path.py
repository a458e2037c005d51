"""A cost path over tau: its rates, its coefficients, and its decision boundary in the plane of two features.

Given a fitted `CostPath` (alone, or as the last step of a pipeline). The rates are Figure 2 and the boundaries Figure 1
of Yu, Vishwanathan and Zhang (2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators.cost_path import CostPath
from ..measures import Measure
from ..statistics.frontier import best_point
from ._axes import axes_or_new

KINDS = ("rates", "coefficients", "boundary")
POINTS = 2000  # the most knots that are drawn
GRID = 200  # points along each side of the plane of a boundary
COLOURS = {"TPR": "#c1440e", "TNR": "#1f4e79", "accuracy": "#777777"}
BEST = "#2e7d32"
CLASS_COLOURS = ("#1f4e79", "#c1440e")


class CostPathDisplay:
    """How a `CostPath` changes with the cost: rates, coefficients or decision boundary over tau.

    Use `from_estimator`. tau is the cost of a false positive over the sum of both costs: the left end spares positives,
    the right end negatives.

    Parameters
    ----------
    view : curves or a plane
        What `from_estimator` made of the path.
    kind : {"rates", "coefficients", "boundary"}
        What is drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of the lines by label (rates, coefficients)
    boundaries_ : dict of the contour at each tau (boundary), None where all rows in view are on one side

    See Also
    --------
    CostPath : What is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> import steelyard as sy
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = sy.CostPath(C=0.01).fit(scale(X), y)
    >>> display = sy.CostPathDisplay.from_estimator(path, scale(X), y, plot=False)
    >>> tau, accuracy = display.curves["accuracy"]
    >>> round(float(accuracy.max()), 3)
    0.986
    """

    def __init__(self, view: _Curves | _Plane, kind: str) -> None:
        self.view = view
        self.kind = kind

    @property
    def curves(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Label -> (tau, values), of rates and coefficients."""
        return self.view.curves if isinstance(self.view, _Curves) else {}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        kind: str = "rates",
        tau: Any = (0.1, 0.5, 0.9),
        measure: Measure | None = None,
        n_labels: int = 8,
        sample_weight: Any = None,
        ax: Any = None,
        plot: bool = True,
        **kwargs: Any,
    ) -> CostPathDisplay:
        """From a fitted `CostPath`, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : CostPath or Pipeline
        X, y : labelled rows, for "rates" and "boundary" (two features)
        kind : {"rates", "coefficients", "boundary"}, default="rates"
            TPR, TNR and accuracy on (X, y) over tau; the coefficients over tau, of the score of the positive class;
            or the rows with the decision boundary at each of `tau`.
        tau : numbers, default=(0.1, 0.5, 0.9)
            For "boundary".
        measure : Measure, default=None
            For "rates": one more line, with its best tau marked.
        n_labels : int, default=8
            For "coefficients": how many, largest first, are named; the others are grey.
        ax : matplotlib Axes, default=None
        plot : bool, default=True
            Whether to draw at once.
        **kwargs : passed on to the lines
        """
        if kind not in KINDS:
            raise ValueError(f"kind is one of {KINDS}; got {kind!r}")
        before, path = _steps(estimator)
        if kind != "coefficients" and (X is None or y is None):
            raise ValueError(f"kind={kind!r} needs labelled rows: from_estimator(estimator, X, y, kind={kind!r})")
        if kind == "rates":
            view: _Curves | _Plane = _rates(path, before(X), y, sample_weight, measure)
        elif kind == "coefficients":
            view = _coefficients(path, _names(estimator, path), n_labels)
        else:
            view = _plane(path, before, X, y, np.atleast_1d(np.asarray(tau, dtype=np.float64)))
        display = cls(view, kind)
        return display.plot(ax=ax, **kwargs) if plot else display

    def plot(self, ax: Any = None, **kwargs: Any) -> CostPathDisplay:
        """Draw; keywords go to the lines."""
        ax = axes_or_new(ax, (6, 4.2))
        drawn = self.view.draw(ax, **kwargs)
        self.lines_ = drawn if isinstance(self.view, _Curves) else {}
        self.boundaries_ = drawn if isinstance(self.view, _Plane) else {}
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(frozen=True, eq=False)
class _Curves:
    """Lines over tau."""

    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    y_name: str
    steps: bool
    named: frozenset[str]
    best: tuple[float, float, str] | None = None  # tau, value, label

    def draw(self, ax: Any, **kwargs: Any) -> dict[str, Any]:
        lines = {}
        how = {"drawstyle": "steps-post"} if self.steps else {}
        for label, (tau, values) in self.curves.items():
            style = {"label": label, "linewidth": 1.6} if label in self.named else {"color": "#cccccc", "zorder": 1}
            if self.steps:
                style["color"] = COLOURS.get(label, BEST)
            (lines[label],) = ax.plot(tau, values, **{"linewidth": 0.8, **how, **style, **kwargs})
        if self.best is not None:
            at, value, label = self.best
            ax.plot(at, value, "o", color=BEST, zorder=5, label=f"best {label}: {value:.3f} at tau {at:.3f}")
        tau, _ = next(iter(self.curves.values()))
        ax.set(xlabel="tau = fp cost / (fp cost + fn cost)", ylabel=self.y_name, xlim=(tau[0], tau[-1]))
        if not self.steps:
            ax.axhline(0.0, color="#888888", linewidth=0.6, zorder=0)
        ax.legend(fontsize="small", loc="best")
        return lines


@dataclass(frozen=True, eq=False)
class _Plane:
    """Rows of two features, and the score at some tau on a grid."""

    points: np.ndarray
    is_second: np.ndarray  # of classes
    classes: tuple[Any, Any]
    grid: tuple[np.ndarray, np.ndarray]
    scores: dict[float, np.ndarray]
    names: tuple[str, str]

    def draw(self, ax: Any, **kwargs: Any) -> dict[float, Any]:
        import matplotlib as mpl

        for flag, marker, colour in ((False, "o", CLASS_COLOURS[0]), (True, "s", CLASS_COLOURS[1])):
            rows = self.points[self.is_second == flag]
            ax.scatter(*rows.T, s=14, marker=marker, color=colour, alpha=0.5, label=f"{self.classes[flag]}")
        shades = mpl.colormaps["viridis"](np.linspace(0.0, 0.85, len(self.scores)))
        drawn = {}
        for (tau, score), shade in zip(self.scores.items(), shades, strict=True):
            lines = {"levels": [0.0], "colors": [shade], "linewidths": 2.0, **kwargs}
            one_side = score.min() > 0 or score.max() <= 0  # then there is no line to draw
            drawn[tau] = None if one_side else ax.contour(*self.grid, score, **lines)
            note = f": all {self.classes[int(score.max() > 0)]} here" if one_side else ""
            ax.plot([], [], color=shade, linewidth=2.0, label=f"tau = {tau:g}{note}")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(fontsize="small", loc="best")
        return drawn


def _steps(estimator: Any) -> tuple[Any, CostPath]:
    """What happens to X before the path, and the path."""
    path = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(path, CostPath):
        raise TypeError(f"a CostPath is drawn, or a pipeline that ends in one; got {type(path).__name__}")
    check_is_fitted(path)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return estimator[:-1].transform, path
    return lambda X: X, path


def _names(estimator: Any, path: CostPath) -> list[str]:
    names = getattr(path, "feature_names_in_", None)
    if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step without names
            names = None
    return [f"x{k}" for k in range(path.n_features_in_)] if names is None else [str(name) for name in names]


def _rates(path: CostPath, X: Any, y: Any, sample_weight: Any, measure: Measure | None) -> _Curves:
    points = path.rates(X, y, sample_weight)
    tau = np.r_[points.thresholds, path.tau_range_[1]]
    extended = lambda values: (tau, np.r_[values, values[-1]])
    accuracy = points.prevalence * points.tpr + (1.0 - points.prevalence) * points.tnr
    curves = {"TPR": extended(points.tpr), "TNR": extended(points.tnr), "accuracy": extended(accuracy)}
    best = None
    if measure is not None:
        values = measure(points.tpr, points.tnr, points.prevalence, sample_size=points.n_rows)
        curves[repr(measure)] = extended(np.asarray(values))
        k = best_point(points, measure, []).index
        best = (float((tau[k] + tau[k + 1]) / 2), float(values[k]), repr(measure))
    return _Curves(curves, "on the given rows", True, frozenset(curves), best)


def _coefficients(path: CostPath, names: list[str], n_labels: int) -> _Curves:
    knots = np.unique(np.r_[path.tau_range_[0], path.kinks_, path.tau_range_[1]])
    tau = knots[np.unique(np.linspace(0, len(knots) - 1, POINTS).astype(int))]
    toward = 1.0 if path.pos_label_ == path.classes_[1] else -1.0  # coef_ is that of classes_[1]
    coef, intercept = path.coefficients(tau)
    curves = {name: (tau, toward * coef[:, k]) for k, name in enumerate(names)}
    if path.fit_intercept:
        curves["intercept"] = (tau, toward * intercept)
    largest = sorted(curves, key=lambda name: -np.abs(curves[name][1]).max())[:n_labels]
    ordered = {name: curves[name] for name in [*largest, *(name for name in curves if name not in largest)]}
    return _Curves(ordered, f"coefficient (above 0: for {path.pos_label_})", False, frozenset(largest))


def _plane(path: CostPath, before: Any, X: Any, y: Any, tau: np.ndarray) -> _Plane:
    named = hasattr(X, "columns")
    names = list(map(str, X.columns)) if named else ["first feature", "second feature"]
    points = X.to_numpy() if named else X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"kind='boundary' is drawn in the plane of two features; X has shape {points.shape}")
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * np.maximum(high - low, 1e-12)
    sides = [np.linspace(low[k] - margin[k], high[k] + margin[k], GRID) for k in (0, 1)]
    grid = np.meshgrid(*sides)
    flat = np.column_stack([side.ravel() for side in grid])
    if named:  # pandas calls them columns, polars schema
        flat = type(X)(flat, **{"columns" if hasattr(X, "iloc") else "schema": X.columns})
    flat = before(flat)
    scores = {float(t): path.at(float(t)).decision_function(flat).reshape(GRID, GRID) for t in tau}
    is_second = np.asarray(y) == path.classes_[1]
    return _Plane(points, is_second, tuple(path.classes_), (grid[0], grid[1]), scores, (names[0], names[1]))
