"""Without PyTorch: steelyard works, and what needs it names the extra to install."""

import json
import subprocess
import sys

import pytest

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Blocked())
import numpy as np, steelyard as sy, steelyard.measures as m
X = np.random.default_rng(0).normal(size=(60, 2)); y = X[:, 0] > 0
"""


USES = {
    "imported and used": "import steelyard.neural as n; n.MeasureLoss",
    "imported from": "from steelyard.neural import MeasureLoss",
    "the estimator": "sy.NeuralMeasureClassifier().fit(X, y)",
    "by its room": "sy.neural.NeuralMeasureClassifier(m.FBeta(1)).fit(X, y)",
}
EACH = """
import json, os
sy.OnlineClassifier, sy.MeasureClassifier  # imported once, for all of them
said = {}
for name, use in json.loads(sys.argv[1]).items():
    read, write = os.pipe()
    if os.fork() == 0:  # so that none finds what another has imported
        try:
            exec(use)
            os.write(write, b"no error")
        except ImportError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        said[name] = answer.read()
    os.wait()
print(json.dumps(said))
"""
WORKS = "model = sy.OnlineClassifier(random_state=0).fit(X, y); sy.save(model, path); said = str(sy.load(path).predict(X).sum() > 0)"


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What each use says, all asked of one process: an import of everything is a second."""
    path = str(tmp_path_factory.mktemp("without") / "model.sy")
    works = f"path = {path!r}; {WORKS}; os.write(write, said.encode()); os._exit(0)"
    run = subprocess.run(
        [sys.executable, "-c", BLOCKED + EACH, json.dumps({"the rest": works, **USES})], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_the_rest_works(said):
    assert said["the rest"] == "True"


@pytest.mark.parametrize("use", USES)
def test_what_needs_it_names_the_extra(use, said):
    assert "pip install 'steelyard[torch]'" in said[use]


def test_importing_steelyard_imports_no_torch():
    code = "import sys, steelyard, steelyard.measures; steelyard.NeuralMeasureClassifier; print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
