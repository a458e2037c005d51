"""``proof="reset"``: which decoys train, who judges, that training sees no label of a judge, and the rate that is kept."""

import warnings

import numpy as np
import pytest

import steelyard as sy
from reference import target_decoy as slow
from steelyard.estimators import q_value
from steelyard.solvers.decoys.reset import Parted


def competed(rng, n=600, right=0.3, noise=4, decoys=1, apart=3.0):
    """One row a spectrum: a right target, or a wrong match that is a target with probability 1/(1 + decoys)."""
    is_right = rng.random(n) < right
    target = is_right | (rng.random(n) < 1 / (1 + decoys))
    X = rng.normal(size=(n, 1 + noise))
    X[is_right, 0] += apart
    return X, target, is_right


def fitted(X, target, max_q=0.1, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sy.QValueClassifier(max_q, proof="reset", random_state=0, **options).fit(X, target)


@pytest.mark.parametrize("decoys", [1, 2])
@pytest.mark.parametrize("options", [{}, {"solver": "stochastic"}], ids=str)
def test_the_list_of_the_fitted_rows_is_the_paper_s(options, decoys):
    X, target, _ = competed(np.random.default_rng(0), decoys=decoys)
    model = fitted(X, target, decoys_per_target=decoys, **options)
    trains = model.training_decoys_
    assert not (trains & target).any()
    assert 0.35 < trains.sum() / (~target).sum() < 0.65
    expected = slow.reset_list(model.decision_function(X).tolist(), target, trains, 0.1, decoys)
    assert np.flatnonzero(model.accepted(X, target)).tolist() == expected
    assert len(expected) > 50
    assert np.flatnonzero(model.predict(X) & target & ~trains).tolist() == expected
    q = model.q_values(X, target)
    assert np.isnan(q).tolist() == trains.tolist()


@pytest.mark.parametrize("most", [10**9, 300], ids=["all rows", "some of them"])
def test_training_does_not_see_which_hidden_rows_are_decoys(most, monkeypatch):
    """Swapping the labels of hidden rows, those of judges among them, gives the same model."""
    monkeypatch.setattr(q_value, "room", lambda rows: most)
    X, target, _ = competed(np.random.default_rng(1))
    model = fitted(X, target)
    hidden = np.flatnonzero(~model.training_decoys_)
    other = target.copy()
    other[hidden[: len(hidden) // 2]] ^= True
    assert other.sum() != target.sum()
    again = Parted(model.training_decoys_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parted, "by_coins", classmethod(lambda cls, *_: again))
        seen = fitted(X, other)
    direction = lambda found: found.coef_ / np.linalg.norm(found.coef_)
    assert np.array_equal(direction(model), direction(seen))
    assert model.recipe_ == seen.recipe_


def test_a_new_batch_is_judged_by_all_its_decoys():
    rng = np.random.default_rng(2)
    X, target, _ = competed(rng)
    model = fitted(X, target)
    new, new_target, _ = competed(rng)
    expected = new_target & (sy.q_values(model.decision_function(new), new_target) <= 0.1)
    assert np.array_equal(model.accepted(new, new_target), expected)
    assert np.array_equal(model.accepted(X.astype(np.float32), target), model.accepted(X, target))
    with pytest.warns(UserWarning, match="decoys that were trained with"):
        model.accepted(X[::-1], target[::-1])
    with pytest.raises(ValueError, match="that were decoys there are targets here"):
        model.accepted(X, np.ones(len(X), dtype=bool))


def test_rows_of_one_spectrum_are_refused_and_too_few_decoys_too():
    X, target, _ = competed(np.random.default_rng(3))
    with pytest.raises(ValueError, match="one row a group; there are 600 rows in 300 groups"):
        sy.QValueClassifier(proof="reset").fit(X, target, np.arange(600) // 2)
    one = np.ones(600, dtype=bool)
    one[0] = False
    seed = next(seed for seed in range(20) if np.random.default_rng(seed).random() >= 0.5)
    with pytest.raises(ValueError, match="none of the 1 was drawn"):
        Parted.by_coins(one, seed)
    with pytest.raises(ValueError, match="proof must be"):
        sy.QValueClassifier(proof="mirror").fit(X, target)


def test_another_fit_without_proof_forgets_the_judges():
    X, target, _ = competed(np.random.default_rng(4))
    model = fitted(X, target).set_params(proof=None).fit(X, target)
    assert not hasattr(model, "training_decoys_")
    assert not np.isnan(model.q_values(X, target)).any()


def in_sample_loop(X, target, max_q):
    """What the proof is for: Percolator's loop, and its list of the very rows that it was trained on."""
    from sklearn.svm import LinearSVC

    scores = X[:, 0]
    for _ in range(5):
        passed = target & (sy.q_values(scores, target) <= max_q)
        use = passed | ~target
        if not passed.any():
            break
        svm = LinearSVC(C=1.0, dual=False, class_weight={True: 1, False: 3}).fit(X[use], target[use])
        scores = svm.decision_function(X)
    return target & (sy.q_values(scores, target) <= max_q)


@pytest.mark.slow
@pytest.mark.parametrize("decoys", [1, 2])
def test_the_rate_is_kept_where_a_loop_on_its_own_rows_breaks_it(decoys):
    """Few rows, many columns that say nothing: the loop fits the decoys that are to judge it."""
    kept, broken = [], []
    for seed in range(60):
        X, target, right = competed(np.random.default_rng(seed), n=500, noise=40, decoys=decoys)
        for shares, accepted in (
            (kept, fitted(X, target, decoys_per_target=decoys).accepted(X, target)),
            (broken, in_sample_loop(X, target, 0.1)),
        ):
            shares.append((accepted & ~right).sum() / max(1, accepted.sum()))
    error = np.std(kept) / np.sqrt(len(kept))
    assert np.mean(kept) < 0.1 + 3 * error
    assert decoys > 1 or np.mean(broken) > 0.13
