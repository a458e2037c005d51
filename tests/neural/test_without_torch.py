"""Without PyTorch: steelyard works, and what needs it names the extra to install."""

import subprocess
import sys

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


def said(code):
    run = subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_rest_works(tmp_path):
    path = str(tmp_path / "model.sy")
    code = f"model = sy.OnlineClassifier(random_state=0).fit(X, y); sy.save(model, {path!r}); print(sy.load({path!r}).predict(X).sum() > 0)"
    assert said(code).strip() == "True"


def test_what_needs_it_names_the_extra(tmp_path):
    for use in (
        "import steelyard.neural as n; n.MeasureLoss",
        "from steelyard.neural import MeasureLoss",
        "sy.NeuralMeasureClassifier().fit(X, y)",
        "sy.neural.NeuralMeasureClassifier(m.FBeta(1)).fit(X, y)",
    ):
        code = f"try:\n    {use.replace('; ', chr(10) + '    ')}\nexcept ImportError as error:\n    print(error)"
        assert "pip install 'steelyard[torch]'" in said(code), use


def test_importing_steelyard_imports_no_torch():
    code = "import sys, steelyard, steelyard.measures; steelyard.NeuralMeasureClassifier; print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
