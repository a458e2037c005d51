"""Reports: Jeffreys' interval for a rate, coverage near the nominal one, and bands that hold everywhere at once."""

import numpy as np
import pytest
from scipy.stats import beta, norm

import steelyard.measures as m
from steelyard.statistics.frontier import scan
from steelyard.statistics.reporting import bands, report


def test_a_rate_has_the_interval_of_jeffreys():
    found = report(45, 5, 15, 135)
    for name, hits, rest in (("tpr", 45, 15), ("tnr", 135, 5), ("Precision()", 45, 5)):
        low, high = beta.ppf([0.025, 0.975], hits + 0.5, rest + 0.5)
        assert found[name].low == pytest.approx(low, abs=0.004)
        assert found[name].high == pytest.approx(high, abs=0.004)
    assert "200 rows, 95 % intervals" in repr(found)


@pytest.mark.slow
def test_coverage_is_near_the_nominal_one():
    rng, names = np.random.default_rng(0), ("tpr", "fpr", "Precision()", "FBeta(beta=1)", "prevalence")
    shares = np.array([0.15, 0.05, 0.1, 0.7])
    true = {"tpr": 0.6, "fpr": 0.05 / 0.75, "Precision()": 0.75, "FBeta(beta=1)": 0.3 / 0.45, "prevalence": 0.25}
    inside = dict.fromkeys(names, 0)
    for _ in range(400):
        found = report(*rng.multinomial(400, shares).tolist(), (m.FBeta(1),))
        for name in names:
            inside[name] += found[name].low <= true[name] <= found[name].high
    assert all(0.92 <= hits / 400 <= 0.98 for hits in inside.values()), inside


def test_bands_hold_at_all_thresholds():
    rng, broken = np.random.default_rng(1), 0
    for _ in range(200):
        y = rng.random(300) < 0.4
        found = scan(rng.normal(size=300) + y, y)
        off = bands(found, 0.9)
        true = norm.sf(found.thresholds - 1), norm.cdf(found.thresholds)
        inside = [np.all(np.abs(a - b) <= d) for a, b, d in zip(true, (found.tpr, found.tnr), off, strict=True)]
        broken += not all(inside)
    assert broken <= 30
    assert bands(found, 0.99)[0] > off[0]
