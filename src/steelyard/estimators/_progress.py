"""Progress of a long call: a bar where tqdm is installed, plain lines where it is not.

The learner never prints. What watches it is one object with `update(rows, message)`, for a `with` statement.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO, TypeVar

State = TypeVar("State")  # what a solver shows to who watches it


class Progress:
    """Rows learned, rows a second and a message, for ``verbose >= 1``; does nothing for 0."""

    def __init__(self, verbose: int, total: int | None = None, out: TextIO | None = None) -> None:
        self._on, self._start, self._rows = bool(verbose), time.perf_counter(), 0
        self._out = sys.stderr if out is None else out
        self._bar = _tqdm(total, self._out) if self._on else None

    def update(self, rows: int, message: str = "") -> None:
        if not self._on:
            return
        self._rows += rows
        if self._bar is not None:
            self._bar.set_postfix_str(message, refresh=False)
            self._bar.update(rows)
            return
        speed = self._rows / max(time.perf_counter() - self._start, 1e-9)
        print(f"{self._rows:,} rows, {speed:,.0f} rows/s {message}", file=self._out)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _tqdm(total: int | None, out: TextIO, unit: str = " rows") -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit=unit, unit_scale=unit == " rows", file=out)


class Steps:
    """Steps of a search: how many of how many, what is tried, the best so far, and the time left, for ``verbose >= 1``.

    A bar of rich where it is installed and the output is a terminal, of tqdm where that is, else a line a step.
    """

    def __init__(self, verbose: int, total: int, out: TextIO | None = None) -> None:
        self._on, self._total, self._done, self._start = bool(verbose), total, 0, time.perf_counter()
        self._out = sys.stderr if out is None else out
        self._rich = _rich(self._out) if self._on and self._out.isatty() else None
        self._task = None if self._rich is None else self._rich.add_task("", total=total)
        self._bar = _tqdm(total, self._out, " steps") if self._on and self._rich is None else None

    def say(self, message: str) -> None:
        """What comes next."""
        if self._rich is not None:
            self._rich.update(self._task, description=message)
        elif self._bar is not None:
            self._bar.set_postfix_str(message)

    def step(self, message: str) -> None:
        """One more is done."""
        self._done += 1
        self.say(message)
        if self._rich is not None:
            self._rich.advance(self._task)
        elif self._bar is not None:
            self._bar.update(1)
        elif self._on:
            left = (time.perf_counter() - self._start) / self._done * (self._total - self._done)
            print(f"{self._done} of {self._total}, {left:.0f} s left: {message}", file=self._out)

    def __enter__(self) -> Steps:
        if self._rich is not None:
            self._rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        for bar, end in ((self._rich, "stop"), (self._bar, "close")):
            if bar is not None:
                getattr(bar, end)()


def _rich(out: TextIO) -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    columns = BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False)
    return Progress(*columns, console=Console(file=out), transient=True)


def watching(verbose: int, out: TextIO | None = None) -> Callable[[Any], None] | None:
    """What watches an exploration for ``verbose >= 1``: how many models on how many rows, and the best so far. How long
    the race takes is not known beforehand."""
    if not verbose:
        return None
    start = time.perf_counter()

    def watch(exploration: Any) -> None:
        try:
            best = exploration.best()
            said = f"best {best.point.value:.4f}, {best.model}"
        except ValueError:  # an InfeasibleError, on few rows
            said = "none meets the constraints yet"
        rows, seconds = exploration.sample.data.rows.n_rows, time.perf_counter() - start
        where = sys.stderr if out is None else out
        print(f"{len(exploration.candidates)} models on {rows:,} rows, {seconds:.1f} s: {said}", file=where)

    return watch


def now_and_then(
    verbose: int, say: Callable[[State], None], clock: Callable[[], float] = time.perf_counter
) -> Callable[[State], None] | None:
    """What watches the rounds of a solver: all of them for ``verbose >= 2``, one a second for 1, none for 0."""
    if not verbose:
        return None
    if verbose > 1:
        return say
    last = clock()

    def watch(state: State) -> None:
        nonlocal last
        if (now := clock()) - last >= 1.0:
            last = now
            say(state)

    return watch
