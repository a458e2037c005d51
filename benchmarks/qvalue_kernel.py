"""What `kernel="rbf"` accepts beyond the linear model: on spectra, and where no line is right.

Two parts, with the same deal or draw for every contender:

- *spectra*: tables and deals of ``benchmarks/qvalue.py`` (three folds, the best row of each scan, targets counted at
  the rate that was trained for), at small rates.
- *made*: rows of eight columns, half of them decoys, three targets in ten right, and lists made of as many new rows.
  Right ones are far out in two columns, as in most searches (*line*); around a ring; in two places on both sides of the
  wrong ones; along a bend. *products* is the linear model on all squares and products of the columns.

    STEELYARD_DATA=... python benchmarks/qvalue_kernel.py [made] [table ...] [rate ...] [first seed] [last seed + 1]

Results are added to ``results/qvalue_kernel.json`` after each seed, and what is there is not measured again.
"""

import json
import sys
import warnings

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import qvalue
import steelyard as sy
from _run import RESULTS, machine

RATES = {"spectra": (0.0025, 0.01), "made": (0.01, 0.05)}
N, D, RIGHT = 6000, 8, 0.3


def line(rng, X):
    X[:, 0] += 3.0
    X[:, 1] += 2.0


def ring(rng, X):
    angle = rng.uniform(0.0, 2.0 * np.pi, len(X))
    X[:, :2] = 4.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.5 * X[:, :2]


def two_places(rng, X):
    X[:, :2] = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)[:, None] * [3.5, 2.0] + 0.7 * X[:, :2]


def bend(rng, X):
    along = rng.uniform(-2.5, 2.5, len(X))
    X[:, :2] = np.column_stack([along, along**2 - 4.0]) + 0.5 * X[:, :2]


SHAPES = {"line": line, "ring": ring, "two places": two_places, "bend": bend}


def drawn(shape, rng):
    """Rows, which are targets and which of these are right."""
    X, right, target = rng.normal(size=(N, D)), rng.random(N) < RIGHT / 2, rng.random(N) < 0.5
    some = X[right]
    SHAPES[shape](rng, some)
    X[right] = some
    return X, target | right, right


def products(rate, seed):
    model = sy.QValueClassifier(rate, random_state=seed)
    return make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler(), model)


MADE = {
    "linear": lambda rate, seed: sy.QValueClassifier(rate, random_state=seed),
    "rbf": lambda rate, seed: sy.QValueClassifier(rate, kernel="rbf", random_state=seed),
    "products": products,
}


def on_made(shape, rate, seed):
    """By contender: targets accepted among new rows, and how many of them are wrong."""
    rng, found = np.random.default_rng([seed, list(SHAPES).index(shape)]), {}
    (X, target, _), (new, new_target, new_right) = drawn(shape, rng), drawn(shape, rng)
    for name, make in MADE.items():
        scores = make(rate, seed).fit(X, target).decision_function(new)
        accepted = new_target & (sy.q_values(scores, new_target) <= rate)
        found[name] = [int(accepted.sum()), int((accepted & ~new_right).sum())]
    return found


def on_spectra(name, rate, seed):
    """By contender: targets accepted across three folds."""
    X, is_target, scan = qvalue.table(name)
    contenders = {"linear": qvalue.ours(), "rbf": qvalue.ours(kernel="rbf")}
    return {
        contender: [qvalue.measure(fit, X, is_target, scan, seed, (rate,))["accepted"][str(rate)]]
        for contender, fit in contenders.items()
    }


def main(arguments):
    warnings.simplefilter("ignore")
    first, last = [int(a) for a in arguments if a.isdigit()] or (0, 30)
    asked = [float(a) for a in arguments if a.startswith("0.")]
    tables = [name for name in qvalue.TABLES if name in arguments]
    jobs = [("made", shape, on_made) for shape in SHAPES if "made" in arguments or not tables]
    jobs += [("spectra", name, on_spectra) for name in (tables if arguments else qvalue.TABLES)]
    path = RESULTS / "qvalue_kernel.json"
    found = json.loads(path.read_text())["found"] if path.exists() else {}
    for part, name, measure in jobs:
        for rate in asked or RATES[part]:
            held = found.setdefault(part, {}).setdefault(name, {}).setdefault(str(rate), {})
            for seed in (s for s in range(first, last) if str(s) not in held):
                held[str(seed)] = measure(name, rate, seed)
                path.write_text(json.dumps({"machine": machine(), "found": found}) + "\n")
            print(part, name, rate, len(held), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
