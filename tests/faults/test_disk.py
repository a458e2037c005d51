"""Killed or failed at every call of the disk: the old file or the new one is there, whole, and nothing else.

``STEELYARD_FAULTS=full`` kills 500 times at random instead of 20, and lets a run write twelve checkpoints instead of
three.
"""

import json
import subprocess
import sys
from pathlib import Path

from faults import FULL

HERE = Path(__file__).parent
N_KILLS, N_CHUNKS = (500, 12) if FULL else (20, 3)
MODEL = [f"model: {how}" for how in ("kill before", "kill after", "ENOSPC", "EIO", "short", "half", "lie")]
CHECKPOINT = [f"checkpoint: {how}" for how in ("kill before", "kill after")]


def tried(cases, folder):
    """How often each case was tried; all of them went right."""
    ended = subprocess.run(
        [sys.executable, str(HERE / "broken_disk.py"), str(folder), str(N_KILLS), str(N_CHUNKS), *cases],
        capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [one["wrong"] for one in found] == [[]] * len(cases), ended.stderr[-3000:]
    return [one["tries"] for one in found]


def test_a_model_is_saved_or_the_old_one_is_there(tmp_path):
    assert min(tried(MODEL, tmp_path)) >= 10


def test_a_killed_run_goes_on_from_its_checkpoint_with_the_same_bits(tmp_path):
    assert min(tried(CHECKPOINT, tmp_path)) > 25


def test_a_run_killed_at_random_goes_on_with_the_same_bits(tmp_path):
    assert tried(["random kills"], tmp_path) >= [N_KILLS]
