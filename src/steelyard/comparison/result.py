"""What a comparison found, to print, to draw, to look at in a notebook, and to take the model from."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..statistics.reporting import Figure

KEPT, UNCLEAR, BROKEN = "kept", "within noise", "broken"  # what rows left out say of the constraints


@dataclass(frozen=True)
class Standing:
    """One contender: its measure on rows left out, how far behind the best it is, and what the constraints say."""

    name: str
    value: Figure
    difference: float  # to the recommended one, on the same rows
    error: float  # its standard error
    limits: tuple[Figure, ...]  # what each constraint bounds
    kept: str  # KEPT, UNCLEAR, BROKEN, or "" without constraints
    promised: bool
    seconds: float

    @property
    def is_noise(self) -> bool:
        """Whether the difference is no more than its standard error, twice."""
        return abs(self.difference) <= 2.0 * self.error or self.difference == 0.0


@dataclass(frozen=True)
class Table:
    """Rows under columns, where there is no pandas."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        return [row[self.columns.index(column)] for row in self.rows]

    def __repr__(self) -> str:
        return aligned([self.columns, *([_plain(cell) for cell in row] for row in self.rows)])


class Comparison:
    """The result of `compare`.

    Parameters
    ----------
    facts, best, recommendation
        What `compare` found; it makes the object.

    Attributes
    ----------
    best_ : classifier
        The recommended contender, fitted on all rows.
    best_name_ : str
    recommendation_ : str
        One sentence, which says when a difference is noise.
    standings_ : tuple of Standing
        The contenders, best first.
    failures_ : dict
        Why those are missing that could not take part.
    preparation_ : transformer
        What stands before every model that does not read the table itself.
    predictions_ : dict of ndarray
        The label of every row by every contender, from a model that had not seen it.

    See Also
    --------
    compare : Makes one.
    """

    def __init__(self, facts: Facts, best: Any, recommendation: str) -> None:
        self._facts = facts
        self.best_, self.recommendation_ = best, recommendation
        self.best_name_ = facts.standings[facts.best].name
        self.standings_ = facts.standings
        self.failures_, self.preparation_, self.predictions_ = facts.failures, facts.preparation, facts.predictions

    def frame(self) -> Any:
        """A row a contender, best first: a pandas data frame where pandas is installed, else a plain `Table`."""
        facts = self._facts
        columns = ["contender", facts.measure, "low", "high", "difference", "standard error", "noise"]
        columns += [part for name in facts.bounded for part in (name, f"{name}, low", f"{name}, high")]
        columns += (["constraints", "promised"] if facts.bounded else []) + ["seconds"]
        rows = []
        for one in self.standings_:
            cells: list[Any] = [one.name, one.value.value, one.value.low, one.value.high, one.difference, one.error]
            cells += [one.is_noise] + [end for limit in one.limits for end in (limit.value, limit.low, limit.high)]
            cells += ([one.kept, one.promised] if facts.bounded else []) + [one.seconds]
            rows.append(tuple(cells))
        try:
            import pandas
        except ImportError:
            return Table(tuple(columns), tuple(rows))
        return pandas.DataFrame(rows, columns=columns).set_index("contender")

    def plot(self, ax: Any = None) -> Any:
        """The measure of every contender with its interval; those that break a constraint are hollow."""
        from ..plots._axes import axes_or_new

        ax = axes_or_new(ax, (7.0, 1.2 + 0.32 * len(self.standings_)))
        for k, one in enumerate(reversed(self.standings_)):
            colour = "C1" if one.name == self.best_name_ else "C0"
            ax.plot([one.value.low, one.value.high], [k, k], color=colour, linewidth=1.5)
            face = "none" if one.kept == BROKEN else colour
            ax.plot(one.value.value, k, "o", color=colour, markerfacecolor=face)
        ax.set_yticks(range(len(self.standings_)), [one.name for one in reversed(self.standings_)])
        broken = any(one.kept == BROKEN for one in self.standings_)
        hollow = "\nhollow: breaks a constraint" if broken else ""
        ax.set_xlabel(f"{self._facts.measure} on rows left out, {100 * self._facts.confidence:g} % intervals{hollow}")
        ax.grid(axis="x", alpha=0.3)
        return ax

    def __repr__(self) -> str:
        lines = [self._head(), "", aligned([self._titles(), *self._cells()]), "", self.recommendation_]
        lines += [f"Could not take part: {name} ({why})" for name, why in self.failures_.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For notebooks; names and reasons are text, whatever is in them."""
        from sklearn.utils import estimator_html_repr

        titles = "".join(f"<th>{html.escape(title)}</th>" for title in self._titles())
        body = "".join(
            f"<tr{' style=font-weight:bold' if one.name == self.best_name_ else ''}>"
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            + "</tr>"
            for one, cells in zip(self.standings_, self._cells(), strict=True)
        )
        missing = "".join(f"<li>{html.escape(f'{name}: {why}')}</li>" for name, why in self.failures_.items())
        return (
            f"<div><p>{html.escape(self._head())}</p><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{html.escape(self.recommendation_)}</p>"
            + (f"<p>Could not take part:</p><ul>{missing}</ul>" if missing else "")
            + "<details><summary>the table is prepared by</summary>"
            + f"{estimator_html_repr(self.preparation_)}</details></div>"
        )

    def _head(self) -> str:
        facts = self._facts
        under = f" subject to {', '.join(facts.spelled)}" if facts.spelled else ""
        promise = f", promised but for {100 * facts.delta:g} %" if facts.delta is not None else ""
        return f"{facts.measure}{under}{promise}, on {facts.n_judged:,} rows left out in {facts.n_folds} folds"

    def _titles(self) -> list[str]:
        facts = self._facts
        bounded = [*facts.bounded, "constraints"] if facts.bounded else []
        return ["contender", facts.measure, "behind the best", *bounded, "seconds"]

    def _cells(self) -> Iterator[list[str]]:
        for one in self.standings_:
            behind = "" if one.name == self.best_name_ else f"{one.difference:+.4f} ± {one.error:.4f}"
            behind += " (noise)" if behind and one.is_noise else ""
            limits = [f"{limit.value:.4f} [{limit.low:.4f}, {limit.high:.4f}]" for limit in one.limits]
            kept = [one.kept + (", promised" if one.promised else "")] if self._facts.bounded else []
            value = f"{one.value.value:.4f} [{one.value.low:.4f}, {one.value.high:.4f}]"
            yield [one.name, value, behind, *limits, *kept, f"{one.seconds:.1f}"]


@dataclass(frozen=True)
class Facts:
    """All that a comparison knows but the model itself; `best` is the number of the recommended standing."""

    measure: str
    spelled: tuple[str, ...]  # the constraints
    bounded: tuple[str, ...]  # their left sides
    delta: float | None
    confidence: float
    n_judged: int
    n_folds: int
    standings: tuple[Standing, ...]
    best: int
    failures: dict[str, str]
    preparation: Any
    predictions: dict[str, Any]


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """A table of text, the first line its titles."""
    wide = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    shown = ["  ".join(f"{cell:<{w}}" for cell, w in zip(line, wide, strict=True)).rstrip() for line in lines]
    return "\n".join([shown[0], "-" * len(shown[0]), *shown[1:]])


def _plain(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
