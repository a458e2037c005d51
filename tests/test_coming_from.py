"""The pages for those who come from another tool: each has two blocks, and what it shows was printed by them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "coming_from"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index")
NOT_RUN = {"svmperf"}  # a program that could not be had; its page says so
RECORDED = json.loads((ROOT / "benchmarks" / "results" / "coming_from.json").read_text())["pages"]


@pytest.mark.parametrize("page", PAGES)
def test_both_blocks_are_there_and_were_run(page):
    assert {path.stem for path in (FOLDER / "code").glob(f"{page}_*")} == {f"{page}_ours", f"{page}_theirs"}
    assert RECORDED[page]["ours"]
    if page in NOT_RUN:
        assert "was not run" in (FOLDER / f"{page}.md").read_text()
    else:
        assert RECORDED[page]["theirs"]
        assert RECORDED[page]["with"]


def test_there_is_a_page_for_every_peer():
    assert len(PAGES) >= 10
    listed = (FOLDER / "index.md").read_text()
    assert all(f"({page}.md)" in listed for page in PAGES)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_our_block_runs(page, tmp_path):
    if page == "mokapot":
        pytest.importorskip("mokapot", reason="our model inside mokapot needs it")
    call = [sys.executable, str(FOLDER / "code" / f"{page}_ours.py")]
    ran = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()
