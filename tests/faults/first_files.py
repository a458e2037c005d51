"""The files that every later version must load: ``python tests/faults/first_files.py`` writes those of this version.

Run it when the version of the layout rises (`steelyard.files.layout.VERSION`), and keep the folders of the versions
before; and when there is a new kind of model: files that are there stay as they are. Beside each file stands what its
model answered when it was written.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np

import steelyard as sy
import steelyard.measures as m
from faults import saved_models
from steelyard.files.layout import VERSION
from steelyard.streams import from_arrays

HERE = Path(__file__).parent / "files"
# Small ones, and of every class and every part one: the larger kernels and paths of `saved_models` on fewer rows.
X, Y = saved_models.X[:40], saved_models.Y[:40]
AS_THEY_ARE = (
    "measure", "can", "online", "online cap", "online letter", "mini-batch", "structural", "path approximate",
    "path poly", "np linear", "q-value", "quantile model", "cost classifier", "cost classifier rbf", "q-value rbf",
    "measure classes", "online classes", "np generative", "q-value proven", "threshold promised", "threshold groups", "watch",
)  # fmt: skip
SMALLER = {
    "path": lambda: sy.CostPath().fit(X, Y),
    "path rbf": lambda: sy.CostPath(kernel="rbf").fit(X, Y),
    "np": lambda: sy.NeymanPearsonClassifier(0.3, cv=2, random_state=0).fit(X, Y),
    "quantile path": lambda: sy.QuantilePath().fit(X, X[:, 1]),
    "quantifier": lambda: sy.Quantifier(sy.StructuralSVM("zero_one"), cv=2, random_state=0).fit(X, Y),
    "stream quantifier": lambda: (
        sy.StreamQuantifier(sy.StructuralSVM("zero_one"), window=20, cv=2, random_state=0).partial_fit(X, Y).update(X)
    ),
    "threshold": lambda: sy.ThresholdClassifier(sy.StructuralSVM("zero_one"), m.FBeta(2), pos_label="no").fit(X, Y),
}
SKOPS = {
    "threshold sklearn": lambda: sy.ThresholdClassifier(None, m.FBeta(1)).fit(X, Y),
    "expected": lambda: sy.ExpectedFBetaClassifier(beta=2).fit(X, Y),
    "threshold classes": lambda: saved_models.make("threshold classes"),
    "threshold pipeline": lambda: saved_models.make("threshold pipeline"),
}
SKLEARN = "1.8"  # its models lost attributes that older versions ask for
STREAM = {"checkpoint": "run.ckpt"}


def models(there=()):
    """Every model but those that are there, by its name."""
    yield from ((name, saved_models.make(name)) for name in AS_THEY_ARE if name not in there)
    yield from ((name, make()) for name, make in {**SMALLER, **SKOPS}.items() if name not in there)


def plain(answers):
    """Answers as JSON holds them, of the first rows."""
    return {name: np.asarray(value)[:8].tolist() if value.ndim else value.tolist() for name, value in answers.items()}


def learner():
    return sy.OnlineClassifier(m.BAKLD(), random_state=0)


def stream(n=None):
    return from_arrays(saved_models.X[:n], saved_models.Y[:n], 40)


def main():
    folder = HERE / f"version_{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    answers = folder / "answers.json"
    said = json.loads(answers.read_text()) if answers.exists() else {}
    for name, model in models(said):
        sy.save(model, folder / f"{name}.sy".replace(" ", "_"))
        said[name] = plain(saved_models.answers(model))
    if "checkpoint" not in said:
        learner().fit_stream(stream(80), checkpoint=folder / "run.ckpt", every=1000, classes=["no", "yes"])
        whole = learner().fit_stream(stream(), classes=["no", "yes"])
        said["checkpoint"] = plain(saved_models.answers(whole))
    answers.write_text(json.dumps(said, indent=0) + "\n")


if __name__ == "__main__":
    main()
