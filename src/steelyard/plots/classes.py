"""Several classes: whom rows are called before and after the offsets, and what the offset of each class trades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..estimators._offsets import class_scores
from ..statistics.frontier import Frontier, scan
from ..statistics.offsets import ScoredClasses
from ._axes import axes_or_new

Array = NDArray[np.float64]

MOST_TEXT = 12  # classes up to which the shares are written into the cells: more would not be read


def scored_by(estimator: Any, X: Any, y: Any) -> ScoredClasses:
    """The rows as a fitted `ThresholdClassifier` of several classes sees them, before its offsets."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "offsets_"):
        raise ValueError(
            f"{type(estimator).__name__} has no offsets of several classes: fit ThresholdClassifier with a measure "
            "such as macro(FBeta(1)). FrontierDisplay is for two classes"
        )
    labels, classes = np.asarray(y), estimator.classes_
    unknown = sorted(set(np.unique(labels).tolist()) - set(classes.tolist()))
    if unknown:
        raise ValueError(f"y has labels {unknown} that are none of the classes {classes.tolist()}")
    scores = class_scores(estimator.estimator_, X, estimator.response_method, classes)
    return ScoredClasses.of(scores, np.searchsorted(classes, labels), classes.tolist(), None)


class ClassConfusionDisplay:
    """The confusion matrix of a model's argmax beside that of the same model with offsets.

    Cells are shares of the true class, so that the diagonal has the recalls. Use `from_estimator`.

    Parameters
    ----------
    before, after : ndarray of shape (n_classes, n_classes)
        Confusion matrices, each row divided by its sum.
    classes : sequence
        The labels.

    Attributes
    ----------
    axes_, figure_ : the two matplotlib Axes, and the Figure

    See Also
    --------
    ClassFrontierDisplay : What the offset of each class trades.

    Examples
    --------
    >>> import numpy as np, steelyard as sy
    >>> display = sy.ClassConfusionDisplay(np.eye(3), np.eye(3), ["a", "b", "c"])
    >>> display.after.diagonal()
    array([1., 1., 1.])
    """

    def __init__(self, before: Array, after: Array, classes: Sequence[Any]) -> None:
        self.before = before
        self.after = after
        self.classes = list(classes)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, axes: Any = None, plot: bool = True) -> Any:
        """From a fitted `ThresholdClassifier` of several classes and labelled rows, best ones it has not seen."""
        rows = scored_by(estimator, X, y)
        found = []
        for offsets in (np.zeros(len(rows.classes)), estimator.offsets_):
            cells = rows.at(offsets).confusion
            assert cells is not None
            found.append(cells / cells.sum(axis=1, keepdims=True))
        display = cls(found[0], found[1], rows.classes)
        return display.plot(axes) if plot else display

    def plot(self, axes: Any = None) -> ClassConfusionDisplay:
        """Draw on two axes, or on new ones."""
        if axes is None:
            first = axes_or_new(None, (9.0, 4.2))
            figure = first.figure
            first.remove()
            axes = figure.subplots(1, 2, sharey=True)
        names = [str(label) for label in self.classes]
        for ax, cells, title in zip(axes, (self.before, self.after), ("argmax", "with offsets"), strict=True):
            ax.imshow(cells, cmap="Blues", vmin=0.0, vmax=1.0)
            ax.set(title=f"{title}: least recall {np.nanmin(cells.diagonal()):.2f}", xlabel="called")
            ax.set_xticks(range(len(names)), names, rotation=45 if len(names) > 6 else 0)
            ax.set_yticks(range(len(names)), names)
            if len(names) <= MOST_TEXT:
                _write_shares(ax, cells)
        axes[0].set_ylabel("true class")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def _write_shares(ax: Any, cells: Array) -> None:
    for (i, j), share in np.ndenumerate(cells):
        if share >= 0.005:  # what would be written as 0.00 is left out
            ax.text(
                j, i, f"{share:.2f}", ha="center", va="center", fontsize=8, color="white" if share > 0.5 else "#1f4e79"
            )


class ClassFrontierDisplay:
    """What the offset of each class trades: its recall against its false alarms, the others' offsets as they are.

    A line has all points that the class passes as its offset rises; the dot is the chosen offset, the cross the argmax
    of the model (all offsets 0), which need not lie on the line. Use `from_estimator`.

    Parameters
    ----------
    frontiers : sequence of Frontier
        One for each class.
    chosen, before : ndarray of shape (n_classes, 2)
        TPR and TNR of each class at the chosen offsets, and at none.
    classes : sequence
        The labels.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    ClassConfusionDisplay : Confusion before and after.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> import steelyard as sy, steelyard.measures as m
    >>> X, y = load_iris(return_X_y=True)
    >>> tuned = sy.ThresholdClassifier(LogisticRegression(), m.worst(m.Recall())).fit(X[::2], y[::2])
    >>> display = sy.ClassFrontierDisplay.from_estimator(tuned, X[1::2], y[1::2], plot=False)
    >>> [round(float(recall), 2) for recall in display.chosen[:, 0]]
    [1.0, 0.96, 0.92]
    """

    def __init__(self, frontiers: Sequence[Frontier], chosen: Array, before: Array, classes: Sequence[Any]) -> None:
        self.frontiers = list(frontiers)
        self.chosen = chosen  # (tpr, tnr) of each class, as are those before
        self.before = before
        self.classes = list(classes)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, plot: bool = True) -> Any:
        """From a fitted `ThresholdClassifier` of several classes and labelled rows, best ones it has not seen."""
        rows = scored_by(estimator, X, y)
        with_offsets, truth = rows.scores + estimator.offsets_, rows.labels.argmax(axis=1)
        found = []
        for k in range(len(rows.classes)):
            others = np.delete(with_offsets, k, axis=1).max(axis=1)
            found.append(scan(with_offsets[:, k] - others, truth == k))
        points = [rows.at(offsets) for offsets in (estimator.offsets_, np.zeros(len(rows.classes)))]
        chosen, before = (np.column_stack([at.tpr, at.tnr]) for at in points)
        display = cls(found, chosen, before, rows.classes)
        return display.plot(ax) if plot else display

    def plot(self, ax: Any = None) -> ClassFrontierDisplay:
        """Draw all classes in one (FPR, TPR) plane."""
        ax = axes_or_new(ax, (5.5, 5.0))
        for k, (found, label) in enumerate(zip(self.frontiers, self.classes, strict=True)):
            (line,) = ax.plot(1.0 - found.tnr, found.tpr, linewidth=1.2, color=f"C{k % 10}", label=str(label))
            ax.plot(1.0 - self.chosen[k, 1], self.chosen[k, 0], "o", color=line.get_color(), zorder=5)
            ax.plot(1.0 - self.before[k, 1], self.before[k, 0], "x", color=line.get_color(), zorder=5)
        ax.plot([], [], "o", color="#555555", label="with offsets")
        ax.plot([], [], "x", color="#555555", label="argmax")
        # Beyond the points there is nothing to choose: a class that is called for half of the others is no class.
        furthest = max(float((1.0 - self.chosen[:, 1]).max()), float((1.0 - self.before[:, 1]).max()), 0.05)
        ax.set(xlim=(-0.01, min(1.02, 2.0 * furthest)), ylim=(-0.02, 1.02))
        ax.set(xlabel="false positive rate of the class", ylabel="recall of the class")
        ax.legend(loc="lower right", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
