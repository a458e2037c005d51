"""Theorems 3 and 6 of Kar et al. as slopes: the gap to the best attainable value falls at least like 1/sqrt(T).

The measures are concave (or a ratio) and rise in both rates, the rewards are hinges, the duals follow the surrogate, and
the feasible set is a ball: what the theorems assume. The optimum over the ball is found by a batch method on a large
sample. A rate of 1/sqrt(T) is a slope of -1/2 of log gap against log T. The theorems bound the worst case: here, where the
expected reward is curved at its maximum, the averaged iterates come closer to 1/T (slopes near -1 over three decades).
"""

import numpy as np
import pytest
from scipy.optimize import minimize

import steelyard as sy
import steelyard.measures as m
from steelyard.solvers.stream.problem import Scan

pytestmark = pytest.mark.slow  # simulations

RADIUS = 2.0
SIZES = (300, 1000, 3000, 10_000, 30_000, 100_000, 300_000)


def rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + 0.7 * rng.normal(size=n) > 0.8).astype(int)
    return np.column_stack([X, np.ones(n)]), y


def rewards(w, X, y):
    """Mean hinge rewards of both classes, as the algorithm's measure sees them."""
    r = np.minimum(1.0, np.where(y == 1, 1.0, -1.0) * (X @ w))
    return np.clip([r[y == 1].mean(), r[y == 0].mean()], 1e-4, 1 - 1e-4)


def value(measure, w, X, y):
    return float(measure(*rewards(w, X, y), y.mean()))


def best(measure, X, y):
    """The largest value over the ball, from several starts."""

    def into_the_ball(w):
        return w * min(1.0, RADIUS / max(np.linalg.norm(w), 1e-12))

    def loss(w):
        return -value(measure, into_the_ball(w), X, y)

    starts = [np.array([1.0, 0, 0, -0.8]), np.array([1.5, 0, 0, -0.5]), np.array([0.5, 0, 0, -0.2])]
    found = [
        minimize(loss, w, method="Nelder-Mead", options={"maxiter": 2000, "xatol": 1e-6, "fatol": 1e-10})
        for w in starts
    ]
    return max(-one.fun for one in found)


def gaps(measure, model, repeats=5):
    """Mean gap on a large test sample for each length of the stream."""
    X, y = rows(400_000, 99)
    top = best(measure, X[:50_000], y[:50_000])
    # The sample on which the optimum was found is not the test sample: both values are estimates of the same one.
    top = max(top, *(value(measure, fit(model, *rows(1_000_000, seed)), X, y) for seed in (50, 51)))
    return np.array(
        [np.mean([top - value(measure, fit(model, *rows(n, seed)), X, y) for seed in range(repeats)]) for n in SIZES]
    )


def fit(model, X, y):
    return sy.OnlineClassifier(**model).partial_fit(X, y).coef_.ravel()


def slope(found):
    return np.polyfit(np.log(SIZES), np.log(np.maximum(found, 1e-6)), 1)[0]


LETTER = {
    "guard": False,
    "refresh": 1,
    "dual_rates": "surrogate",
    "radius": RADIUS,
    "fit_intercept": False,
    "random_state": 0,
}


@pytest.mark.parametrize("measure", [m.GMean(), m.HMean()], ids=repr)
def test_nemsis_has_the_rate_of_theorem_3(measure):
    found = gaps(measure, {**LETTER, "measure": measure, "eta0": 0.3})
    assert slope(found) < -0.45, found
    assert found[-1] < found[0] / 30  # sqrt(1000), and the sizes span a factor of 1000


def test_scan_has_the_rate_of_theorem_6():
    # A ratio of rising parts: the mean of the rates over one plus the share of misses. Positive, pseudo-linear, monotone.
    measure = (m.tpr + m.tnr) / (3 - m.tpr)
    found = gaps(measure, {**LETTER, "measure": measure, "eta0": 0.3, "solver": Scan(epoch=50, growth=2.0)})
    assert slope(found) < -0.45, found
    assert found[-1] < found[0] / 30  # sqrt(1000), and the sizes span a factor of 1000
