"""The ROC curve of a classifier under a cap, with bands that hold for finitely many rows.

For n negatives the false-alarm rates of all thresholds are within ``e- = sqrt(log(4 / (1 - confidence)) / (2 n))`` of
the true ones at once, with probability (1 + confidence) / 2; so are the true positive rates of the positives within
e+ (Dvoretzky, Kiefer & Wolfowitz, with Massart's constant). Together: with probability `confidence` the true curve lies
between the curve shifted by (-e-, +e+) and by (+e-, -e+).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimators._binary import encode_labels
from ..estimators._scored_rows import positive_scores
from ..statistics.frontier import Frontier, scan
from ._axes import axes_or_new, called_positive


class NeymanPearsonDisplay:
    """The ROC curve with its cap, the chosen point, and a band that covers the whole true curve.

    Use `from_estimator` or `from_predictions`, with rows that were not trained on. The FPR axis ends at four times the
    cap, or just behind the point if that is further, unless `xlim` says otherwise.

    Parameters
    ----------
    frontier : Frontier
        The operating points.
    n_negative, n_positive : int
        Rows of each class behind them.
    max_fpr : float
        The cap.
    point : (float, float), default=None
        TPR and TNR of the chosen one.
    confidence : float, default=0.95
        Of the band.
    name : str, default=None
        For the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, band_, cap_, point_ : the curve, its band, the cap, and the chosen point (None if there is none)

    See Also
    --------
    NeymanPearsonClassifier : Sets a point under the cap.
    FrontierDisplay : With iso-lines of a measure.

    Examples
    --------
    >>> import numpy as np, steelyard as sy
    >>> scores = np.r_[np.linspace(0, 1, 200), np.linspace(0.5, 1.5, 200)]
    >>> y = np.repeat([0, 1], 200)
    >>> display = sy.NeymanPearsonDisplay.from_predictions(y, scores, max_fpr=0.1, threshold=0.9, plot=False)
    >>> [round(float(v), 3) for v in display.half_widths]
    [0.105, 0.105]
    """

    def __init__(
        self,
        frontier: Frontier,
        n_negative: int,
        n_positive: int,
        *,
        max_fpr: float,
        point: tuple[float, float] | None = None,
        confidence: float = 0.95,
        name: str | None = None,
    ) -> None:
        self.frontier = frontier
        self.max_fpr = max_fpr
        self.point = point
        self.confidence = confidence
        self.name = name
        self.half_widths = tuple(
            math.sqrt(math.log(4.0 / (1.0 - confidence)) / (2.0 * n)) for n in (n_negative, n_positive)
        )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, max_fpr: float | None = None, pos_label: Any = None, **kwargs: Any
    ) -> NeymanPearsonDisplay:
        """From a fitted classifier and labelled rows it was not trained on; the cap is its own if it has one."""
        check_is_fitted(estimator)
        pos_label = getattr(estimator, "pos_label", None) if pos_label is None else pos_label
        _, _, positive = encode_labels(y, pos_label)
        cap = getattr(estimator, "max_fpr", None) if max_fpr is None else max_fpr
        if cap is None:
            raise ValueError(
                f"{type(estimator).__name__} has no max_fpr of its own: say which cap to draw, max_fpr=0.05"
            )
        return cls.from_predictions(
            y,
            positive_scores(estimator, X, "auto", positive),
            max_fpr=cap,
            predicted=estimator.predict(X),
            pos_label=positive,
            **{"name": type(estimator).__name__, **kwargs},
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        max_fpr: float,
        threshold: float | None = None,
        predicted: Any = None,
        pos_label: Any = None,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Any = None,
        plot: bool = True,
        **kwargs: Any,
    ) -> NeymanPearsonDisplay:
        """From labels and scores; `threshold` marks the point of the rule ``score > threshold``, `predicted` (labels)
        that of the predictions that were made."""
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
        _, is_positive, positive = encode_labels(y_true, pos_label)
        scores = np.asarray(scores, dtype=np.float64)
        point = None
        called = called_positive(scores, threshold, predicted, positive)
        if called is not None:
            point = (float(called[~is_positive].mean()), float(called[is_positive].mean()))
        n_positive = int(is_positive.sum())
        display = cls(
            scan(scores, is_positive), len(scores) - n_positive, n_positive, max_fpr=max_fpr, point=point,
            confidence=confidence, name=name,
        )  # fmt: skip
        return display.plot(ax=ax, **kwargs) if plot else display

    def band(self, fpr: Any) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest true positive rate that the band allows at each false positive rate."""
        f, t = 1.0 - self.frontier.tnr[::-1], self.frontier.tpr[::-1]
        e_neg, e_pos = self.half_widths
        fpr = np.asarray(fpr, dtype=float)
        # The curve is a staircase: the best TPR within an FPR, looked up at the shifted rates.
        low = np.where(fpr >= e_neg, t[np.searchsorted(f, fpr - e_neg, side="right") - 1] - e_pos, 0.0)
        high = t[np.searchsorted(f, np.minimum(fpr + e_neg, 1.0), side="right") - 1] + e_pos
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def plot(self, ax: Any = None, *, xlim: float | None = None, **kwargs: Any) -> NeymanPearsonDisplay:
        """Draw; `xlim` is where the FPR axis ends, further keywords go to the curve."""
        ax = axes_or_new(ax, (5.5, 4.5))
        seen = 0.0 if self.point is None else self.point[0]
        right = min(1.0, max(4.0 * self.max_fpr, 1.2 * seen)) if xlim is None else xlim
        grid = np.linspace(0.0, right, 400)
        low, high = self.band(grid)
        label = f"{100 * self.confidence:g} % band for the whole curve"
        self.band_ = ax.fill_between(grid, low, high, color="#9db4c0", alpha=0.35, linewidth=0, label=label)
        x, y = 1.0 - self.frontier.tnr[::-1], self.frontier.tpr[::-1]
        style = {"color": "#1f4e79", "label": self.name or "ROC", "drawstyle": "steps-post", **kwargs}
        (self.line_,) = ax.plot(x, y, **style)
        self.cap_ = ax.axvline(
            self.max_fpr, color="#c1440e", linestyle="--", linewidth=1, label=f"cap {self.max_fpr:g}"
        )
        self.point_ = None
        if self.point is not None:
            text = f"FPR {self.point[0]:.3f}, TPR {self.point[1]:.3f}"
            (self.point_,) = ax.plot(*self.point, "o", color="#c1440e", markersize=8, zorder=5, label=text)
        ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0.0, right), ylim=(0.0, 1.02))
        ax.legend(loc="best", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
