"""``python -m benchmarks``: every program is listed by its first line, and a quick run cuts what it says it cuts."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def runner():
    spec = importlib.util.spec_from_file_location("benchmarks_main", ROOT / "benchmarks" / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_benchmark_says_what_it_asks(runner):
    known = runner.programs()
    assert {"thresholds", "promise", "papers/fmeasure"} <= known.keys()
    assert all(runner.first_line(path) for path in known.values())


def test_a_quick_run_cuts_constants_and_nothing_else(runner):
    text = "SPLITS, FEWEST = 5, 8\nSEEDS = range(9)\nROWS = {'a': None, 'b': 9000}\ndef f():\n    ROWS = 7\n    return ROWS\n"
    tree = ast.fix_missing_locations(runner.Fewer().visit(ast.parse(text)))
    names = {"__fewer": runner.fewer}
    exec(compile(tree, "text", "exec"), names)
    assert (names["SPLITS"], names["FEWEST"], list(names["SEEDS"])) == (2, 8, [0, 1])
    assert names["ROWS"] == {"a": None, "b": 2000}
    assert names["f"]() == 7


def test_a_quick_run_asks_for_few_runs(runner):
    text = 'parser.add_argument("--split-runs", type=int, default=100)\nparser.add_argument("--only")'
    assert runner.arguments(text, ["x"], quick=True) == ["x", "--split-runs", "5"]
    assert runner.arguments(text, ["x"], quick=False) == ["x"]


def test_it_lists_and_refuses_what_it_does_not_know():
    call = [sys.executable, "-m", "benchmarks"]
    listed = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert "Tuning a threshold exactly" in listed
    refused = subprocess.run([*call, "nonsense"], capture_output=True, text=True, cwd=ROOT)
    assert refused.returncode == 2
    assert "no benchmark is called nonsense" in refused.stderr


def test_what_is_not_installed_is_named_with_its_extra_and_the_others_still_run(runner, tmp_path, monkeypatch, capfd):
    texts = {"needs": "import mlquantify_of_nowhere", "fails": "1 / 0", "works": 'print("worked")'}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(f'"""{name}"""\nif __name__ == "__main__":\n    {text}\n')
    monkeypatch.setattr(runner, "programs", lambda: {name: tmp_path / f"{name}.py" for name in texts})
    assert runner.main(["all", "--quick"]) == 1
    said = capfd.readouterr().out
    assert "needs was not run: it needs mlquantify_of_nowhere (pip install mlquantify_of_nowhere)" in said
    assert "worked" in said
    assert "did not come to their end: needs, fails" in said
    error = ModuleNotFoundError("No module named 'dask'", name="dask.array")
    assert runner.missing("cluster", error) == "cluster was not run: it needs dask (pip install 'steelyard[dask]')"
