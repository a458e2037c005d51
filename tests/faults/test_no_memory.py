"""No memory is a MemoryError, and the estimator is as it was before.

The shim (no_memory.cpp) is compiled here and loaded before Python; no_memory.py has the tries. By default a few calls of a
few estimators; with ``STEELYARD_FAULTS=full`` the first 2,000 allocations of every call of every estimator, each.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from faults import FULL, only_full, saved_models
from faults.scale import LIMITED

HERE = Path(__file__).parent
NEEDS_SKOPS = pytest.mark.skipif(importlib.util.find_spec("skops") is None, reason="skops is not installed")
NAMES = [*saved_models.PLAIN, *(pytest.param(name, marks=NEEDS_SKOPS) for name in saved_models.SKOPS)]
STRIDE, LIMIT = (1, 2000) if FULL else (40, 400)
COMPILER = shutil.which("g++")
needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux" or "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="needs g++ and the loader of Linux, and no sanitizer that has taken over malloc",
)


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    made = tmp_path_factory.mktemp("shim") / "no_memory.so"
    how = ["-std=c++17", "-O1", "-fPIC", "-shared", "-o", str(made), str(HERE / "no_memory.cpp"), "-ldl"]
    subprocess.run([str(COMPILER), *how], check=True)
    return made


def check(shim, where, limit, stride, name, kinds=()):
    environment = {**os.environ, "LD_PRELOAD": str(shim), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(HERE / "no_memory.py"), str(shim), where, str(limit), str(stride)]
    ended = subprocess.run(
        [*command, name, *kinds], capture_output=True, text=True, env=environment, timeout=60 + 3 * limit
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert found
    assert not any(one["wrong"] for one in found), f"{found}\n{ended.stderr[-3000:]}"
    return found


@needs_compiler
@pytest.mark.parametrize(("name", "kind"), [("online letter", "fit"), ("path", "fit"), ("structural", "fit")])
def test_without_memory_the_core_raises_and_nothing_changes(shim, name, kind):
    (found,) = check(shim, "core", 300, 23, name, [kind])
    assert found["refused"] >= 2


@needs_compiler
@pytest.mark.slow
@only_full
@pytest.mark.parametrize("name", NAMES)
def test_every_call_of_every_estimator_without_memory_in_the_core(shim, name):
    check(shim, "core", LIMIT, STRIDE, name)


@needs_compiler
@pytest.mark.slow
@only_full
@pytest.mark.parametrize("name", NAMES)
def test_and_without_memory_anywhere(shim, name):
    check(shim, "all", LIMIT, STRIDE, name)


def limited(name, times):
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "scale.py"), "limit", name, str(times)],
        capture_output=True, text=True, timeout=300, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, f"{name} with {times} X: code {ended.returncode}, {ended.stderr[-2000:]}"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_limit_on_memory_is_no_crash():
    limited("online cap", 0.3)


@pytest.mark.slow
@only_full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("times", [0.3, 1.5])
@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_on_memory_is_no_crash_of_any_estimator(name, times):
    limited(name, times)
