"""The comparison behind the drift alarm against sums over every outcome and against draws."""

import numpy as np
import pytest
from scipy.stats import norm

from reference import drift as slow
from steelyard.statistics import drift

RNG = np.random.default_rng(0)


def two(values):
    values = np.asarray(values, dtype=np.float64)
    return drift.Tally.of(np.column_stack([1.0 - values, values]))


def calls(ones, n):
    return np.arange(n) < ones


@pytest.mark.parametrize(
    ("here", "n", "there", "b"),
    [(9, 200, 4, 400), (12, 200, 100, 10_000), (60, 200, 220, 1000), (35, 2000, 300, 30_000), (2, 300, 60, 2000)],
)
def test_tail_of_calls_is_the_sum_over_all_outcomes(here, n, there, b):
    gap, share = here / n - there / b, (here + there) / (n + b)
    share = share if gap > 0 else 1 - share
    found = drift.moved(two(calls(here, n)), two(calls(there, b)))
    assert found[1] == pytest.approx(2 * slow.of_calls(share, abs(gap) - 0.5 / n, n, b), rel=0.2)
    assert found[1] >= 0.98 * 2 * slow.of_calls(share, abs(gap), n, b)  # half a row's worth more than the tail itself
    assert found[0] == pytest.approx(found[1], rel=1e-6)  # the other class mirrors this one


def test_the_normal_tail_would_be_far_off():
    found = drift.moved(two(calls(10, 200)), two(calls(200, 20_000)))[1]
    share = 210 / 20_200
    z = (10 / 200 - 0.01) / np.sqrt(share * (1 - share) * (1 / 200 + 1 / 20_000))
    assert found > 100 * 2 * norm.sf(z)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(0.3, 6.0), (2.0, 2.0), (5.0, 0.5)])
def test_tail_of_scores_is_that_of_draws(shape):
    n, b = 200, 400
    window, before = RNG.beta(*shape, n), RNG.beta(*shape, b)
    gap = 2.4 * np.sqrt(np.var(before) * (1 / n + 1 / b))
    room = np.minimum(window, 1 - window)  # moves the mean and leaves every value in [0, 1]
    window += (before.mean() + gap - window.mean()) * room / room.mean()
    exact = slow.drawn(np.concatenate([window, before]), gap, n, b, 60_000, np.random.default_rng(1))
    assert drift.moved(two(window), two(before))[1] == pytest.approx(2 * exact, rel=0.12)


def test_bins_lose_neither_mean_nor_variance():
    values = RNG.beta(0.2, 40.0, (3000, 2)) / 50  # all far below the middle of [0, 1]
    tally = drift.Tally.of(values)
    assert tally.size == 3000
    np.testing.assert_allclose(tally.sums.sum(axis=1), values.sum(axis=0))
    np.testing.assert_allclose(tally.squares.sum(axis=1), (values**2).sum(axis=0))
    halves = drift.Tally.of(values[:1000]) + drift.Tally.of(values[1000:])
    np.testing.assert_array_equal(halves.counts, tally.counts)
    np.testing.assert_allclose(halves.sums, tally.sums)


def test_a_single_bin_is_a_normal():
    """Values whose bins hide all of their spread: the variance is known all the same."""
    window, before = 0.5 + 1e-3 * RNG.normal(size=20_000), 0.5 + 1e-3 * RNG.normal(size=20_000)
    window += 3.2e-5 - window.mean() + before.mean()
    pooled = np.concatenate([window, before]).std() * np.sqrt(2 / 20_000)
    assert drift.moved(two(window), two(before))[1] == pytest.approx(2 * norm.sf(3.2e-5 / pooled), rel=0.02)


def test_values_that_do_not_vary_have_not_moved():
    assert drift.moved(two(np.zeros(50)), two(np.zeros(70))).tolist() == [1.0, 1.0]


def test_everything_changed():
    assert drift.moved(two(np.ones(500)), two(np.zeros(500))).max() < 1e-12
