"""Three journeys from a public name to the loop, each in at most three Python frames.

A frame is a Python function of this library that is at work when the core is called: `partial_fit` -> `learn` -> core is
two. Code that runs and returns before the core is entered (checking parameters, reading X) is not on the way.
Counted at the call into the core that does the work: the longest.
"""

import importlib
import pkgutil
import sys
import time

import numpy as np
import pytest

import steelyard as sy
import steelyard.measures as m
from steelyard import _core

MOST = 3

for package in ("estimators", "solvers", "statistics"):  # what is loaded later would keep a function that is watched
    home = importlib.import_module(f"steelyard.{package}")
    for module in pkgutil.walk_packages(home.__path__, f"{home.__name__}."):
        importlib.import_module(module.name)


def walk(call, monkeypatch):
    """(seconds, frames above it, name) of every call into the core."""
    found = []

    def watched(function, name):
        def record(*args, **options):
            names, began = _frames(sys._getframe(1)), time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                found.append((time.perf_counter() - began, names, name))

        return record

    for owner in [_core, *(kind for kind in vars(_core).values() if isinstance(kind, type))]:
        for name, function in list(vars(owner).items()):
            kind = type(function).__name__
            if kind == "nb_method" and not name.startswith("__"):
                monkeypatch.setattr(owner, name, watched(function, f"{owner.__name__}.{name}"))
            elif kind == "nb_func" and owner is not _core:
                monkeypatch.setattr(owner, name, staticmethod(watched(function, f"{owner.__name__}.{name}")))
            elif kind == "nb_func":
                _replace_everywhere(function, watched(function, name), monkeypatch)
    call()
    return found


def _replace_everywhere(function, by, monkeypatch):
    """In every module of the library that has imported it by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("steelyard"):
            for key, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, key, by)


def _frames(frame):
    names = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("steelyard"):
            names.append(f"{module.removeprefix('steelyard.')}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return names[::-1]


def rows(n=3000, d=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 1.5).astype(int)


def stream():
    X, y = rows(100_000)
    learner = sy.OnlineClassifier(m.FBeta(1), random_state=0).partial_fit(X, y, classes=[0, 1])
    return lambda: learner.partial_fit(X, y)


def path():
    X, y = rows()
    return lambda: sy.CostPath(C=1.0, method="exact").fit(X, y)


def path_approximate():
    X, y = rows()
    return lambda: sy.CostPath(C=1.0, method="approximate").fit(X, y)


def best():
    X, y = rows()
    X_val, y_val = rows(20_000)
    fitted = sy.CostPath(C=1.0, method="exact").fit(X[:1000], y[:1000])
    return lambda: fitted.best(m.FBeta(1), X_val, y_val)


def neyman_pearson():
    X, y = rows(2000)
    return lambda: sy.NeymanPearsonClassifier(0.1, delta=0.1, random_state=0).fit(X, y)


JOURNEYS = {
    "OnlineClassifier.partial_fit": stream,
    "CostPath.fit": path,
    "CostPath.fit, approximate": path_approximate,
    "CostPath.best": best,
    "NeymanPearsonClassifier.fit": neyman_pearson,
}


@pytest.mark.parametrize("journey", JOURNEYS)
def test_three_frames_to_the_loop(journey, monkeypatch):
    found = walk(JOURNEYS[journey](), monkeypatch)
    assert found, "the core was never called"
    _, names, loop = max(found)
    assert len(names) <= MOST, " -> ".join([*names, loop])
