"""The bootstrap of thresholds: equal to one draw after the other, honest, steadier, and careful where few rows decide."""

import numpy as np
import pytest

import steelyard.measures as m
from reference.resampling import judge
from steelyard._core import calls_drawn, score_units, shares_above
from steelyard.statistics import resampling
from steelyard.statistics.frontier import best_point, scan
from steelyard.statistics.resampling import MARGINS, Draws, Goal, settled


def sample(n, seed=0, gap=1.2, prevalence=0.3):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < prevalence
    return rng.normal(size=n) + gap * positive, positive


def draws_of(made, n):
    """How often each row is in each draw, as the class keeps it."""
    counts = np.zeros((resampling.DRAWS, n))
    for rows, _, table in made._sides:
        counts[:, rows] = table[:, : resampling.DRAWS].T
    return counts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("measure", "cap"), [(m.FBeta(1), None), (m.QMeasure(), None), (m.Recall(), 0.2)], ids=repr)
def test_equals_one_draw_after_the_other(measure, cap, weighted):
    scores, positive = sample(60)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 60) if weighted else None
    goal = Goal(measure, [] if cap is None else [m.fpr <= cap])
    made = Draws(positive, weight, seed=3)
    found = made.judge(scores, scan(scores, positive, weight), goal)
    mass = np.ones(60) if weight is None else weight
    expected = judge(scores, positive, mass, draws_of(made, 60), measure, cap, found.margin)
    np.testing.assert_allclose(found.inside, expected[:, 0], atol=1e-6)  # counts are single precision
    np.testing.assert_allclose(found.outside, expected[:, 1], atol=1e-6)
    inner = expected[:, 2] > scores.min()  # the lowest threshold lies anywhere below the scores
    np.testing.assert_allclose(found.thresholds[inner], expected[inner, 2])


def test_rows_of_weight_zero_are_not_drawn():
    scores, positive = sample(200)
    weight = np.where(np.arange(200) % 2, 1.0, 0.0)
    part = weight > 0
    goal = Goal(m.FBeta(1))
    with_them = Draws(positive, weight, 0).judge(scores, scan(scores, positive, weight), goal)
    without = Draws(positive[part], None, 0).judge(scores[part], scan(scores[part], positive[part]), goal)
    np.testing.assert_allclose(with_them.inside, without.inside, atol=1e-9)
    # Zero rows still offer thresholds, which moves the middle of a few ties.
    assert np.mean(np.abs(with_them.outside - without.outside) > 1e-9) < 0.25


def test_what_is_left_out_is_not_flattered():
    # Scores that say nothing: the best threshold on the rows looks better than a coin, and outside it is none.
    inside, outside = [], []
    for seed in range(20):
        scores, positive = sample(100, seed, gap=0.0)
        verdict = Draws(positive, None, seed).judge(scores, scan(scores, positive), Goal(m.BalancedAccuracy()))
        inside.append(verdict.inside.mean())
        outside.append(verdict.value)
    assert np.mean(inside) > 0.57
    assert abs(np.mean(outside) - 0.5) < 0.02


def excess_and_misses(n, cap, seeds, exact):
    rates = []
    fresh, labels = sample(200_000, 10**6)
    for seed in range(seeds):
        scores, positive = sample(n, seed)
        found, goal = scan(scores, positive), Goal(m.Recall(), [m.fpr <= cap])
        point = best_point(found, goal.measure, goal.constraints)
        if not exact:
            point = settled(Draws(positive, None, seed).judge(scores, found, goal), found, point, goal)
            assert 1.0 - point.tnr <= cap + 1e-9  # met on the sample in any case
        called = fresh > point.threshold
        rates.append((called[~labels].mean(), 1.0 - called[labels].mean()))
    false_alarms, misses = np.array(rates).T
    return np.maximum(0.0, false_alarms - cap).mean() / cap, misses.mean()


def test_a_cap_on_few_rows_is_kept_with_a_margin():
    careful, exact = excess_and_misses(150, 0.05, 60, exact=False), excess_and_misses(150, 0.05, 60, exact=True)
    assert careful[0] < 0.6 * exact[0]  # less excess
    assert sum(careful) < sum(exact)  # and the Neyman-Pearson score gains by it, misses included


def test_the_margin_goes_with_the_rows():
    margins = []
    for n in (150, 20_000):
        scores, positive = sample(n, 1)
        goal = Goal(m.Recall(), [m.fpr <= 0.05])
        margins.append(Draws(positive, None, 0).judge(scores, scan(scores, positive), goal).margin)
    assert margins[0] >= MARGINS[2]
    assert margins[1] <= MARGINS[1]


def test_the_mean_threshold_is_steadier_than_the_best_one():
    spread = {"best": [], "settled": []}
    for seed in range(40):
        scores, positive = sample(200, seed, prevalence=0.1)
        found, goal = scan(scores, positive), Goal(m.FBeta(1))
        best = best_point(found, goal.measure)
        spread["best"].append(best.threshold)
        verdict = Draws(positive, None, seed).judge(scores, found, goal)
        spread["settled"].append(settled(verdict, found, best, goal).threshold)
    assert np.std(spread["settled"]) < 0.9 * np.std(spread["best"])


def test_two_optima_are_not_averaged():
    # Thresholds at -2 and at 2 are equally good, so that the draws disagree; their mean, 0, is as good as a coin.
    scores = np.r_[np.linspace(-4, -3, 30), np.linspace(-1, 0, 30), np.linspace(0.01, 1, 30), np.linspace(3, 4, 30)]
    positive = np.repeat([False, True, False, True], 30)
    found, goal = scan(scores, positive), Goal(m.BalancedAccuracy())
    best = best_point(found, goal.measure)
    verdict = Draws(positive, None, 0).judge(scores, found, goal)
    assert abs(verdict.thresholds.mean()) < 1.0
    assert settled(verdict, found, best, goal).value > 0.7


def test_many_rows_are_looked_at_in_bins(monkeypatch):
    scores, positive = sample(20_000)
    found, goal = scan(scores, positive), Goal(m.FBeta(1))
    coarse = Draws(positive, None, 0).judge(scores, found, goal)
    monkeypatch.setattr(resampling, "BINS", 10**6)
    fine = Draws(positive, None, 0).judge(scores, found, goal)
    np.testing.assert_allclose(coarse.inside, fine.inside, atol=1e-3)
    assert coarse.value == pytest.approx(fine.value, abs=1e-3)
    assert not np.array_equal(coarse.thresholds, fine.thresholds)


def test_two_positives_are_enough_to_go_on():
    # In half of the draws both positives are drawn, and nothing is left to judge by.
    scores = np.r_[np.linspace(0, 1, 50), 0.9, 1.1]
    positive = np.arange(52) >= 50
    found, goal = scan(scores, positive), Goal(m.BAKLD(), [m.fpr <= 0.1])
    verdict = Draws(positive, None, 0).judge(scores, found, goal)
    assert np.isnan(verdict.outside).any()
    assert np.isfinite(verdict.value)


def slow_shares_above(scores, cuts, drawn, weight):
    times = np.hstack([drawn, drawn == 0]).astype(float) * weight[:, None]
    return (scores[:, None] > cuts).T @ times / np.maximum(times.sum(axis=0), 1e-300)


def test_the_compiled_counts_are_those_of_the_definition():
    rng = np.random.default_rng(2)
    drawn = rng.poisson(1.0, (300, 7)).astype(np.uint8)
    scores, cuts = rng.integers(0, 50, 300) / 10.0, np.unique(rng.integers(0, 50, 30)) / 10.0  # many ties
    called = rng.random((300, 4)) < 0.3
    for weight in (None, rng.uniform(0.0, 2.0, 300)):
        mass = np.ones(300) if weight is None else weight
        np.testing.assert_allclose(
            shares_above(scores, cuts, drawn, weight), slow_shares_above(scores, cuts, drawn, mass), rtol=1e-12
        )
        sums = np.vstack([called.T, np.ones(300)]) @ (np.column_stack([np.ones(300), drawn]) * mass[:, None])
        np.testing.assert_allclose(calls_drawn(called, drawn, weight), sums, rtol=1e-12)


def test_draws_are_kept_in_bytes():
    _, positive = sample(500)
    assert Draws(positive, np.ones(500), 0)._sides[0][2].dtype == np.uint8


@pytest.mark.parametrize("n", [1, 20, 1_000])
def test_quantiles_by_selection_are_those_by_sorting(n):
    rng = np.random.default_rng(n)
    scores = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n), np.full(n, 2.5)])
    at = np.array([0.95, -1e-9, 0.5, 1.0 + 1e-9, 0.7])
    for weight in (None, rng.integers(0, 3, n) + (np.arange(n) == 0)):
        found = score_units(scores, at, None if weight is None else weight.astype(float))
        rows = scores if weight is None else np.repeat(scores, weight, axis=0)  # a row of weight 2 is two rows
        place = np.clip(np.ceil(at * len(rows) - 1e-12) - 1, 0, len(rows) - 1).astype(int)
        np.testing.assert_array_equal(found[:, :5], np.sort(rows, axis=0)[place].T)
        moments = [rows.mean(axis=0), rows.std(axis=0), np.abs(scores).max(axis=0)]
        np.testing.assert_allclose(found[:, 5:].T, moments, rtol=1e-9, atol=1e-12)


def test_scores_with_nan_among_them_have_no_quantiles_and_the_other_columns_do():
    """They were sorted as if NaN had a place in an order: what came out depended on where it stood."""
    scores = np.tile(np.arange(4000.0)[::-1, None], (1, 2))
    scores[::7, 0] = np.nan
    found = score_units(scores, np.array([0.25, 0.5]))
    assert np.isnan(found[0, :2]).all()
    assert found[1, :2].tolist() == [999.0, 1999.0]
    with pytest.raises(ValueError, match="a share is NaN"):
        score_units(scores, np.array([0.5, np.nan]))
