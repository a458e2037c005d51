"""One round: a function of every partition, and the sum of what it gives, in an order that is always the same.

Tasks are plain ones. What all of them need (models, a few numbers a column) is a task of its own, so that it is sent to
each worker once and made again with whatever is lost. Sums go up a tree of `FAN` branches in the order of partitions,
and floating point sees the same additions whichever worker does them. With a client of `distributed` the tasks are
futures and somebody watches them: when no worker is left, or the scheduler is gone, that is an error with a name and
not a wait without end. Without one they go to Dask's default scheduler.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from .journal import Journal

FAN = 16  # branches of the tree: a thousand partitions are three levels, and a node adds numbers of the size of a model
LOOK = 1.0  # seconds between two looks at whether there still are workers
PATIENCE = 60.0  # seconds without any worker: a cluster that replaces one takes less (LocalCluster: about two)


class ClusterLostError(RuntimeError):
    """There is nobody left to compute; the fit can go on from its checkpoint, if it has one."""


def add(parts: Sequence[Any]) -> Any:
    """The sum of tuples of arrays, of lists, or of whatever adds up, from left to right."""
    total = parts[0]
    for part in parts[1:]:
        total = tuple(a + b for a, b in zip(total, part, strict=True)) if isinstance(total, tuple) else total + part
    return total


def _apply(function: Callable[..., Any], part: Any, given: tuple[Any, ...]) -> Any:
    return function(part, *given)


def _same(*given: Any) -> tuple[Any, ...]:
    return given


class Rounds:
    """The partitions (delayed), and how often they were asked."""

    def __init__(self, parts: Sequence[Any], journal: Journal | None = None, patience: float = PATIENCE) -> None:
        self.parts, self.journal, self.patience = list(parts), journal, patience
        self.count = 0

    def ask(
        self, function: Callable[..., Any], *given: Any, combine: Callable[..., Any] = add, keep: bool = True
    ) -> Any:
        """`function(part, *given)` of all partitions, combined in their order; `keep`: in the journal, if there is
        one."""
        self.count += 1
        if self.journal is None or not keep:
            return self._ask(function, given, combine)
        return self.journal.answer(function.__name__, given, lambda: self._ask(function, given, combine))

    def _ask(self, function: Callable[..., Any], given: tuple[Any, ...], combine: Callable[..., Any]) -> Any:
        from dask import delayed

        shared = delayed(_same, pure=False)(*given)
        apply, gather = delayed(_apply, pure=False), delayed(combine, pure=False)
        level = [apply(function, part, shared) for part in self.parts]
        while len(level) > 1:
            level = [gather(level[k : k + FAN]) if k + 1 < len(level) else level[k] for k in range(0, len(level), FAN)]
        return computed(level[0], self.patience)


def client_of() -> Any:
    """The default client of `distributed`; None where there is none."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def computed(wanted: Any, patience: float = PATIENCE) -> Any:
    """The value of something delayed, or an error when nobody is left to compute it."""
    client = client_of()
    return wanted.compute() if client is None else _watched(client, client.compute(wanted), patience)


def _watched(client: Any, future: Any, patience: float) -> Any:
    from concurrent.futures import CancelledError

    from distributed.scheduler import KilledWorker

    from distributed import TimeoutError as NotYet

    alone_since: float | None = None
    while True:
        try:
            return future.result(timeout=LOOK)
        except NotYet:
            pass
        except KilledWorker as error:
            raise ClusterLostError(
                f"the workers that computed a partition died again and again ({error}). Is a partition too large for a "
                "worker's memory? Give more and smaller partitions"
            ) from error
        except CancelledError as error:
            raise ClusterLostError(f"the scheduler has lost this fit, as after a restart ({error}). {GO_ON}") from error
        if client.status != "running":
            raise ClusterLostError(f"the connection to the scheduler is {client.status}. {GO_ON}")
        if _n_workers(client):
            alone_since = None
            continue
        alone_since = alone_since or time.monotonic()
        if time.monotonic() - alone_since > patience:
            raise ClusterLostError(
                f"for {patience:.0f} seconds the cluster has had no worker that runs: all are gone, or paused for "
                f"lack of memory (then give smaller partitions, or more memory). {GO_ON}"
            )


GO_ON = "Start the cluster again and call fit again: with checkpoint=... it goes on from the last round"


def _n_workers(client: Any) -> int:
    """Those that run: one that is paused takes no task, and may never go on."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(worker.get("status", "running") == "running" for worker in workers)
