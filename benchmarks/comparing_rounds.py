"""What folds drawn again change in the choice of `compare`, and whether those that a first round rules out need them.

On the 18 sets of comparing_choice.py, none of which judges `compare`, every contender is judged in five rounds of five
folds, for one or several draws of the rows seen (at most 1,500) and of up to 10,000 others. Written down: of every fold
the counts of true and of called labels, and the measure of every contender on the fresh rows with the standard errors
of the differences to the best there. From these any rule of who is judged again, and how often, can be tried without
fitting anything. What is under `judged` stays as it is: who was recommended on parts of the sets of comparing.py by a
version of `compare` that drew folds again, up to twice, for those within a standard error of the first, and who is with
one round.

    python benchmarks/comparing_rounds.py [SEED ...]      what was measured already is kept
"""

import json
import sys
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from threadpoolctl import threadpool_limits

from _run import RESULTS, write
from comparing import MEASURE, errors
from comparing_choice import LARGE, SMALL, models_and_rows
from steelyard.comparison.contenders import with_and_without
from steelyard.comparison.judging import Contest, confusion

ROUNDS, FOLDS = 5, 5
CLASSES = np.array([0, 1])


def one_set(name, seed):
    models, X_seen, y_seen, X_fresh, y_fresh = models_and_rows(name, seed)
    splitter = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=ROUNDS, random_state=seed)
    folds = list(splitter.split(X_seen, y_seen))
    counts = {name: [""] * len(folds) for name in models}
    with threadpool_limits(1):
        for turn in Contest(models, X_seen, y_seen, folds, with_and_without(models, {})).turns(None):
            table = confusion(y_seen[turn.rows], turn.called, CLASSES)
            counts[turn.name][turn.fold] = " ".join(map(str, table.astype(int).ravel()))
        called = {k: clone(v).fit(X_seen, y_seen).predict(X_fresh) for k, v in models.items()}
    values = {k: MEASURE.score(y_fresh, v) for k, v in called.items()}
    best, found = max(values, key=values.get), errors(y_fresh, called)
    return {"counts": counts, "values": values, "errors": {k: v for k, v in found.items() if best in k.split(" | ")}}


def main(seeds):
    warnings.simplefilter("ignore")
    path = RESULTS / "comparing_rounds.json"
    found = json.loads(path.read_text()) if path.exists() else {"sets": {}}
    found.pop("machine", None)
    for seed in seeds:
        for name in LARGE + SMALL:
            if (key := f"{name} {seed}") not in found["sets"]:
                found["sets"][key] = one_set(name, seed)
                write("comparing_rounds", found, show=False)
                print(key, flush=True)


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]] or [1])
