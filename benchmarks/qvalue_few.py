"""Few rows with many columns that say nothing: which recipes the q-value classifier needs for them, and how firm a C.

Simulated searches, each with as many decoys as targets, a share of which is right; `DESIGNS` differ in rows, in columns
that say nothing, and in what tells the right ones: one column, three, two among heavy tails, two among columns that
move together, and one plentiful table, where holding a model back can only cost. For every data set the counts among
rows left out are kept with what each refitted recipe accepts among many new rows: `q_value.learn`'s, and *firm* at
every share of C in `SHARES`. Then any set of recipes can be read off by the classifier's own rule. No table that is
reported elsewhere takes part.

    python benchmarks/qvalue_few.py [first seed] [last seed + 1]

Results are added to ``results/qvalue_few.json`` after each seed.
"""

import dataclasses
import json
import sys

import numpy as np

from _run import RESULTS, machine
from steelyard.estimators.q_value import BOUND
from steelyard.rows import Rows
from steelyard.solvers.decoys import q_value, steps
from steelyard.solvers.decoys.bounds import Soft
from steelyard.solvers.decoys.q_value import MatchScore
from steelyard.solvers.decoys.steps import Aim, Matches, accepted_at, levelled

# Targets, columns that say nothing, the share of targets that is right, and how far out these are.
DESIGNS = {
    "one column": (800, 20, 0.4, (3.0,)),
    "three columns": (1000, 60, 0.4, (2.0, 1.5, 1.5)),
    "tails": (1000, 30, 0.35, (4.0, 3.0)),
    "together": (2000, 40, 0.25, (2.5, 1.5)),
    "scant": (400, 12, 0.5, (2.5, 1.0)),
    "plentiful": (5000, 10, 0.3, (2.0, 2.0, 1.0)),
}
RATES, NEW = (0.05, 0.1), 20_000
SHARES = (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)
USUAL = ("loop", "mixture", "annealed", "mean")


def rows(design, n, rng):
    """n targets and n decoys."""
    _, noise, share, shift = DESIGNS[design]
    shape = (2 * n, noise + len(shift))
    X = rng.standard_t(4, size=shape) if design == "tails" else rng.normal(size=shape)
    if design == "together":  # half of the variance of every column is of one cause
        X = np.sqrt(0.5) * (X + rng.normal(size=(2 * n, 1)))
    target = np.arange(2 * n) < n
    right = target & (rng.random(2 * n) < share)
    X[right, : len(shift)] += shift
    return X, target


def learned(matches, aim):
    """Every recipe, and *firm* by its share of C."""
    models = q_value.learn(matches, aim)
    del models["firm"]
    loop, flat = models["loop"], matches.with_ones()
    for share in SHARES:
        firm = dataclasses.replace(aim, C=share * aim.C)
        w = levelled(steps.mixture(flat, np.append(loop.w, loop.intercept), firm), flat, aim.max_q)
        models[f"firm {share:g}"] = MatchScore(w[:-1], float(w[-1]))
    return models


def measure(design, seed):
    rng = np.random.default_rng([seed, list(DESIGNS).index(design)])
    X, target = rows(design, DESIGNS[design][0], rng)
    bounds = Soft.of(Rows.of(X), BOUND)
    old = Matches(bounds(Rows.of(X)), target, np.ones(len(target)))
    new = [Matches.of(bounds(Rows.of(batch)), t) for batch, t in (rows(design, NEW, rng) for _ in range(2))]
    folds = np.array_split(rng.permutation(len(target)), 3)
    found = {}
    for rate in RATES:
        aim, left_out = Aim(rate), {}
        for fold in folds:
            rest = np.setdiff1d(np.arange(len(target)), fold)
            for name, model in learned(old.take(rest), aim).items():
                left_out.setdefault(name, []).append(model(old.take(fold).rows))
        scores = {name: np.concatenate(parts) for name, parts in left_out.items()}
        counts = q_value.counted(scores, old.take(np.concatenate(folds)), rate)
        models = learned(old, aim)
        found[str(rate)] = {
            "left out": {name: count.tolist() for name, count in counts.items()},
            "accepted": {
                name: float(np.mean([accepted_at(model(batch.rows), batch, [rate])[0] for batch in new]))
                for name, model in models.items()
            },
        }
    return found


def choices():
    """Which of the recipes for few rows there are beside the others."""
    firm = [f"firm {share:g}" for share in SHARES]
    return [(), ("column",), *((f,) for f in firm), *(("column", f) for f in firm)]


def shares_of_best(case):
    """For each set of recipes the accepted targets of the one chosen, as a share of the best recipe's."""
    accepted, out = case["accepted"], {}
    for extra in choices():
        counts = {name: np.array(count) for name, count in case["left out"].items() if name in (*USUAL, *extra)}
        out[named(extra)] = accepted[q_value.choose(counts)] / max(1.0, *accepted.values())
    return out


def named(extra):
    return ", ".join(extra) or "neither"


def summary(sets):
    """Mean share of the best for each set of recipes, by design and over all, with its standard error over seeds."""
    seeds = {}
    for key, found in sets.items():
        design, seed = key.rsplit(" ", 1)
        shares = [shares_of_best(case) for case in found.values()]
        seeds.setdefault(seed, {})[design] = {name: np.mean([s[name] for s in shares]) for name in shares[0]}
    whole = [designs for designs in seeds.values() if len(designs) == len(DESIGNS)]
    out = {}
    for name in map(named, choices()):
        table = np.array([[designs[design][name] for design in DESIGNS] for designs in whole])
        error = table.mean(axis=1).std(ddof=1) / np.sqrt(len(table)) if len(table) > 1 else None
        by_design = dict(zip(DESIGNS, table.mean(axis=0).tolist(), strict=True))
        out[name] = {"mean": float(table.mean()), "error": error, "designs": by_design, "seeds": len(table)}
    return out


def main(arguments):
    first, last = (int(a) for a in arguments) if arguments else (0, 20)
    path = RESULTS / "qvalue_few.json"
    sets = json.loads(path.read_text())["sets"] if path.exists() else {}
    for seed in range(first, last):
        for design in DESIGNS:
            key = f"{design} {seed}"
            if key not in sets:
                sets[key] = measure(design, seed)
        figures = {"machine": machine(), "rates": RATES, "choices": summary(sets), "sets": sets}
        path.write_text(json.dumps(figures) + "\n")
        print(seed, {name: round(found["mean"], 4) for name, found in figures["choices"].items()}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
