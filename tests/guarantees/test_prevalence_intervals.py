"""95 % intervals and regions of `Quantifier`, simulated: training set, folds and batch drawn anew each time.

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


@pytest.mark.parametrize(("k", "apart", "rows", "batch"), [(3, 1.5, 240, 100), (6, 2.5, 360, 150)])
def test_the_region_covers_all_classes_at_once(k, apart, rows, batch):
    """Intervals hold each class in 95 % of the cases, all at once in fewer; the region holds the vector in 95 %."""
    rng, in_region, in_interval, in_all = np.random.default_rng(9), [], [], []

    def several(n, p):
        y = rng.choice(k, n, p=p)
        return rng.normal(size=(n, k)) + apart * np.eye(k)[y], y

    for run in range(70):
        q = sy.Quantifier(random_state=run).fit(*several(rows, np.full(k, 1 / k)))
        for _ in range(4):
            p = rng.dirichlet(np.ones(k))
            new = several(batch, p)[0]
            low, high = q.predict_interval(new)
            in_region.append(p in q.predict_region(new))
            in_interval.append(np.mean((low <= p) & (p <= high)))
            in_all.append(np.all((low <= p) & (p <= high)))
    assert 0.925 <= np.mean(in_region) <= 0.985  # 280 cases: a standard error of 0.013
    assert 0.93 <= np.mean(in_interval) <= 0.98
    assert np.mean(in_all) < np.mean(in_region) - 0.03
