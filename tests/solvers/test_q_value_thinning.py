"""Fewer rows to learn from: the top as it is, each class with all of its weight, and lists as long as those of all."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

import steelyard as sy
from steelyard.estimators import q_value
from steelyard.rows import Rows
from steelyard.solvers.decoys.bounds import Soft
from steelyard.solvers.decoys.steps import Aim
from steelyard.solvers.decoys.thinning import LEAST, ROOM, room, thin


def matches(seed, n=6000, right=0.1):
    rng = np.random.default_rng(seed)
    is_right = rng.random(n) < right
    X = rng.normal(size=(n, 4))
    X[is_right, :2] += [4.0, 2.0]
    return X, is_right | (rng.random(n) < 0.5)


def thinned(X, target, weight=None, most=1500, seed=0):
    rows = Rows.of(X)
    return thin(rows, target, weight, Soft.of(rows, 3.0, weight), Aim(0.05), most, seed)


def only_room_for(number):
    return mock.patch.object(q_value, "room", return_value=number)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_top_stays_as_it_is_and_each_class_keeps_its_weight(form, weighted):
    X, target = matches(0)
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float) if weighted else None
    found = thinned(form(X), target, weight)
    own = np.ones(len(X)) if weight is None else weight
    assert len(found.which) == 1500
    assert (np.diff(found.which) > 0).all()
    for side in (target, ~target):
        assert found.weight[side[found.which]].sum() == pytest.approx(own[side].sum())
    top = np.flatnonzero(X[:, :2] @ [4.0, 2.0] > 18.0)  # as good as a row can be: the pilot sees that
    assert len(top) > 100
    place = np.searchsorted(found.which, top)
    assert np.array_equal(found.which[place], top)
    assert np.array_equal(found.weight[place], own[top])


def test_sums_over_the_rest_have_the_right_mean():
    X, target = matches(2)
    sums = lambda side: [X[found.which[side[found.which]], 3] @ found.weight[side[found.which]] for found in draws]
    draws = [thinned(X, target, seed=seed) for seed in range(40)]
    for side in (target, ~target):
        found = np.array(sums(side))
        assert abs(found.mean() - X[side, 3].sum()) < 4.0 * found.std() / np.sqrt(len(found))


def test_a_rare_class_stays_whole_and_folds_keep_their_rows():
    X, target = matches(3)
    target[np.flatnonzero(~target)[200:]] = True  # 200 decoys
    found = thinned(X, target)
    assert np.isin(np.flatnonzero(~target), found.which).all()
    folds = np.array_split(np.random.default_rng(4).permutation(len(X)), 3)
    for fold, numbers in zip(folds, found.numbers(folds, len(X)), strict=True):
        assert np.array_equal(found.which[numbers], fold[np.isin(fold, found.which)])


def test_there_is_room_for_all_but_large_tables():
    assert room(Rows.of(np.zeros((LEAST, 500)))) == LEAST
    large = np.lib.stride_tricks.as_strided(np.zeros(50), (500_000, 50), (0, 8))
    assert room(Rows.of(large, check=False)) == ROOM // 50


@pytest.mark.parametrize("options", [{}, {"solver": "stochastic"}, {"kernel": "rbf"}, {"cv": 0.3}], ids=str)
def test_lists_are_as_long_as_those_of_all_rows(options):
    (X, target), (new, new_target) = matches(5, 12_000), matches(6, 12_000)
    make = lambda: sy.QValueClassifier(0.05, random_state=0, **options).fit(X, target)
    whole = make()
    with only_room_for(6_000):
        fewer, again = make(), make()
    assert np.array_equal(fewer.decision_function(new), again.decision_function(new))
    assert not np.array_equal(fewer.decision_function(new), whole.decision_function(new))
    count = lambda model: model.accepted(new, new_target).sum()
    assert count(fewer) > 0.95 * count(whole)
    called = (fewer.predict(X) & ~target).sum() / (fewer.predict(X) & target).sum()
    assert 0.02 < called < 0.09  # the threshold is that of all rows, not of those that stay
    assert fewer.bounds_.tolist() == whole.bounds_.tolist()


def test_weights_of_0_and_groups_go_with_it_and_rows_left_out_count_for_those_that_are_not_there():
    X, target = matches(12)
    weight, groups = np.arange(len(X)) % 5 > 0, np.arange(len(X)) // 3
    solve = q_value.q_value.solve
    with only_room_for(900), mock.patch.object(q_value.q_value, "solve", wraps=solve) as learned:
        some = sy.QValueClassifier(0.05, random_state=0).fit(X, target, groups, weight.astype(float))
    rows, _, _, _, counts = learned.call_args.args[:5]
    assert rows.n_rows == 900
    assert counts.sum() == pytest.approx(weight.sum())
    listed = some.accepted(X[weight], target[weight]).sum()
    assert listed > 400
    assert some.held_out_["mixture"] == pytest.approx(listed, rel=0.25)
