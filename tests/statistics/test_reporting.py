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
        assert (found[name].low, found[name].high) == pytest.approx((low, high), abs=1e-9)
    assert "200 rows, 95 % intervals" in repr(found)


@pytest.mark.parametrize("counts", [(45, 5, 15, 135), (300, 50, 100, 5000), (20, 9, 11, 300), (0, 1, 4, 60)])
def test_points_over_the_posterior_find_quantiles_that_are_known(counts):
    """Precision and the share called are Beta too, which the lattice does not know."""
    tp, fp, fn, tn = counts
    precision, called = 1 * m.Precision(), m.prevalence * m.tpr + (1 - m.prevalence) * m.fpr
    found = report(*counts, (precision, called))
    for one, hits, rest in ((precision, tp + 0.5, fp + 0.5), (called, tp + fp + 1, fn + tn + 1)):
        figure = found[repr(one)]
        assert beta.cdf([figure.low, figure.high], hits, rest) == pytest.approx([0.025, 0.975], abs=7e-4)


def test_another_prevalence_moves_precision_and_leaves_the_rates():
    here, rare = report(45, 5, 15, 135), report(45, 5, 15, 135, prevalence=0.01)
    assert rare["tpr"] == here["tpr"]
    assert rare["Precision()"].value == pytest.approx(0.01 * 0.75 / (0.01 * 0.75 + 0.99 * 5 / 140))
    draws = np.random.default_rng(0).beta([45.5, 5.5], [15.5, 135.5], (200_000, 2))
    ends = np.quantile(0.01 * draws[:, 0] / (0.01 * draws[:, 0] + 0.99 * draws[:, 1]), [0.025, 0.975])
    assert (rare["Precision()"].low, rare["Precision()"].high) == pytest.approx(ends, rel=0.01)
    with pytest.raises(ValueError, match="prevalence"):
        report(45, 5, 15, 135, prevalence=1.0)


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
