"""Damaged files are refused, and forged ones too, or give a model that answers: no crash, no hang, no other error.

Each kind of file is tried in a fork of its own: 150 kinds of damage and 40 forgeries, of a few kinds by default and
of all kinds with ``-m slow``; with ``STEELYARD_FAULTS=full`` as well it is 10,000 and 2,000 for each.
"""

import importlib.util
import json
import subprocess
import sys
from functools import cache
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
    folder.mkdir()
    if name == "checkpoint":
        learn(folder / "run.ckpt")
        return folder / "run.ckpt"
    sy.save(saved_models.make(name), folder / "model.sy")
    return folder / "model.sy"


def tried(names, folder):
    """By name: how the fork that tried its file ended and what it said; and what all of them said on stderr."""
    files = [str(written(name, folder / name)) for name in names]
    ended = subprocess.run(
        [sys.executable, str(HERE / "corrupt.py"), str(N_DAMAGED), str(N_FORGED), *files],
        capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = map(json.loads, ended.stdout.splitlines())
    return {Path(one["file"]).parent.name: (one["code"], one["said"]) for one in found}, ended.stderr


def check(name, results):
    (code, said), errors = results[0][name], results[1]
    assert code == 0, f"code {code}: {errors[-3000:]}"
    damaged, forged = said.splitlines()
    assert damaged == "damage: 0 loaded, 0 answered"
    assert forged.startswith("forge: ")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return tried(QUICK, tmp_path_factory.mktemp("quick"))


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """The results of the batch that a name is of; a batch is tried when the first of its names is asked for."""
    names = [*saved_models.PLAIN, *(saved_models.SKOPS if importlib.util.find_spec("skops") else []), "checkpoint"]
    batches = [tuple(names[start : start + 8]) for start in range(0, len(names), 8)]
    results = cache(lambda batch: tried(batch, tmp_path_factory.mktemp("every")))
    return lambda name: results(next(batch for batch in batches if name in batch))


@pytest.mark.parametrize("name", QUICK)
def test_damaged_and_forged_files(name, quick):
    check(name, quick)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*saved_models.PLAIN, *WITH_SKOPS, "checkpoint"])
def test_damaged_and_forged_files_of_every_kind(name, every):
    check(name, every(name))
