"""Threads that train one estimator do it one after another."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()  # no attributes: a lock cannot be pickled
_guard = threading.Lock()


def in_turn(estimator: Any) -> threading.RLock:
    """The lock of an estimator; the thread that has it may take it again."""
    with _guard:
        return _locks.setdefault(estimator, threading.RLock())
