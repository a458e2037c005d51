"""Who stands for a group, several decoys to a target, and separate searches, against their definitions and a known truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from reference import competition as slow
from steelyard.statistics.competition import best_of_decoys, lead, mirrored
from steelyard.statistics.separate_search import share_wrong

ROWS = st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 4)), min_size=1, max_size=20)


@given(ROWS, st.integers(0, 5))
def test_one_of_the_best_stands_for_its_group(rows, seed):
    scores, groups = (list(column) for column in zip(*rows, strict=True))
    found = sy.winners(scores, groups, seed=seed).tolist()
    best = slow.winners(scores, groups)
    assert sorted(found) == found
    assert len(found) == len(best)
    assert all(i in best[groups[i]] for i in found)
    assert sy.winners(scores, [f"spectrum {g}" for g in groups], seed=seed).tolist() == found


def test_among_equals_chance_decides_and_the_label_does_not():
    scores, groups = np.zeros(4000), np.repeat(np.arange(2000), 2)
    first = (sy.winners(scores, groups, seed=1) % 2 == 0).mean()
    assert 0.45 < first < 0.55
    assert len(sy.winners([], [])) == 0


@given(ROWS)
def test_the_lead_is_over_the_best_other_row(rows):
    scores, groups = (np.array(column) for column in zip(*rows, strict=True))
    assert lead(scores.astype(float), groups) == pytest.approx(slow.lead(scores.tolist(), groups.tolist()))


@given(st.permutations(range(6)), st.sampled_from([1, 3, 5]))
def test_mirrored_ranks(scores, number):
    target, decoys = float(scores[0]), [float(s) for s in scores[1 : 1 + number]]
    found, is_target = mirrored([target], [decoys])
    assert (found[0], bool(is_target[0])) == slow.mirrored(target, decoys)
    best, won = best_of_decoys([target], [decoys])
    assert (best[0], bool(won[0])) == (max(target, *decoys), target > max(decoys))


def several(rng, n, decoys, right=0.3):
    is_right = rng.random(n) < right
    wrong = rng.normal(size=n)
    return np.where(is_right, wrong + 3.0, wrong), rng.normal(size=(n, decoys)), is_right


@pytest.mark.parametrize(
    ("compete", "decoys", "per_target"), [(best_of_decoys, 1, 1), (best_of_decoys, 3, 3), (mirrored, 3, 1)]
)
def test_the_rate_is_kept_with_several_decoys_a_target(compete, decoys, per_target):
    rng, shares, counts = np.random.default_rng(0), [], []
    for _ in range(200):
        target, others, right = several(rng, 400, decoys)
        scores, won = compete(target, others, seed=int(rng.integers(2**31)))
        accepted = won & (sy.q_values(scores, won, decoys_per_target=per_target) <= 0.1)
        shares.append((accepted & ~right).sum() / max(1, accepted.sum()))
        counts.append(accepted.sum())
    assert np.mean(shares) < 0.1 + 3 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) > 0.05
    assert np.mean(counts) > 80


@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=15),
    st.lists(st.integers(-4, 4), min_size=1, max_size=15),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.booleans(),
)
def test_separate_searches_are_their_definition(targets, decoys, pi0, mix_max):
    method = "mix-max" if mix_max else "separate"
    found = sy.separate_q_values(targets, decoys, method=method, share=pi0)
    assert found == pytest.approx(slow.separate_q_values(targets, decoys, pi0, mix_max))


def test_mix_max_counts_the_wrong_ones_that_beat_a_right_one():
    """Right ones that are hardly better than wrong ones are often beaten, which ``pi0 D / T`` forgets."""
    rng, rates, share = np.random.default_rng(0), {"mix-max": [], "separate": []}, []
    for _ in range(60):
        wrong, decoys = rng.normal(size=(2, 2000))
        found = np.where(rng.random(2000) < 0.5, rng.normal(1.5, 1.0, 2000), -np.inf)
        targets, right = np.maximum(wrong, found), found > wrong
        share.append(share_wrong(targets, decoys))
        for method, shares in rates.items():
            accepted = sy.separate_q_values(targets, decoys, method=method, share=0.5) <= 0.1
            shares.append((accepted & ~right).sum() / max(1, accepted.sum()))
    assert np.mean(rates["mix-max"]) == pytest.approx(0.1, abs=0.01)
    assert np.mean(rates["separate"]) > np.mean(rates["mix-max"]) + 0.01
    assert 0.45 < np.mean(share) < 0.75


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sy.winners([1.0, 2.0], [0]), "there are 2 scores"),
        (lambda: sy.winners([np.nan], [0]), "1 NaN"),
        (lambda: sy.winners([[1.0]], [0]), "one dimension"),
        (lambda: mirrored([1.0], [[1.0, 2.0]]), "give an odd one"),
        (lambda: best_of_decoys([1.0], [1.0]), "a column a decoy"),
        (lambda: best_of_decoys([1.0], [[np.nan]]), "cannot compete"),
        (lambda: sy.separate_q_values([1.0], [1.0], method="both"), "method must be one of"),
        (lambda: sy.separate_q_values([1.0], [1.0], share=2.0), "from 0 to 1"),
        (lambda: sy.q_values([1.0], [True], decoys_per_target=0), "above 0"),
    ],
)
def test_errors_say_what_is_needed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
