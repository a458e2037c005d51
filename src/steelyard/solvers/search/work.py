"""How far a search is: models times the rows that each is fitted on, done and likely to come.

On adult, ijcnn1, covertype, a9a and letter a model and a row took between a third and three times as long in a round of
the race as in the whole search, so the share of the work is about that of the time. What is to come is a guess, which
the search corrects as it goes: when a race has dropped models.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FINAL = 2.0  # models: the chosen one is solved to a tenth of the tolerance of the others


@dataclass(frozen=True)
class State:
    """What a callback sees: about what share is done, what that was, and the best value so far with its model."""

    share: float
    doing: str
    best: tuple[float, Any] | None = None

    def told(self) -> tuple[float, str]:
        """The share, and the rest in words."""
        best = "" if self.best is None else f"; best so far {self.best[0]:.4f}, {self.best[1]}"
        return self.share, self.doing + best


class Work:
    """Counts the work, and tells a callback of it; several threads may. So much comes `after` the search."""

    def __init__(self, callback: Callable[[State], None], after: float = 0.0) -> None:
        self._callback, self._after, self._lock = callback, after, threading.Lock()
        self._start = time.perf_counter()
        self._part: tuple[str, float] | None = None
        self._done, self._left = 0.0, 0.0
        self._best: tuple[float, Any] | None = None

    def expect(self, left: float) -> None:
        """From here to the end of the search, so many models times rows."""
        self._left = left + self._after

    def did(self, amount: float, doing: str, best: tuple[float, Any] | None = None) -> None:
        """So much of it; the best so far stays until there is another."""
        with self._lock:
            self._done, self._left = self._done + amount, max(self._left - amount, 0.0)
            self._best = self._best if best is None else best
            whole = self._done + self._left
            self._callback(State(self._done / whole if whole > 0.0 else 0.0, doing, self._best))

    def part(self, share: float, doing: str) -> None:
        """Of a part that knows how far it is itself: the time that it takes counts, not a guess of its work."""
        now = time.perf_counter()
        if self._part is None or self._part[0] != doing:
            self._part = doing, now
        passed, before = now - self._start, self._part[1] - self._start
        left = (now - self._part[1]) * (1.0 / share - 1.0) if share > 0.0 else 0.0
        left += before * self._left / self._done if self._done > 0.0 else 0.0
        self._callback(State(passed / max(passed + left, 1e-9), doing, self._best))
