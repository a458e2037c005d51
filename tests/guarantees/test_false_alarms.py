"""The false-alarm rate of `StreamQuantifier`, simulated on streams whose prevalence does not move."""

import numpy as np

import steelyard as sy


def test_false_alarms_stay_below_the_stated_rate():
    rng = np.random.default_rng(0)

    def rows(n, p):
        y = (rng.uniform(size=n) < p).astype(int)
        return rng.normal(size=(n, 2)) + y[:, None], y

    seen = alarms = 0
    for run in range(12):
        q = sy.StreamQuantifier(window=200, false_alarms=0.9, random_state=run).partial_fit(*rows(400, 0.3))
        q.update(rows(40_000, 0.15)[0])
        seen, alarms = seen + q.n_seen_, alarms + q.n_alarms_
    expected = 0.9 * seen / 1e4
    assert alarms <= expected + 3 * np.sqrt(expected)
    assert alarms >= 0.2 * expected  # and the rate is not stated far too high
