"""Killed or failed at every call of the disk: the old file or the new one is there, whole, and nothing else.

``STEELYARD_FAULTS=full`` kills 500 times at random instead of 20, and lets a run write twelve checkpoints instead of
three.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faults import FULL

HERE = Path(__file__).parent
pytestmark = pytest.mark.slow
N_KILLS, N_CHUNKS = (500, 12) if FULL else (20, 3)
FAULTS = ("kill before", "kill after", "ENOSPC", "EIO", "short", "half", "lie")
MODEL, CHECKPOINT = ([f"{what}: {how}" for how in FAULTS] for what in ("model", "checkpoint"))


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """How often each case was tried, by one process for all; all of them went right."""
    cases, folder = [*MODEL, *CHECKPOINT, "random kills"], tmp_path_factory.mktemp("disk")
    ended = subprocess.run(
        [sys.executable, str(HERE / "broken_disk.py"), str(folder), str(N_KILLS), str(N_CHUNKS), *cases],
        capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert {one["case"]: one["wrong"] for one in found} == {case: [] for case in cases}, ended.stderr[-3000:]
    return {one["case"]: one["tries"] for one in found}


def test_a_model_is_saved_or_the_old_one_is_there(tried):
    assert min(tried[name] for name in MODEL) >= 10


def test_a_run_that_was_killed_or_had_a_broken_disk_goes_on_from_its_checkpoint_with_the_same_bits(tried):
    assert min(tried[name] for name in CHECKPOINT) > 25


def test_a_run_killed_at_random_goes_on_with_the_same_bits(tried):
    assert tried["random kills"] >= N_KILLS
