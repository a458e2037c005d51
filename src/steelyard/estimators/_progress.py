"""Progress of a long call, for ``verbose >= 1``: how many of how many, how long still, what is tried, the best so far.

The learner never prints: a solver tells a callback, and what is told is shown here. A bar of rich where it is installed
and the output is a terminal, of tqdm there or in a notebook, else lines. All of it goes to standard error: standard
output belongs to results.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TextIO, TypeVar

State = TypeVar("State")  # what a solver shows to who watches it


def say(line: str) -> None:
    """A line among the progress."""
    print(line, file=sys.stderr)


class _Shown:
    """A bar with words beside it, or lines: one in so many seconds at most (all for ``verbose >= 2``), and the last."""

    def __init__(
        self, verbose: int, total: float | None, *, every: float = 0.0, bar_of: str = "", out: TextIO | None = None
    ) -> None:
        self._on, self._total, self._all = bool(verbose), total, bool(verbose and verbose > 1)
        self._every = 0.0 if self._all else every
        self._out = sys.stderr if out is None else out
        self._done, self._counted, self._message, self._unsaid = 0.0, "", "", False
        self._start = self._last = self._told = time.perf_counter()
        terminal = self._on and self._out.isatty()
        self._rich = _rich(self._out, self._words) if terminal else None
        self._task = None if self._rich is None else self._rich.add_task("", total=total)
        live = terminal or (self._on and "ipykernel" in sys.modules)
        self._tqdm = _tqdm(total, self._out, bar_of) if live and bar_of and self._rich is None else None

    def _show(self, done: float, counted: str, message: str, every: float | None = None) -> None:
        """So much of the total is done; `counted` says it in words."""
        if not self._on:
            return
        now = self._last = time.perf_counter()
        moved, self._done, self._counted, self._message = done - self._done, done, counted, message
        if self._rich is not None:
            self._rich.update(self._task, completed=done)
        elif self._tqdm is not None:
            self._tqdm.set_postfix_str(message, refresh=False)
            self._tqdm.update(int(moved))
        else:
            self._unsaid = now - self._told < (self._every if every is None else every)
            if not self._unsaid:
                self._told = now
                print(self._words(), file=self._out)

    def _words(self) -> str:
        return ": ".join(filter(None, (", ".join(filter(None, (self._counted, self._left()))), self._message)))

    def _left(self) -> str:
        """If the rest goes like what is done; the clock goes on between two reports."""
        if not self._total or not 0.0 < self._done < self._total:
            return ""
        there, now = self._last - self._start, time.perf_counter()
        left = there * (self._total / self._done - 1.0) - (now - self._last)
        if left < -1.0:
            return "longer than expected"
        left = max(1.0, left)
        return f"about {left:.0f} s left" if left < 120.0 else f"about {left / 60.0:.0f} min left"

    def __enter__(self) -> Self:
        if self._rich is not None:
            self._rich.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for bar, end in ((self._rich, "stop"), (self._tqdm, "close")):
            if bar is not None:
                getattr(bar, end)()
        if self._unsaid and kind is None:
            print(self._words(), file=self._out)


class Progress(_Shown):
    """Rows learned of so many (None: a stream without an end that is known), rows a second and a message."""

    def __init__(self, verbose: int, total: int | None = None, out: TextIO | None = None) -> None:
        super().__init__(verbose, total, every=1.0, bar_of=" rows", out=out)
        self._told = -math.inf  # the first rows are told at once: the next may be long in coming

    def update(self, rows: int, message: str = "") -> None:
        if not self._on:
            return
        done = int(self._done) + rows
        speed = done / max(time.perf_counter() - self._start, 1e-9)
        of = "" if self._total is None else f" of {self._total:,}"
        self._show(done, f"{done:,}{of} rows, {speed:,.0f} rows/s", message)


class Steps(_Shown):
    """Steps of a search whose number is known: a line a step where there is no bar."""

    def __init__(self, verbose: int, total: int, out: TextIO | None = None) -> None:
        super().__init__(verbose, total, bar_of=" steps", out=out)
        self._counted = f"0 of {total}"

    def say(self, message: str) -> None:
        """What is being done: at most once a second where there is no bar."""
        self._show(self._done, self._counted, message, every=0.0 if self._all else 1.0)

    def step(self, message: str) -> None:
        """One more is done."""
        done = int(self._done) + 1
        self._show(done, f"{done} of {self._total}", message)


class Share(_Shown):
    """A search whose end is estimated: the share that is done is told, and nothing else is known."""

    def __init__(self, verbose: int, out: TextIO | None = None) -> None:
        super().__init__(verbose, 1.0, every=1.0, out=out)

    def at(self, share: float, message: str) -> None:
        self._show(share, f"about {100.0 * share:.0f} %", message)


@contextmanager
def watching(
    verbose: int, name: str, said: Callable[[State], tuple[float, str]], out: TextIO | None = None
) -> Iterator[Callable[[State], None] | None]:
    """What watches a solver, None where nobody does: the share and the words that `said` makes of what it shows."""
    if not verbose:
        yield None
        return
    with Share(verbose, out) as shown:
        shown._message = name

        def watch(state: State) -> None:
            share, words = said(state)
            shown.at(share, f"{name}, {words}")

        yield watch


def _tqdm(total: float | None, out: TextIO, unit: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit=unit, unit_scale=unit == " rows", file=out)


def _rich(out: TextIO, words: Callable[[], str]) -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn
        from rich.table import Column
        from rich.text import Text
    except ImportError:
        return None

    class Words(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(words())

    bar, words_beside = Column(min_width=24), Column(no_wrap=True, overflow="ellipsis")
    columns = BarColumn(24, table_column=bar), Words(table_column=words_beside)
    return Progress(*columns, console=Console(file=out), transient=True)
