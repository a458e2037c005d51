"""Shrunk labels: Platt's curve against a slow fit, the plug-in rule at one end, the exact one at the other."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import steelyard.measures as m
from steelyard.statistics import frontier, shrinkage

RNG = np.random.default_rng(0)
Y = np.arange(400) % 5 == 0
S = RNG.normal(size=400) + 1.5 * Y


def point(scores, is_positive, measure, weight=None):
    found = frontier.scan(scores, is_positive, weight)
    return shrinkage.best_point(found, scores, is_positive, weight, scores, measure)


def test_the_curve_is_platts():
    ours = shrinkage.calibrated(S, Y, np.ones(400))
    # A fractional target is two rows with weights.
    n_pos, n_neg = Y.sum(), (~Y).sum()
    target = np.where(Y, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    both, labels = np.tile(S, 2)[:, None], np.repeat([1, 0], 400)
    slow = LogisticRegression(C=1e12, tol=1e-10).fit(both, labels, sample_weight=np.concatenate([target, 1 - target]))
    np.testing.assert_allclose(ours, slow.predict_proba(S[:, None])[:, 1], atol=1e-4)


@pytest.mark.parametrize("case", ["apart", "reversed", "constant"])
def test_every_sample_has_a_curve_that_does_not_fall(case):
    s = {"apart": np.where(Y, 3.0, -3.0), "reversed": -S, "constant": np.zeros(400)}[case]
    p = shrinkage.calibrated(s, Y, np.ones(400))
    assert ((p > 0.0) & (p < 1.0)).all()
    assert (np.diff(p[np.argsort(s)]) >= 0.0).all()
    if case != "apart":
        np.testing.assert_allclose(p, p[0])


@pytest.mark.parametrize(("measure", "closed"), [
    (m.BalancedAccuracy(), lambda p: p.mean()),  # positive where p / prevalence exceeds (1 - p) / (1 - prevalence)
    (m.FBeta(1), lambda p: max(2 * np.sort(p)[::-1].cumsum() / (p.sum() + np.arange(1, len(p) + 1))) / 2),
])  # fmt: skip
def test_without_trust_in_labels_it_is_the_plug_in_rule(measure, closed, monkeypatch):
    """Both have a closed form: the prevalence, and half of the best F1."""
    monkeypatch.setattr(shrinkage, "PRIOR", 1e12)
    p = shrinkage.calibrated(S, Y, np.ones(400))
    assert (closed(p) < p).sum() == (point(S, Y, measure).threshold < S).sum()


def test_with_many_rows_it_is_the_exact_one(monkeypatch):
    exact = frontier.best_point(frontier.scan(S, Y), m.FBeta(1))
    assert point(S, Y, m.FBeta(1)).index != exact.index
    monkeypatch.setattr(shrinkage, "PRIOR", 1.0)
    assert point(S, Y, m.FBeta(1)) == exact


def test_the_value_is_that_of_the_rows_themselves():
    taken = point(S, Y, m.GMean())
    called = taken.threshold < S
    assert taken.value == pytest.approx(np.sqrt(called[Y].mean() * (~called)[~Y].mean()))


def test_weights_count_rows():
    w = RNG.integers(0, 4, 400)
    w[:10] = 1
    rows = np.repeat(np.arange(400), w)
    weighted, repeated = point(S, Y, m.FBeta(1), w.astype(float)), point(S[rows], Y[rows], m.FBeta(1))
    assert weighted.threshold == pytest.approx(repeated.threshold)
    assert weighted.value == pytest.approx(repeated.value)


def test_on_new_rows_it_is_better_than_the_exact_threshold():
    """Twelve positives: the exact threshold loses several times as much to the best one."""
    lost = {"exact": [], "shrunk": []}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        y = np.arange(120) % 10 == 0
        s = rng.normal(size=120) + 1.5 * y
        found = frontier.scan(s, y)
        taken = {"exact": frontier.best_point(found, m.GMean()), "shrunk": point(s, y, m.GMean())}
        for name, one in taken.items():
            lost[name].append(gmean_at(0.75) - gmean_at(one.threshold))
    assert np.mean(lost["shrunk"]) < 0.5 * np.mean(lost["exact"])


def gmean_at(t):
    from scipy.stats import norm

    return np.sqrt(norm.sf(t - 1.5) * norm.cdf(t))
