"""The rate that is really kept, where the truth is known: proven, cross-validated, and learned on the very rows judged.

Given are one row a spectrum, right targets, and wrong ones that are a target or a decoy by a coin; two columns tell the
right ones and the others say nothing (many of them, few rows: *noisy*; or few, many rows: *plain*). *real* has the rows
of psm-scope2 (run 0): the decoys of the search, one a spectrum, are what is wrong, and a coin calls half of them
targets; right are the targets that a Percolator loop accepts at one in a thousand. *rivals* has four matches a
spectrum, of which the best is counted, and is for the score that knows how far ahead of the others a match is. In each
draw every method makes its list at 0.01 and at 0.05, and the share of wrong targets in it is kept. Lists of no target
count as 0.

    python benchmarks/qvalue_entrapment.py [draws] [cases]

``results/qvalue_entrapment.json`` has sums over the draws so far; it is written every ten draws, and draws that are in
it are not made again.
"""

import json
import sys
import warnings
from functools import cache

import numpy as np

import steelyard as sy
from _run import RESULTS, machine
from qvalue import percolator, table, winners
from steelyard.solvers.decoys import rivals
from steelyard.solvers.decoys.steps import Aim

RATES = (0.01, 0.05)
SURE = 0.001  # the q-value of targets that are taken as right


def simulated(n, right, noise):
    """Rows, the share that is right, and columns that say nothing."""

    def drawn(rng):
        is_right = rng.random(n) < right
        X = rng.normal(size=(n, 2 + noise))
        X[is_right, :2] += [3.0, 2.0]
        return X, is_right | (rng.random(n) < 0.5), is_right

    return drawn


@cache
def sure_and_wrong():
    X, is_target, scan = table("psm-scope2 run 0")
    scores = percolator(X, is_target, scan, 0.01)(X)
    best = winners(scores, scan)
    sure = best[is_target[best] & (sy.q_values(scores[best], is_target[best]) <= SURE)]
    return X, scan, sure, np.flatnonzero(~is_target & ~np.isin(scan, scan[sure]))


def real(rng):
    X, scan, sure, wrong = sure_and_wrong()
    wrong = rng.permutation(wrong)
    wrong = wrong[np.unique(scan[wrong], return_index=True)[1]]
    rows, is_right = np.r_[sure, wrong], np.arange(len(sure) + len(wrong)) < len(sure)
    return X[rows], is_right | (rng.random(len(rows)) < 0.5), is_right


def searched(rng, spectra=500, matches=4):
    """The first match of a spectrum may be right; a column says how good a spectrum is too, whoever matches it."""
    spectrum = np.repeat(np.arange(spectra), matches)
    is_right = (np.arange(len(spectrum)) % matches == 0) & (rng.random(spectra) < 0.4)[spectrum]
    X = rng.normal(size=(len(spectrum), 8))
    X[is_right, :2] += [4.0, 2.0]
    X[:, 0] += rng.normal(size=spectra)[spectrum]
    return X, is_right | (rng.random(len(X)) < 0.5), is_right, spectrum


CASES = {"noisy": simulated(800, 0.4, 40), "plain": simulated(2000, 0.4, 4), "real": real, "rivals": searched}


def in_sample(X, target, rate, seed):
    """Percolator's loop, and its own rows in the list."""
    return target & (sy.q_values(percolator(X, target, None, max(rate, 0.05), 5)(X), target) <= rate)


def across_folds(X, target, rate, seed, spectrum=None):
    """Percolator's: each third scored by a loop on the others, scales made equal, one list."""
    deal, scores = np.random.default_rng(seed).integers(0, 3, len(X)), np.empty(len(X))
    fold = deal if spectrum is None else deal[spectrum]
    for k in range(3):
        rest = fold != k
        found = percolator(X[rest], target[rest], None, max(rate, 0.05), 5)(X[~rest])
        passed = found[target[~rest] & (sy.q_values(found, target[~rest]) <= max(rate, 0.05))]
        zero = passed.min() if len(passed) else found.max()
        scores[~rest] = (found - zero) / max(1e-12, zero - np.median(found[~target[~rest]]))
    return listed(scores, target, rate, spectrum)


def with_rivals(X, target, rate, seed, spectrum):
    """As `steelyard decoys` makes its list of spectra."""
    return listed(rivals.left_out_scores(X, target, spectrum, Aim(rate), seed=seed), target, rate, spectrum)


def listed(scores, target, rate, spectrum=None):
    """The best row of each spectrum, and of these the targets within the rate."""
    best = np.arange(len(scores)) if spectrum is None else winners(scores, spectrum)
    accepted = np.zeros(len(scores), dtype=bool)
    accepted[best] = target[best] & (sy.q_values(scores[best], target[best]) <= rate)
    return accepted


def ours(**options):
    def accepted(X, target, rate, seed):
        return sy.QValueClassifier(rate, random_state=seed, **options).fit(X, target).accepted(X, target)

    return accepted


METHODS = {
    "Percolator loop, on its own rows": in_sample,
    "Percolator loop, across three folds": across_folds,
    "QValueClassifier, on its own rows": ours(),
    'QValueClassifier(proof="reset")': ours(proof="reset"),
}


WITH_SPECTRA = {
    "Percolator loop, across three folds": across_folds,
    "steelyard decoys, across three folds": with_rivals,
}


def add(held, accepted, is_right):
    """One more list in the sums that the tables need."""
    listed, wrong = int(accepted.sum()), int((accepted & ~is_right).sum())
    share = wrong / max(listed, 1)
    for name, number in {"draws": 1, "accepted": listed, "share": share, "share_squared": share**2}.items():
        held[name] = held.get(name, 0) + number


def draw_once(case, number, sums):
    """The next draw of a case: a list by every method at every rate."""
    drawn, place = CASES[case], list(CASES).index(case)
    X, target, is_right, *spectrum = drawn(np.random.default_rng([number, place]))
    for rate in RATES:
        for method, accept in (WITH_SPECTRA if spectrum else METHODS).items():
            accepted = accept(X, target, rate, number, *spectrum)
            add(sums.setdefault(str(rate), {}).setdefault(method, {}), accepted, is_right)


def done(sums):
    """Draws that are in the sums of a case: the same for all of its methods."""
    return next((held["draws"] for rate in sums.values() for held in rate.values()), 0)


def main(arguments):
    warnings.simplefilter("ignore")
    last = next((int(a) for a in arguments if a.isdigit()), 1000)
    path = RESULTS / "qvalue_entrapment.json"
    sums = json.loads(path.read_text())["sums"] if path.exists() else {}
    for case in [c for c in CASES if c in arguments] or CASES:
        held = sums.setdefault(case, {})
        for number in range(done(held), last):
            draw_once(case, number, held)
            if number % 10 == 9 or number == last - 1:
                path.write_text(json.dumps({"machine": machine(), "rates": RATES, "sums": sums}, indent=1) + "\n")
                print(case, number + 1, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
