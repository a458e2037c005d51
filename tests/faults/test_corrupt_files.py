"""Damaged files are refused, and forged ones too, or give a model that answers: no crash, no hang, no other error.

Each kind of file is tried in a process of its own: 150 kinds of damage and 40 forgeries, of a few kinds by default and
of all kinds with ``-m slow``; with ``STEELYARD_FAULTS=full`` as well it is 10,000 and 2,000 for each.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard as sy
from faults import FULL, saved_models
from faults.broken_disk import learn

HERE = Path(__file__).parent
NEEDS_SKOPS = pytest.mark.skipif(importlib.util.find_spec("skops") is None, reason="skops is not installed")
WITH_SKOPS = [pytest.param(name, marks=NEEDS_SKOPS) for name in saved_models.SKOPS]
QUICK = ("path", "checkpoint")  # a checkpoint holds an online learner
N_DAMAGED, N_FORGED = (10_000, 2_000) if FULL else (150, 40)


def written(name, folder):
    """A file of that kind."""
    if name == "checkpoint":
        learn(folder / "run.ckpt")
        return folder / "run.ckpt"
    sy.save(saved_models.make(name), folder / "model.sy")
    return folder / "model.sy"


def check(name, folder):
    counts = (N_DAMAGED, N_FORGED)
    ended = subprocess.run(
        [sys.executable, str(HERE / "corrupt.py"), str(written(name, folder)), *map(str, counts), name],
        capture_output=True, text=True, timeout=60 + 0.5 * sum(counts),
    )  # fmt: skip
    assert ended.returncode == 0, f"code {ended.returncode}: {ended.stderr[-3000:]}"
    damaged, forged = ended.stdout.splitlines()
    assert damaged == "damage: 0 loaded, 0 answered"
    assert forged.startswith("forge: ")


@pytest.mark.parametrize("name", QUICK)
def test_damaged_and_forged_files(name, tmp_path):
    check(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*saved_models.PLAIN, *WITH_SKOPS, "checkpoint"])
def test_damaged_and_forged_files_of_every_kind(name, tmp_path):
    check(name, tmp_path)
