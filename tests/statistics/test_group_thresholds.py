"""One threshold for each group: as good as trying all combinations where that is promised, and near it elsewhere."""

import numpy as np
import pytest

import steelyard.measures as m
from reference import group_thresholds as slow
from steelyard.statistics.frontier import InfeasibleError
from steelyard.statistics.group_thresholds import choose
from steelyard.statistics.promises.counts import Scored


def rows(seed, n=40, groups=2):
    rng = np.random.default_rng(seed)
    g = np.array(["abc"[k % groups] for k in range(n)])
    y = rng.random(n) < 0.4
    y[: 2 * groups] = np.arange(2 * groups) < groups
    s = np.round(rng.normal(size=n) + 1.2 * y + 0.5 * (g == "a"), 1)
    return Scored(s, y, g)


def value_at(scored, choice, measure):
    t = dict(zip(choice.groups.tolist(), choice.thresholds, strict=True))
    called = scored.scores > np.array([t[g] for g in scored.groups])
    rates = {g: slow.at(called[scored.groups == g], scored.is_positive[scored.groups == g]) for g in t}
    whole = slow.at(called, scored.is_positive)
    return float(measure(*whole, sample_size=len(scored))), rates, whole


WITHIN = [
    (m.FBeta(1), []), (m.Accuracy(), [m.within("a", m.fpr) <= 0.2]), (m.Recall(), [m.within("b", m.Precision()) >= 0.6]),
    (m.Jaccard(), [m.within("a", m.tpr) >= 0.7, m.within("b", m.fpr) <= 0.1]), (m.BalancedAccuracy(), []),
]  # fmt: skip
SEARCHED = [
    (m.Accuracy(), [m.gap(m.tpr) <= 0.1]), (m.FBeta(1), [m.gap(m.fpr) <= 0.05, m.gap(m.tpr) <= 0.2]),
    (m.Recall(), [m.fpr <= 0.1]), (m.FBeta(1), [m.fpr <= 0.2, m.gap(m.tpr) <= 0.1]), (m.GMean(), []),
    (m.Recall(), [m.Precision() >= 0.7, m.within("a", m.fpr) <= 0.3]),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("measure", "constraints"), WITHIN, ids=repr)
def test_within_groups_nothing_is_better(measure, constraints, seed):
    scored = rows(seed)
    expected = slow.best(scored.scores, scored.is_positive, scored.groups, measure, constraints)
    if expected is None:
        with pytest.raises(InfeasibleError):
            choose(scored, measure, constraints)
        return
    found = choose(scored, measure, constraints)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert value_at(scored, found, measure)[0] == pytest.approx(found.value)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("measure", "constraints"), SEARCHED, ids=repr)
def test_under_gaps_it_is_allowed_and_near_the_best(measure, constraints, seed):
    scored = rows(seed)
    found = choose(scored, measure, constraints)
    value, rates, whole = value_at(scored, found, measure)
    for c in constraints:
        assert c.met(rates) if c.needs_groups else c.holds(*whole)
    expected = slow.best(scored.scores, scored.is_positive, scored.groups, measure, constraints)
    assert value == pytest.approx(found.value)
    assert expected - 0.03 <= value <= expected + 1e-12


def test_three_groups():
    scored = rows(7, n=45, groups=3)
    measure, constraints = m.FBeta(1), [m.gap(m.tpr) <= 0.2]
    expected = slow.best(scored.scores, scored.is_positive, scored.groups, measure, constraints)
    assert choose(scored, measure, constraints).value >= expected - 0.02


def test_a_group_of_one_class_is_refused_by_name():
    scored = rows(0)
    with pytest.raises(ValueError, match="group 'b' cannot be set"):
        choose(Scored(scored.scores, scored.is_positive & (scored.groups == "a"), scored.groups), m.FBeta(1), [])
    with pytest.raises(ValueError, match="no group 'z'"):
        choose(scored, m.FBeta(1), [m.within("z", m.fpr) <= 0.1])
