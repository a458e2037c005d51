"""95 % intervals of `Quantifier`, simulated: training set, folds and batch drawn anew each time.

The prevalence of the population is known; the batch holds it only up to chance. Intervals must cover it in 93 to 97 %
of the cases, give or take what so few draws cannot tell.
"""

import numpy as np
import pytest

import steelyard as sy

pytestmark = pytest.mark.slow  # simulations

PREVALENCES = (0.05, 0.3, 0.7, 0.95)


def draw(rng, n, p):
    y = (rng.uniform(size=n) < p).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, 0] += 1.3 * y
    X[:, 1] += 0.5 * y * X[:, 2]
    return X, y


@pytest.mark.parametrize("method", ["auto", "acc"])
def test_coverage_over_training_sets_and_batches(method):
    rng, hit, width = np.random.default_rng(7), [], []
    for run in range(60):
        q = sy.Quantifier(method=method, random_state=run).fit(*draw(rng, 400, 0.3))
        for p in PREVALENCES:
            low, high = q.predict_interval(draw(rng, 120, p)[0])[:, 1]
            hit.append(low <= p <= high)
            width.append(high - low)
    assert 0.92 <= np.mean(hit) <= 0.985  # 240 cases: a standard error of 0.014
    assert np.mean(width) < 0.6


def test_confidence_is_the_share_covered():
    rng, hit = np.random.default_rng(8), {0.5: [], 0.8: []}
    for run in range(40):
        q = sy.Quantifier(random_state=run).fit(*draw(rng, 400, 0.4))
        for p in (0.2, 0.5, 0.8):
            rows = draw(rng, 150, p)[0]
            for confidence, found in hit.items():
                low, high = q.predict_interval(rows, confidence=confidence)[:, 1]
                found.append(low <= p <= high)
    assert 0.4 <= np.mean(hit[0.5]) <= 0.65
    assert 0.72 <= np.mean(hit[0.8]) <= 0.9
