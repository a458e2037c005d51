"""Thresholds by bins that are made finer: those of a scan over all scores, to the bit."""

import numpy as np
import pytest

import steelyard.measures as m
from steelyard.statistics import frontier
from steelyard.statistics.bins import Search, Tally

MEASURES = (m.FBeta(1), m.NegKLD(), m.BAKLD(), m.FBeta(1) * m.NSS(), m.BalancedAccuracy() / (2 - m.NSS()))
LIMITS = ((), (m.fpr <= 0.05,), (m.Precision() >= 0.6,))


def scored(seed):
    rng = np.random.default_rng(seed)
    n = (3, 60, 5000)[seed % 3]
    y = rng.random(n) < (0.1, 0.5)[seed % 2]
    y[:2] = True, False
    scores = rng.normal(size=n) + 1.2 * y
    scores = (scores, np.round(scores, 1), np.exp(3 * scores), scores * 1e-300)[seed % 4]
    return scores, y, None if seed % 2 else rng.random(n)


def search(scores, y, weight, edges=None):
    half = len(y) // 2

    def ask(edges, whole):
        parts = (slice(None, half), slice(half, None))
        one, other = (Tally.of(scores[p], y[p], None if weight is None else weight[p], edges, whole) for p in parts)
        return one + other

    found = Search(ask)
    found.begin(np.quantile(scores, np.linspace(0, 1, 20)) if edges is None else edges)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_best_threshold_is_that_of_all(seed):
    scores, y, weight = scored(seed)
    points = frontier.scan(scores, y, weight)
    for measure in MEASURES:
        for limits in LIMITS:
            try:
                best = frontier.best_point(points, measure, limits).threshold
            except frontier.InfeasibleError:
                with pytest.raises(frontier.InfeasibleError):
                    search(scores, y, weight).best(measure, limits)
            else:
                assert search(scores, y, weight).best(measure, limits).threshold == best, (measure, limits)


def test_a_few_rounds_of_few_bins():
    rng = np.random.default_rng(0)
    y = rng.random(100_000) < 0.1
    found = search(rng.normal(size=100_000) + y, y, None)
    found.best(m.FBeta(1))
    assert found.rounds <= 5
    assert len(found.bins.low) < 20_000


def test_useless_first_edges_cost_rounds_and_not_the_answer():
    scores, y, weight = scored(2)
    best = frontier.best_point(frontier.scan(scores, y, weight), m.FBeta(1)).threshold
    for edges in (np.array([]), np.array([1e300]), np.array([scores[0]])):
        assert search(scores, y, weight, edges).best(m.FBeta(1)).threshold == best


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999, 1.0])
def test_quantiles(share):
    scores, y, _ = scored(5)
    ranked = np.sort(scores)
    places = [int(np.clip(np.ceil((share + off) * len(y)) - 1, 0, len(y) - 1)) for off in (-1e-9, 1e-9)]
    assert search(scores, y, None).quantile(share) == ranked[places].mean()


def test_what_has_no_threshold_is_said():
    with pytest.raises(ValueError, match="no rows to set a threshold"):
        search(np.empty(0), np.empty(0, dtype=bool), None, np.array([0.0]))
    with pytest.raises(ValueError, match="none of the 5 scored rows is positive"):
        search(np.arange(5.0), np.zeros(5, dtype=bool), None)
