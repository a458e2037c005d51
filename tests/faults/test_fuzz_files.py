"""fuzz_files.py: its seeds and what it found before, and with ``STEELYARD_FAULTS=full`` five minutes of it."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from faults import only_full
from faults.fuzz_files import HERE, Readers


@pytest.fixture(scope="module")
def readers():
    pytest.importorskip("skops")  # two of the kept files have a model of scikit-learn inside
    return Readers()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_the_fuzzer_starts_from_is_read(readers):
    assert len(readers.files) > 20
    for seed in readers.seeds():
        readers.replay(seed)


@pytest.mark.filterwarnings("ignore")
def test_what_broke_a_reader_once_is_refused(readers):
    for file in sorted((HERE / "files" / "found").glob("*")):
        readers.replay(file.read_bytes())


@pytest.mark.slow
@only_full
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_five_minutes_of_fuzzing(tmp_path):
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "fuzz_files.py"), "300", str(tmp_path)],
        capture_output=True, text=True, timeout=3600,  # the five minutes are a processor's
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert json.loads(ended.stdout.splitlines()[-1])["inputs"] > 1000
    assert "cov: " in ended.stderr, "atheris saw none of the lines that its inputs led to"
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
