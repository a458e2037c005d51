"""Tasks side by side on the cores there are, ended together.

The core releases the GIL, so threads of Python are enough where the tasks are few and each is one long call after the
other: the folds of a small sample, which threads inside a fit are too slow to start for. The caller works too, so that
signals are heard; a thread that the system will not give means one less, never an error; and when a task fails, or a
signal ends the caller's own, the others hear of it within 50 ms (`_core.Halt`) and nothing goes on behind its back.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from ._core import Halt

Result = TypeVar("Result")


def available_cores() -> int:
    """Cores that this process may use: as it was bound, and as OMP_NUM_THREADS says, with which joblib and others tell
    their workers to share."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(bound, int(told))) if told.isdecimal() and int(told) > 0 else bound


def side_by_side(tasks: Sequence[Callable[[], Result]], n_threads: int) -> list[Result]:
    """What the tasks return, in their order; the first failure is raised.

    >>> side_by_side([lambda: 1, lambda: 2], n_threads=2)
    [1, 2]
    """
    if min(n_threads, len(tasks)) <= 1:
        return [task() for task in tasks]
    found: dict[int, Result] = {}
    failed: list[BaseException] = []
    left = deque(enumerate(tasks))
    halt = Halt()

    def work() -> None:
        while left and not failed:
            try:
                k, task = left.popleft()
            except IndexError:  # another thread took the last one
                return
            found[k] = task()

    def worker() -> None:
        halt.heed()
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = _started(worker, min(n_threads, len(tasks)) - 1)
    try:
        work()
        for thread in threads:
            thread.join()
    except BaseException:
        left.clear()
        halt.set()
        for thread in threads:
            thread.join()
        raise
    if failed:
        raise failed[0]
    return [found[k] for k in range(len(tasks))]


def _started(worker: Callable[[], None], count: int) -> list[threading.Thread]:
    threads: list[threading.Thread] = []
    for _ in range(count):
        thread = threading.Thread(target=worker, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            break
        threads.append(thread)
    return threads
