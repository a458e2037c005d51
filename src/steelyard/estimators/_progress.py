"""Progress of a long call: a bar where tqdm is installed, plain lines where it is not.

The learner never prints. What watches it is one object with `update(rows, message)`, for a `with` statement.
"""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO


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


def _tqdm(total: int | None, out: TextIO) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit=" rows", unit_scale=True, file=out)
