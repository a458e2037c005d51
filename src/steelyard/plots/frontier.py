"""Every operating point of a classifier, in the plane of its two rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimators._binary import check_weight, encode_labels
from ..estimators._scored_rows import positive_scores
from ..measures import Measure, rates
from ..measures.constraints import Constraint, as_constraints
from ..measures.labels import positive_of
from ..statistics.frontier import Frontier, scan
from ..statistics.reporting import bands
from ._axes import axes_or_new, called_positive

AXES = ("roc", "rates")


class FrontierDisplay:
    """Every operating point of a classifier, with the chosen one, iso-lines of a measure and the feasible region.

    Use `from_estimator` or `from_predictions`. `plot` draws the (FPR, TPR) plane with ``axes="roc"``, or the (TPR, TNR)
    plane with ``axes="rates"``; what the constraints exclude is shaded.

    Parameters
    ----------
    frontier : Frontier
        The operating points.
    point : (float, float), default=None
        TPR and TNR of the chosen one.
    measure : Measure, default=None
        Whose iso-lines are drawn.
    subject_to : Constraint or list of them, default=None
        What they exclude is shaded.
    name : str, default=None
        For the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, point_ : the frontier and the chosen point (None if there is none)
    band_ : the simultaneous band of the frontier, if `plot` was given a `confidence`

    See Also
    --------
    ThresholdClassifier : Chooses a point of the frontier.
    NeymanPearsonDisplay : A curve with a cap.

    Examples
    --------
    >>> import steelyard as sy, steelyard.measures as m
    >>> display = sy.FrontierDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], threshold=0.5, measure=m.FBeta(1), plot=False)
    >>> display.point
    (0.5, 0.5)
    """

    def __init__(
        self,
        frontier: Frontier,
        *,
        point: tuple[float, float] | None = None,
        measure: Measure | None = None,
        subject_to: Constraint | list[Constraint] | None = None,
        name: str | None = None,
    ) -> None:
        self.frontier = frontier
        self.point = point
        self.measure = measure
        self.constraints = as_constraints(subject_to)
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        measure: Measure | None = None,
        subject_to: Constraint | list[Constraint] | None = None,
        pos_label: Any = None,
        axes: str = "roc",
        ax: Any = None,
        plot: bool = True,
        **kwargs: Any,
    ) -> FrontierDisplay:
        """From a fitted classifier and labelled rows; measure and constraints are its own if it has them."""
        check_is_fitted(estimator)
        pos_label = positive_of(estimator) if pos_label is None else pos_label
        _, _, positive = encode_labels(y, pos_label)
        return cls.from_predictions(
            y,
            positive_scores(estimator, X, "auto", positive),
            predicted=estimator.predict(X),
            sample_weight=sample_weight,
            measure=getattr(estimator, "measure", None) if measure is None else measure,
            subject_to=getattr(estimator, "subject_to", None) if subject_to is None else subject_to,
            pos_label=positive,
            name=type(estimator).__name__,
            axes=axes,
            ax=ax,
            plot=plot,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        threshold: float | None = None,
        predicted: Any = None,
        sample_weight: Any = None,
        measure: Measure | None = None,
        subject_to: Constraint | list[Constraint] | None = None,
        pos_label: Any = None,
        name: str | None = None,
        axes: str = "roc",
        ax: Any = None,
        plot: bool = True,
        **kwargs: Any,
    ) -> FrontierDisplay:
        """From labels and scores; `threshold` marks the point of the rule ``score > threshold``, `predicted` (labels)
        that of the predictions that were made."""
        _, is_positive, positive = encode_labels(y_true, pos_label)
        scores = np.asarray(scores, dtype=np.float64)
        weight = check_weight(sample_weight, scores, is_positive)
        found = scan(scores, is_positive, weight)
        point = None
        called = called_positive(scores, threshold, predicted, positive)
        if called is not None:
            at = rates(is_positive, called, weight, pos_label=True)
            point = (at.tpr, at.tnr)
        display = cls(found, point=point, measure=measure, subject_to=subject_to, name=name)
        return display.plot(ax=ax, axes=axes, **kwargs) if plot else display

    def plot(
        self, ax: Any = None, *, axes: str = "roc", levels: int = 8, confidence: float | None = None, **kwargs: Any
    ) -> FrontierDisplay:
        """Draw; `levels` is the number of iso-lines, further keywords go to the line. With `confidence` a band holds
        the whole true frontier with that probability: for unweighted rows that the model was not fitted on."""
        if axes not in AXES:
            raise ValueError(f"axes is 'roc' (FPR, TPR) or 'rates' (TPR, TNR); got {axes!r}")
        ax = axes_or_new(ax, (5, 5))
        self._draw_background(ax, axes, levels)
        x, y = _to_axes(self.frontier.tpr, self.frontier.tnr, axes)
        (self.line_,) = ax.plot(x, y, **{"color": "#1f4e79", "label": self.name or "frontier", **kwargs})
        self.band_ = None if confidence is None else self._draw_band(ax, axes, confidence)
        self.point_ = None
        if self.point is not None:
            x, y = _to_axes(*self.point, axes)
            (self.point_,) = ax.plot(x, y, "o", color="#c1440e", markersize=8, zorder=5, label=self._caption())
        names = (
            ("false positive rate", "true positive rate")
            if axes == "roc"
            else ("true positive rate", "true negative rate")
        )
        ax.set(xlabel=names[0], ylabel=names[1], xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.legend(loc="lower right" if axes == "roc" else "lower left", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_background(self, ax: Any, axes: str, levels: int) -> None:
        grid = np.linspace(0.0, 1.0, 201)
        tpr, tnr = np.meshgrid(grid, grid)
        x, y = _to_axes(tpr, tnr, axes)
        where = {"tpr": tpr, "tnr": tnr, "prevalence": self.frontier.prevalence, "sample_size": self.frontier.n_rows}
        for constraint in self.constraints:
            outside = np.where(constraint.holds(**where), 0.0, 1.0)
            if outside.any():
                ax.contourf(x, y, outside, levels=[0.5, 1.5], colors=["#888888"], alpha=0.25)
                ax.plot([], [], color="#888888", alpha=0.4, linewidth=8, label=f"outside {constraint!r}")
        if self.measure is not None:
            values = self.measure(**where)
            # Lines where the values are, not where a logarithm runs off to minus infinity in a corner.
            low, high = np.quantile(values[np.isfinite(values)], [0.05, 1.0])
            if high > low:
                lines = ax.contour(
                    x,
                    y,
                    values,
                    levels=np.linspace(low, high, levels + 2)[1:-1],
                    colors="#9db4c0",
                    linewidths=0.8,
                    linestyles="solid",
                )
                ax.clabel(lines, fontsize=7, fmt="%.2f")

    def _draw_band(self, ax: Any, axes: str, confidence: float) -> Any:
        """Between the frontier moved out and moved in by what both rates may be off."""
        off = bands(self.frontier, confidence)
        edges = [
            _to_axes(
                np.clip(self.frontier.tpr + sign * off[0], 0, 1), np.clip(self.frontier.tnr + sign * off[1], 0, 1), axes
            )
            for sign in (1.0, -1.0)
        ]
        x, y = (np.concatenate([edges[0][k], edges[1][k][::-1]]) for k in (0, 1))
        label = f"{100 * confidence:g} % band"
        (band,) = ax.fill(x, y, color="#1f4e79", alpha=0.12, linewidth=0, label=label)
        return band

    def _caption(self) -> str:
        tpr, tnr = self.point or (0.0, 0.0)
        text = f"TPR {tpr:.3f}, FPR {1 - tnr:.3f}"
        if self.measure is not None:
            value = self.measure(tpr, tnr, self.frontier.prevalence, sample_size=self.frontier.n_rows)
            text += f"\n{self.measure!r} = {value:.3f}"
        return text


def _to_axes(tpr: Any, tnr: Any, axes: str) -> tuple[Any, Any]:
    return (1.0 - tnr, tpr) if axes == "roc" else (tpr, tnr)
