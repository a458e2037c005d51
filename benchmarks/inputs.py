"""What libraries make of bad and odd input: the table of tests/faults/odd_inputs.py, a process for each call.

    python benchmarks/inputs.py [OTHER_PYTHON]

steelyard is asked here; scikit-learn, XGBoost and LightGBM by OTHER_PYTHON, the interpreter of an environment that has
them (`pip install scikit-learn pandas xgboost-cpu lightgbm`), or here if none is given. The rules by which they are
judged, the limits of time and memory among them, are the same for all and stand at the top of tests/faults/inputs.py;
they were fixed before the run that is shown, and that run is one run.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from _run import write

ROOT = Path(__file__).parent.parent
TRIALS = ROOT / "tests" / "faults" / "inputs.py"
OTHERS = ("SGDClassifier", "LinearSVC", "XGBoost", "LightGBM")
sys.path.insert(0, str(ROOT / "tests"))


def asked(python, name):
    """{call: {input: verdict}} of one contender."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([python, str(TRIALS), file.name, name], check=True)
        return sorted_out(json.loads(Path(file.name).read_text())[name])


def sorted_out(trials):
    found = {}
    for call, given, verdict, _ in trials:
        found.setdefault(call, {})[given] = verdict
    return found


def versions(python):
    code = (
        "import importlib.metadata as m\n"
        "for n in ('scikit-learn', 'xgboost-cpu', 'xgboost', 'lightgbm'):\n"
        "    try: print(n.removesuffix('-cpu'), m.version(n))\n"
        "    except m.PackageNotFoundError: pass"
    )
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return dict(line.split() for line in said.splitlines())


def main(other=sys.executable):
    from faults.inputs import MEMORY, PATIENCE, ours

    found = {"ours": {}, "others": {}, "versions": versions(other)}
    found["limits"] = {"processor_seconds": PATIENCE, "clock_seconds": 10 * PATIENCE, "bytes": MEMORY}
    for side, python, names in (("others", other, OTHERS), ("ours", sys.executable, ours())):
        for name in names:
            found[side][name] = asked(python, name)
            write("inputs", found, show=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
