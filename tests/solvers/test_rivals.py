"""The score that knows its rivals: what the lead adds, freaks, scores of rows left out, and label-blindness."""

import numpy as np
import pytest

import steelyard as sy
from steelyard.rows import Rows
from steelyard.solvers.decoys import rivals
from steelyard.solvers.decoys.steps import Aim
from steelyard.statistics.competition import lead


def searched(seed, spectra=900, matches=4, right=0.35):
    """So many matches a spectrum; a column says how good a spectrum is, whoever matches it, which blurs the score."""
    rng = np.random.default_rng(seed)
    spectrum = np.repeat(np.arange(spectra), matches)
    is_right = (np.arange(len(spectrum)) % matches == 0) & (rng.random(spectra) < right)[spectrum]
    target = is_right | (rng.random(len(spectrum)) < 0.5)
    X = rng.normal(size=(len(spectrum), 4))
    X[is_right, :2] += [4.0, 2.0]
    X[:, 0] += 2.0 * rng.normal(size=spectra)[spectrum]
    order = rng.permutation(len(spectrum))
    return X[order], target[order], spectrum[order], is_right[order]


def accepted(scores, target, spectrum, max_q):
    best = sy.winners(scores, spectrum)
    return best[target[best] & (sy.q_values(scores[best], target[best]) <= max_q)]


def test_the_lead_tells_what_the_columns_do_not():
    X, target, spectrum, _ = searched(0)
    new, new_target, new_spectrum, new_right = searched(1)
    found = rivals.solve(X, target, spectrum, Aim(0.05))
    ours = accepted(found.model(new, new_spectrum), new_target, new_spectrum, 0.05)
    one_by_one = sy.QValueClassifier(0.05, random_state=0).fit(X, target, spectrum).decision_function(new)
    assert len(ours) > 1.15 * len(accepted(one_by_one, new_target, new_spectrum, 0.05))
    assert (~new_right[ours]).mean() < 0.09
    assert found.status.solved
    assert found.objective == pytest.approx(len(ours), rel=0.2)


def test_a_score_is_the_mean_of_both_and_zero_is_the_threshold():
    X, target, spectrum, _ = searched(2)
    found = rivals.solve(X, target, spectrum, Aim(0.1), seed=3)
    model = found.model
    alone = model.alone(Rows.of(X))
    ahead = (lead(alone, spectrum) - model.centre) / model.scale
    together = model.together(Rows.of(np.column_stack([X, ahead])))
    scores = model(X, spectrum)
    assert scores == pytest.approx((alone + together) / 2)
    best = sy.winners(scores, spectrum, seed=3)
    called = scores[best] > 0
    assert (called & target[best]).sum() == found.objective
    assert (called & ~target[best]).sum() <= 0.1 * found.objective
    assert np.isfinite(model(X[:5])).all()  # without groups
    again = rivals.solve(X, target, spectrum, Aim(0.1), seed=3).model
    assert np.array_equal(again(X, spectrum), scores)


def test_a_freak_decoy_gains_nothing_beyond_the_right_ones():
    X, target, spectrum, right = searched(3)
    freak = np.flatnonzero(~target)[0]
    X[freak, 1] = 50.0
    model = rivals.solve(X, target, spectrum, Aim(0.05)).model
    high = model.alone.bounds.high
    assert (X[right, 1] > high[1]).mean() < 0.2
    scores = model(X, spectrum)
    assert (scores > scores[freak]).sum() > 20


def test_left_out_scores_know_nothing_of_their_own_fold():
    """Labels without any meaning: in the lists of rows left out, targets and decoys come alike."""
    rng = np.random.default_rng(4)
    X, spectrum = rng.normal(size=(3000, 30)), np.arange(3000) // 3
    target = rng.random(3000) < 0.5
    scores = rivals.left_out_scores(X, target, spectrum, Aim(0.1))
    top = np.argsort(-scores)[:300]
    assert abs(target[top].mean() - 0.5) < 0.09
    in_sample = rivals.solve(X, target, spectrum, Aim(0.1)).model(X, spectrum)
    assert target[np.argsort(-in_sample)[:300]].mean() > target[top].mean() + 0.05
    with pytest.raises(ValueError, match="2 folds of 2 whole spectra: without one of them"):
        rivals.left_out_scores(X[:6], np.array([True] * 3 + [False] * 3), spectrum[:6], Aim(0.1), n_folds=2)
