"""How clear a gain among rows left out must be before the q-value classifier leaves its default recipe.

Simulated targets and decoys, so that no table of `qvalue.py` takes part. A fifth of the rows are right targets; what
sets them apart is a direction, a direction among heavy tails, a direction after a bend (a kernel gains a little), or a
ring (only a kernel sees it). For every data set the counts among rows left out are kept with what each refitted recipe
accepts among many new rows, and then any rule can be read off: a margin in percent, or in standard deviations of a
count (`chance`).

    python benchmarks/qvalue_choice.py [first seed] [last seed + 1]

Results are added to ``results/qvalue_choice.json`` after each data set.
"""

import json
import sys

import numpy as np

from _run import RESULTS, machine
from steelyard.solvers.decoys import q_value
from steelyard.solvers.decoys.steps import OPTIONS, Aim, Matches, accepted_around

SHAPES, SIZES, RATES = ("line", "tails", "bend", "ring"), (2000, 8000), (0.01, 0.05)
NEW = 30_000
SHIFT = {"line": (2, 2, 1, 1), "tails": (3, 3, 2, 1), "bend": (2, 2, 1, 1), "ring": (0.5, 0.5, 0.5, 0.5)}
KERNEL = q_value.LandmarkKernel(gamma=0.04, n_landmarks=30)
PERCENT, DEVIATIONS = (0.0, 2.0, 5.0, 10.0, 20.0), (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


def rows(shape, n, rng):
    """Eight columns; half of the rows that are not right are targets too."""
    right = rng.random(n) < 0.2
    X = rng.standard_t(3, size=(n, 8)) if shape == "tails" else rng.normal(size=(n, 8))
    X[right, :4] += SHIFT[shape]
    if shape == "bend":
        X[:, 1] -= 0.4 * (X[:, 0] - 1.0) ** 2
    if shape == "ring":
        angle = rng.uniform(0, 2 * np.pi, right.sum())
        X[right, 4:6] += 3.0 * np.c_[np.cos(angle), np.sin(angle)]
    return Matches.of(X, right | (rng.random(n) < 0.5))


def measure(shape, n, seed):
    rng = np.random.default_rng([seed, n, SHAPES.index(shape)])
    old, new = rows(shape, n, rng), rows(shape, NEW, rng)
    folds = np.array_split(rng.permutation(n), 3)
    found = {}
    for rate in RATES:
        aim = Aim(rate)
        left_out, _ = q_value._left_out(old, aim, folds, KERNEL)
        counts = q_value.counted(left_out, old.take(np.concatenate(folds)), rate)
        models = q_value.learn(old, aim, KERNEL)
        accepted = {name: accepted_around(model(new.rows), new, rate) for name, model in models.items()}
        counts = {name: count.tolist() for name, count in counts.items()}
        found[str(rate)] = {"left out": counts, "accepted": accepted}
    return found


def chance(count):
    """Standard deviation of a number T of accepted targets, from the numbers at the caps `around` one.

    The D decoys of a list are nearly Poisson, and one more has the effect of a cap q that is smaller by the factor
    ``1 - 1/D``: ``dT/dlog(q) / sqrt(D)``, with the ten decoys that a list has at least for D."""
    return (count[-1] - count[0]) / np.log(OPTIONS.around[-1] / OPTIONS.around[0]) / np.sqrt(q_value.DECOYS)


def by_deviation(counts, deviations):
    mean = {name: count.mean() for name, count in counts.items()}
    plain = q_value.most(mean, (q_value.DEFAULT, q_value.CURVED_MEAN))
    return q_value.choose(counts, deviations * chance(counts[plain]) / max(mean[plain], 1.0))


def rules(cases, kernel):
    """The accepted targets of each rule, as a share of the best recipe's in each case: mean and worst."""
    chosen = {f"{percent:g} %": lambda c, p=percent: q_value.choose(c, p / 100) for percent in PERCENT}
    chosen |= {f"{z:g} sd": lambda c, z=z: by_deviation(c, z) for z in DEVIATIONS}
    chosen["never"] = lambda c: q_value.choose(c, np.inf)
    shares = {name: [] for name in chosen}
    for case in cases:
        counts = {name: np.array(c) for name, c in case["left out"].items() if kernel or not name.startswith("rbf")}
        accepted = {name: case["accepted"][name] for name in counts}
        if max(accepted.values()) > 0:
            for name, rule in chosen.items():
                shares[name].append(accepted[rule(counts)] / max(accepted.values()))
    return {name: {"mean": float(np.mean(found)), "worst": float(np.min(found))} for name, found in shares.items()}


def main(arguments):
    first, last = (int(a) for a in arguments) if arguments else (0, 7)
    path = RESULTS / "qvalue_choice.json"
    sets = json.loads(path.read_text())["sets"] if path.exists() else {}
    for seed in range(first, last):
        for n in SIZES:
            for shape in SHAPES:
                key = f"{shape} {n} {seed}"
                if key not in sets:
                    sets[key] = measure(shape, n, seed)
                cases = [case for found in sets.values() for case in found.values()]
                figures = {
                    "machine": machine(),
                    "sets": sets,
                    "rules": {"linear": rules(cases, False), "rbf": rules(cases, True)},
                }
                path.write_text(json.dumps(figures, indent=1) + "\n")
        print(seed, figures["rules"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
