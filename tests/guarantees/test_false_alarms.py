"""The false-alarm rate of `StreamQuantifier`, simulated on streams whose prevalence does not move.

`benchmarks/drift.py alarms` does the same with more rows, classifiers and sets.
"""

import numpy as np
import pytest
from scipy.stats import poisson

import steelyard as sy

pytestmark = pytest.mark.slow  # simulations


def rows(rng, n, p, apart=1.0):
    y = (rng.uniform(size=n) < p).astype(int)
    return rng.normal(size=(n, 2)) + apart * y[:, None], y


def at_most(alarms, expected):
    """As far as so many can tell."""
    return 0 < alarms <= poisson.ppf(0.999, expected)


def test_false_alarms_stay_below_the_stated_rate():
    rng, seen, alarms = np.random.default_rng(0), 0, 0
    for run in range(12):
        q = sy.StreamQuantifier(window=200, false_alarms=0.9, random_state=run).partial_fit(*rows(rng, 400, 0.3))
        q.update(rows(rng, 40_000, 0.15)[0])
        seen, alarms = seen + q.n_seen_, alarms + q.n_alarms_
    assert at_most(alarms, 0.9 * seen / 1e4)
    assert alarms >= 0.3 * 0.9 * seen / 1e4  # and the rate is not stated far too high


@pytest.mark.parametrize(
    ("window", "rate", "p", "apart"),
    [(200, 0.9, 0.01, 4.0), (200, 0.9, 0.05, 4.0), (200, 0.3, 0.01, 4.0), (200, 0.9, 0.3, 1.0), (1000, 0.3, 0.02, 2.0)],
)
def test_rare_and_clear_classes_are_not_alarmed_at_more_often(window, rate, p, apart):
    """Few positives that are told from the others surely: their counts have a Poisson tail, not a normal one."""
    rng = np.random.default_rng(1)
    q = sy.StreamQuantifier(window=window, false_alarms=rate, random_state=0).partial_fit(*rows(rng, 1000, 0.3, apart))
    X, y = rows(rng, 100_000, 0.5, apart)
    u = q._memberships(q._quantifier._judged.held.score(X).scores)
    sides = [u[y == k] for k in (0, 1)]
    while q.n_seen_ < 40 / rate * 1e4:  # 40 alarms expected, on memberships drawn anew from those of 100,000 rows
        positive = rng.uniform(size=100_000) < p
        q._watch(np.where(positive[:, None], rng.choice(sides[1], 100_000), rng.choice(sides[0], 100_000)))
    assert at_most(q.n_alarms_, rate * q.n_seen_ / 1e4)


@pytest.mark.parametrize("p", [[0.4, 0.3, 0.2, 0.1], [0.9, 0.06, 0.03, 0.01]])
def test_several_classes_raise_no_more_together(p):
    rng, seen, alarms = np.random.default_rng(2), 0, 0

    def several(n, p):
        y = rng.choice(4, n, p=p)
        return rng.normal(size=(n, 4)) + 2.0 * np.eye(4)[y], y

    for run in range(8):
        q = sy.StreamQuantifier(window=200, false_alarms=0.9, random_state=run).partial_fit(
            *several(600, np.full(4, 0.25))
        )
        q.update(several(60_000, p)[0])
        seen, alarms = seen + q.n_seen_, alarms + q.n_alarms_
    assert at_most(alarms, 0.9 * seen / 1e4)
    assert alarms >= 0.3 * 0.9 * seen / 1e4
