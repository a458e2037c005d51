"""Streams that do not end, machines that are not idle: scale.py measures, here are the bounds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults import FULL, only_full

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def measured(*args):
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__).parent / "scale.py"), *map(str, args)],
        capture_output=True, text=True, timeout=1800, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout)


@pytest.mark.slow
def test_the_memory_of_a_stream_does_not_grow():
    rows = 10_000_000 if FULL else 2_000_000
    found = measured("growth", rows)
    assert found["known"] == rows
    assert found["bytes"] < 5_000_000


@pytest.mark.slow
@only_full
def test_a_fit_beside_two_busy_loops_takes_at_most_four_times_as_long():
    found = measured("crowd")
    assert found["busy"] <= 4.0 * found["idle"]
