"""q-values against their definition, and what must hold for any scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from reference import target_decoy as slow
from steelyard.statistics.target_decoy import chance_right, cut, weighted_q_values

LISTS = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=25)


def arrays(rows):
    scores, target = zip(*rows, strict=True)
    return np.array(scores, dtype=float), np.array(target)


@given(LISTS)
def test_q_values_are_their_definition(rows):
    scores, target = arrays(rows)
    assert sy.q_values(scores, target) == pytest.approx(slow.q_values(scores, target))


@given(LISTS, st.lists(st.integers(1, 3), min_size=25, max_size=25))
def test_a_weight_counts_repetitions(rows, repeats):
    scores, target = arrays(rows)
    weight = np.array(repeats[: len(scores)])
    which = np.repeat(np.arange(len(scores)), weight)
    repeated = sy.q_values(scores[which], target[which])
    assert weighted_q_values(scores, target, weight.astype(float))[which] == pytest.approx(repeated)


@given(LISTS)
def test_monotone_ties_and_any_rising_transformation(rows):
    scores, target = arrays(rows)
    q = sy.q_values(scores, target)
    order = np.argsort(-scores)
    assert (np.diff(q[order]) >= 0).all()
    for value in scores:
        assert len(set(q[scores == value])) == 1
    assert np.array_equal(q, sy.q_values(np.exp(scores / 3), target))
    shuffled = np.random.default_rng(0).permutation(len(scores))
    assert np.array_equal(q[shuffled], sy.q_values(scores[shuffled], target[shuffled]))


@given(LISTS, st.sampled_from([0.1, 0.2, 0.5, 1.0]))
def test_the_longest_list(rows, max_q):
    scores, target = arrays(rows)
    found = cut(scores, target, np.ones(len(scores)), max_q)
    assert (found.threshold, found.targets) == slow.longest_list(list(scores), list(target), max_q)
    accepted = target & (sy.q_values(scores, target) <= max_q)
    assert accepted.sum() == found.targets


@settings(max_examples=50)
@given(LISTS)
def test_chances_rise_with_the_score(rows):
    scores, target = arrays(rows)
    chance = chance_right(scores, target, np.ones(len(scores)))
    assert ((chance >= 0) & (chance <= 1)).all()
    assert (np.diff(chance[np.argsort(scores, kind="stable")]) >= 0).all()


def competition(rng, right, wrong):
    """Scores of so many right targets, wrong targets and decoys: a decoy wins as often as a wrong target does."""
    is_right = np.repeat([True, False], [right, wrong])
    target = is_right | (rng.random(right + wrong) < 0.5)
    return rng.normal(size=right + wrong) + 3.0 * is_right, target, is_right


def test_chances_recover_a_known_mixture():
    scores, target, right = competition(np.random.default_rng(0), 20_000, 40_000)
    density = lambda x: np.exp(-0.5 * x**2)
    truth = density(scores - 3) / (density(scores - 3) + density(scores))
    chance = chance_right(scores, target, np.ones(len(scores)))
    assert np.abs(chance - truth)[target].mean() < 0.02
    assert chance[target].sum() == pytest.approx(right.sum(), rel=0.02)


def test_the_rate_promised_is_the_rate_found():
    """Among targets accepted at 0.05, about that share is wrong when a decoy wins as often as a wrong target."""
    rng, rates = np.random.default_rng(1), []
    for _ in range(200):
        scores, target, right = competition(rng, 500, 1500)
        accepted = target & (sy.q_values(scores, target) <= 0.05)
        rates.append((accepted & ~right).sum() / max(1, accepted.sum()))
    assert 0.04 < np.mean(rates) < 0.05 + 3 * np.std(rates) / np.sqrt(len(rates))


def test_limits():
    assert len(sy.q_values([], [])) == 0
    assert sy.q_values([1.0, 2.0], [False, False]).tolist() == [3.0, 2.0]  # no targets: nothing is worth accepting
    assert sy.q_values([1.0, 2.0], [True, True]).tolist() == [0.5, 0.5]  # no decoys: one is assumed
    assert sy.q_values([5, 5, 5], [1, 1, 0]).tolist() == [1.0, 1.0, 1.0]
    assert sy.q_values([np.inf, -np.inf], [True, False]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("scores", "target", "message"),
    [
        ([1.0, np.nan], [True, False], "1 NaN"),
        ([[1.0]], [True], "one dimension"),
        ([1.0, 2.0], [True], r"must have shape \(2,\)"),
        ([1.0, 2.0], [1, -1], "True or False"),
        ([1.0, 2.0], ["t", "d"], "True or False"),
    ],
)
def test_errors_say_what_is_needed(scores, target, message):
    with pytest.raises(ValueError, match=message):
        sy.q_values(scores, target)
