"""Every example runs as it stands, and the tour runs as it is copied from its page."""

import html
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
QUICK = {"five_minutes", "own_measure"}  # below a second; the build of the docs runs all of them, too
BUILT = ROOT / "docs" / "_build" / "start.html"


def marked(path):
    return pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("path", [marked(path) for path in EXAMPLES])
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    """As a program, but in this process: most of the seconds were the imports of each one's own."""
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    pyplot.close("all")
    assert capsys.readouterr().out.strip()


def test_examples_answer_a_dozen_questions_and_stand_in_the_reading_order(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import words

    assert {path.stem for path in EXAMPLES} == set(words.READING_ORDER)
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_opens_with_its_question(path):
    """A title that sphinx-gallery shows, and a paragraph that says what is asked."""
    opening = re.match(r'"""\n(.+)\n(=+)\n\n(.+?)"""', path.read_text(), re.DOTALL)
    assert opening, "an example begins with a title, a line of = and a paragraph"
    assert len(opening[1]) == len(opening[2])


def tour_on_the_page():
    """The first Python block of the built start page, as a reader would copy it."""
    block = re.search(r'<div class="highlight-python[^>]*>.*?<pre>(.*?)</pre>', BUILT.read_text(), re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", block[1]))


@pytest.mark.slow
@pytest.mark.skipif(not BUILT.exists(), reason="the docs are not built: sphinx-build docs docs/_build")
def test_the_tour_runs_as_it_is_copied(tmp_path):
    program = tmp_path / "copied.py"
    program.write_text(tour_on_the_page())
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    page = html.unescape(re.sub(r"<[^>]+>", "", BUILT.read_text()))
    assert all(line in page for line in ran.stdout.strip().split("\n"))
