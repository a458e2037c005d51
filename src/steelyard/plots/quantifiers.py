"""Pictures of quantifiers: estimated against true prevalence, error over the shift, and bias.

Given the tables of `quantification.protocols.evaluate` for one or more quantifiers on one protocol. The three views
are those of the field: the diagonal (estimate against truth), the error by how far the batch moved from the training
balance, and the signed error, overall or by bins of the true prevalence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..quantification import errors as _errors
from ..quantification.protocols import Protocol, evaluate
from ._axes import axes_or_new

COLOURS = ("#1f4e79", "#c1440e", "#2e7d32", "#777777", "#8e44ad", "#b8860b")


class _TableDisplay:
    """What the three share: tables by name of the quantifier, of which one class is shown."""

    def __init__(self, tables: Mapping[str, np.ndarray], *, cls: int = -1) -> None:
        if not tables:
            raise ValueError("nothing to draw: give at least one table of steelyard.quantification.protocols.evaluate")
        self.tables = dict(tables)
        self.cls = cls

    @classmethod
    def from_estimator(
        cls, quantifiers: Any, protocol: Protocol, *, ax: Any = None, plot: bool = True, **how: Any
    ) -> Any:
        """From a fitted quantifier, or a dict of them by name, and a protocol; keywords go to the constructor."""
        named = quantifiers if isinstance(quantifiers, Mapping) else {type(quantifiers).__name__: quantifiers}
        display = cls({name: evaluate(one, protocol) for name, one in named.items()}, **how)
        return display.plot(ax=ax) if plot else display

    @classmethod
    def from_predictions(
        cls, prevs_true: Any, prevs_hat: Any, *, name: str = "quantifier", ax: Any = None, plot: bool = True, **how: Any
    ) -> Any:
        """From true and estimated prevalences, one row a batch."""
        true, found = (np.atleast_2d(np.asarray(side, dtype=float)) for side in (prevs_true, prevs_hat))
        if true.shape != found.shape:
            raise ValueError(f"a row of each for every batch is needed; got {true.shape} and {found.shape}")
        table = np.zeros(len(true), dtype=[("true", float, true.shape[1:]), ("estimated", float, true.shape[1:])])
        table["true"], table["estimated"] = true, found
        display = cls({name: table}, **how)
        return display.plot(ax=ax) if plot else display

    def _of_class(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return table["true"][:, self.cls], table["estimated"][:, self.cls]

    def _named(self) -> Any:
        return zip(self.tables.items(), [COLOURS[k % len(COLOURS)] for k in range(len(self.tables))], strict=True)

    def _finish(self, ax: Any, **texts: Any) -> Any:
        ax.set(**texts)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class DiagonalDisplay(_TableDisplay):
    """Estimated against true prevalence: the mean over batches, and a band of one standard deviation.

    Parameters
    ----------
    tables : dict of tables by name
        From `steelyard.quantification.protocols.evaluate`.
    cls : int, default=-1
        The class that is shown, by its place in ``classes_``.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curves : dict of (true, mean, standard deviation) by name

    See Also
    --------
    PriorShiftDisplay : The error by how far the prevalence moved.
    BiasDisplay : The signed error.

    Examples
    --------
    >>> import steelyard as sy
    >>> display = sy.DiagonalDisplay.from_predictions(
    ...     [[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [1.0, 0.0], [0.5, 0.5]], plot=False)
    >>> [part.round(2).tolist() for part in display.curves["quantifier"]]
    [[0.1, 0.6], [0.1, 0.5], [0.1, 0.0]]
    """

    @property
    def curves(self) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        found = {}
        for name, table in self.tables.items():
            true, estimated = self._of_class(table)
            levels, which = np.unique(np.round(true, 9), return_inverse=True)
            parts = [estimated[which == k] for k in range(len(levels))]
            found[name] = (levels, np.array([p.mean() for p in parts]), np.array([p.std() for p in parts]))
        return found

    def plot(self, ax: Any = None) -> DiagonalDisplay:
        """Draw the curves and the diagonal."""
        ax = axes_or_new(ax, (5, 5))
        ax.plot([0, 1], [0, 1], "--", color="0.6", linewidth=1, label="exact")
        for ((name, _), colour), (levels, mean, spread) in zip(self._named(), self.curves.values(), strict=True):
            ax.plot(levels, mean, color=colour, label=name)
            ax.fill_between(levels, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
        ax.legend(loc="upper left", fontsize="small")
        square = {"xlim": (0, 1), "ylim": (0, 1), "aspect": "equal"}
        return self._finish(ax, xlabel="true prevalence", ylabel="estimated prevalence", **square)


class PriorShiftDisplay(_TableDisplay):
    """Mean absolute error by how far the prevalence moved from that of the training rows.

    Prior shift is what the protocols make; the alarm of `StreamQuantifier`, which is for drift in time, is not shown.

    Parameters
    ----------
    tables : dict of tables by name
    prevalence : array of shape (n_classes,)
        Of the training rows.
    bins : int, default=10
    cls : int, default=-1
        The class that is shown, by its place in ``classes_``.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    curves : dict of (shift, error) by name

    See Also
    --------
    DiagonalDisplay : Estimated against true prevalence.
    BiasDisplay : The signed error.

    Examples
    --------
    >>> import steelyard as sy
    >>> display = sy.PriorShiftDisplay.from_predictions(
    ...     [[0.9, 0.1], [0.2, 0.8]], [[0.8, 0.2], [0.5, 0.5]], prevalence=[0.8, 0.2], plot=False)
    >>> [part.round(2).tolist() for part in display.curves["quantifier"]]
    [[0.1, 0.6], [0.1, 0.3]]
    """

    def __init__(self, tables: Mapping[str, np.ndarray], *, prevalence: Any, bins: int = 10, cls: int = -1) -> None:
        super().__init__(tables, cls=cls)
        self.prevalence = np.asarray(prevalence, dtype=float)
        self.bins = bins

    @property
    def curves(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        found = {}
        for name, table in self.tables.items():
            shift = _errors.ae(table["true"], np.broadcast_to(self.prevalence, table["true"].shape))
            error = _errors.ae(table["true"], table["estimated"])
            edges = np.linspace(0.0, max(shift.max(), 1e-12) * (1 + 1e-9), self.bins + 1)
            which = np.digitize(shift, edges) - 1
            used = np.unique(which)
            found[name] = tuple(np.array([v[which == k].mean() for k in used]) for v in (shift, error))
        return found

    def plot(self, ax: Any = None) -> PriorShiftDisplay:
        """Draw the curves."""
        ax = axes_or_new(ax, (5.5, 4))
        for ((name, _), colour), (shift, error) in zip(self._named(), self.curves.values(), strict=True):
            ax.plot(shift, error, "o-", markersize=3.5, color=colour, label=name)
        ax.legend(fontsize="small")
        ax.set_ylim(bottom=0)
        return self._finish(ax, xlabel="absolute difference to the training prevalence", ylabel="mean absolute error")


class BiasDisplay(_TableDisplay):
    """Signed error of each quantifier as boxes, over all batches or by bins of the true prevalence.

    Parameters
    ----------
    tables : dict of tables by name
    bins : int, default=1
        Bins of the true prevalence.
    cls : int, default=-1
        The class that is shown, by its place in ``classes_``.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    errors : dict of lists of signed errors by name, one entry for each bin

    See Also
    --------
    DiagonalDisplay : Estimated against true prevalence.
    PriorShiftDisplay : The error by how far the prevalence moved.

    Examples
    --------
    >>> import steelyard as sy
    >>> display = sy.BiasDisplay.from_predictions([[0.9, 0.1], [0.2, 0.8]], [[0.8, 0.2], [0.5, 0.5]], plot=False)
    >>> display.errors["quantifier"][0].round(2).tolist()
    [0.1, -0.3]
    """

    def __init__(self, tables: Mapping[str, np.ndarray], *, bins: int = 1, cls: int = -1) -> None:
        super().__init__(tables, cls=cls)
        self.bins = bins

    @property
    def errors(self) -> dict[str, list[np.ndarray]]:
        found = {}
        for name, table in self.tables.items():
            true, estimated = self._of_class(table)
            which = np.minimum((true * self.bins).astype(int), self.bins - 1)
            found[name] = [(estimated - true)[which == k] for k in range(self.bins)]
        return found

    def plot(self, ax: Any = None) -> BiasDisplay:
        """Draw the boxes side by side, a group for each bin."""
        ax = axes_or_new(ax, (5.5, 4))
        ax.axhline(0.0, color="0.6", linewidth=1, linestyle="--")
        width = 0.8 / len(self.tables)
        for j, ((name, _), colour) in enumerate(self._named()):
            at = np.arange(self.bins) + (j - (len(self.tables) - 1) / 2) * width
            boxes = ax.boxplot(
                self.errors[name], positions=at, widths=0.85 * width, patch_artist=True, showfliers=False,
                manage_ticks=False, medianprops={"color": "white"},
            )  # fmt: skip
            for box in boxes["boxes"]:
                box.set(facecolor=colour, edgecolor=colour)
            ax.plot([], [], color=colour, linewidth=6, label=name)
        labels = [f"{k / self.bins:.2g} to {(k + 1) / self.bins:.2g}" for k in range(self.bins)]
        ax.set_xticks(np.arange(self.bins), labels)
        ax.legend(fontsize="small")
        return self._finish(ax, xlabel="true prevalence", ylabel="estimated minus true prevalence")
