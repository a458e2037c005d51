"""The q-value classifier: what it finds, what it promises, and what it says about data that cannot be learned."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import steelyard as sy
from steelyard.solvers.decoys import q_value, steps

SOLVERS = [{}, {"kernel": "rbf", "n_components": 20}, {"solver": "stochastic"}]


def matches(seed, n=4000, right=0.2, curved=False, lost=False):
    """Targets of which a share is right, as many decoys as wrong ones, and the group of each row."""
    rng = np.random.default_rng(seed)
    is_right = rng.random(n) < right
    target = is_right | (rng.random(n) < 0.5)
    X = rng.normal(size=(n, 6))
    if curved:
        angle = rng.uniform(0, 2 * np.pi, n)
        X[is_right, 0] = 3 * np.cos(angle[is_right]) + 0.5 * X[is_right, 0]
        X[is_right, 1] = 3 * np.sin(angle[is_right]) + 0.5 * X[is_right, 1]
        X[:, 2] += 1.0 * is_right
    else:
        X[is_right] += [2.5, 1.5, 1.0, 0.5, 0.0, 0.0]
    if lost:  # wrong targets off in a way of their own, though never far enough: what a loss on all targets chases
        X[target & ~is_right & (rng.random(n) < 0.5), 5] += 3.0
        X[~target & (rng.random(n) < 0.5), 5] += 2.0
    return X, target, rng.permutation(np.arange(n) // 4), is_right


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_accepted_is_a_list_at_the_rate_asked_for(options):
    X, target, groups, _ = matches(0)
    model = sy.QValueClassifier(0.05, random_state=0, **options).fit(X, target, groups)
    new, new_target, _, new_right = matches(1)
    accepted = model.accepted(new, new_target)
    assert not accepted[~new_target].any()
    q = sy.q_values(model.decision_function(new), new_target)
    assert np.array_equal(accepted, new_target & (q <= 0.05))
    assert accepted.sum() > 0.6 * new_right.sum()
    assert (accepted & ~new_right).sum() / accepted.sum() < 0.09
    called = model.predict(new)
    assert called[new_right].mean() > 0.6
    assert (called & ~new_target).sum() <= 2 * 0.05 * (called & new_target).sum()


def test_more_than_logistic_regression_on_all_targets():
    X, target, groups, _ = matches(0, lost=True)
    new, new_target, _, _ = matches(1, lost=True)
    ours = sy.QValueClassifier(0.02, random_state=0).fit(X, target, groups).accepted(new, new_target).sum()
    scores = LogisticRegression().fit(X, target).decision_function(new)
    assert ours > 1.1 * (new_target & (sy.q_values(scores, new_target) <= 0.02)).sum()


def test_a_kernel_finds_what_no_line_can():
    X, target, groups, _ = matches(0, curved=True)
    new, new_target, _, _ = matches(1, curved=True)
    found = {
        kernel: sy.QValueClassifier(0.05, kernel=kernel, random_state=0)
        .fit(X, target, groups)
        .accepted(new, new_target)
        for kernel in ("linear", "rbf")
    }
    assert found["rbf"].sum() > 1.5 * found["linear"].sum()


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_same_seed_same_bits_and_pickle(options):
    X, target, groups, _ = matches(2, 1500)
    first = sy.QValueClassifier(0.05, random_state=3, **options).fit(X, target, groups)
    again = clone(first).fit(X, target, groups)
    assert np.array_equal(first.decision_function(X), again.decision_function(X))
    loaded = pickle.loads(pickle.dumps(first))
    assert np.array_equal(first.decision_function(X), loaded.decision_function(X))


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_any_two_labels_and_either_as_the_target(options):
    X, target, groups, _ = matches(2, 1500)
    plain = sy.QValueClassifier(0.05, random_state=0, **options).fit(X, target, groups)
    named = np.where(target, "a target", "decoy")
    model = sy.QValueClassifier(0.05, pos_label="a target", random_state=0, **options).fit(X, named, groups)
    assert model.classes_.tolist() == ["a target", "decoy"]
    assert np.array_equal(model.predict(X) == "a target", plain.predict(X))
    assert np.allclose(model.decision_function(X), -plain.decision_function(X))
    assert np.array_equal(model.accepted(X, target), plain.accepted(X, target))


def test_sparse_rows_and_linear_coefficients():
    X, target, groups, _ = matches(2, 1500)
    X[np.abs(X) < 0.5] = 0.0
    dense = sy.QValueClassifier(0.05, random_state=0).fit(X, target, groups)
    sparse = sy.QValueClassifier(0.05, random_state=0).fit(sp.csr_matrix(X), target, groups)
    assert np.allclose(dense.decision_function(X), sparse.decision_function(sp.csr_matrix(X)), atol=1e-3)
    c, b = dense.bounds_
    assert np.allclose((c + b * np.tanh((X - c) / b)) @ dense.coef_[0] + dense.intercept_, dense.decision_function(X))
    whole = sy.QValueClassifier(0.05, bound=None, random_state=0).fit(X, target, groups)
    assert np.allclose(X @ whole.coef_[0] + whole.intercept_, whole.decision_function(X))


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_weights_of_zero_leave_rows_out_and_large_ones_pull(options):
    X, target, groups, _ = matches(2, 2000)
    kept = np.arange(2000) % 3 > 0
    whole = sy.QValueClassifier(0.05, random_state=0, **options).fit(
        X, target, groups, sample_weight=kept.astype(float)
    )
    part = sy.QValueClassifier(0.05, random_state=0, **options).fit(X[kept], target[kept], groups[kept])
    assert np.array_equal(whole.decision_function(X), part.decision_function(X))
    heavy = np.where(target & (X[:, 4] > 0), 20.0, 1.0)
    pulled = sy.QValueClassifier(0.05, random_state=0, **options).fit(X, target, groups, sample_weight=heavy)
    plain = sy.QValueClassifier(0.05, random_state=0, **options).fit(X, target, groups)
    rise = lambda model: np.corrcoef(model.decision_function(X), X[:, 4])[0, 1]
    assert rise(pulled) > rise(plain) + 0.05


def test_a_weight_of_two_is_two_rows_where_none_is_left_out():
    """In the counts and in every step; only the folds deal rows and not weights."""
    X, target, _, _ = matches(4, 800)
    weight = np.random.default_rng(0).integers(1, 4, 800)
    which = np.repeat(np.arange(800), weight)
    weighted = q_value.solve(X, target, steps.Aim(0.05), (), weight.astype(float)).model
    repeated = q_value.solve(X[which], target[which], steps.Aim(0.05)).model
    cosine = weighted.w @ repeated.w / np.linalg.norm(weighted.w) / np.linalg.norm(repeated.w)
    assert cosine > 0.999


def folds_of(monkeypatch, model, *given):
    """The rows that a fit leaves out in turn."""
    seen, solve = [], q_value.solve
    monkeypatch.setattr(q_value, "solve", lambda *args, **kwargs: seen.append(args[3]) or solve(*args, **kwargs))
    model.fit(*given)
    return seen[0]


def test_groups_are_left_out_whole(monkeypatch):
    X, target, groups, _ = matches(0, 300)
    folds = folds_of(monkeypatch, sy.QValueClassifier(0.1, random_state=0), X, target, groups)
    assert sorted(np.concatenate(folds).tolist()) == list(range(300))
    for a in range(3):
        for b in range(a):
            assert not set(groups[folds[a]]) & set(groups[folds[b]])


def test_rows_are_dealt_to_folds_at_random_and_in_equal_shares(monkeypatch):
    X, target, _, _ = matches(0, 300)
    order = np.argsort(-X[:, 0])  # lists of matches often come sorted by a score
    X, target = X[order], target[order]
    folds = folds_of(monkeypatch, sy.QValueClassifier(0.1, random_state=0), X, target)
    assert [abs(target[fold].sum() - target.sum() / 3) <= 1 for fold in folds] == [True] * 3
    assert all(abs(fold.mean() - 149.5) < 30 for fold in folds)


def test_a_share_is_held_out_and_nothing_is_fitted_again(monkeypatch):
    X, target, _, _ = matches(0, 2000)
    model = sy.QValueClassifier(0.05, bound=None, cv=0.3, random_state=0)
    (held,) = folds_of(monkeypatch, model, X, target)
    assert len(held) == 600
    rest = np.setdiff1d(np.arange(2000), held)
    found = q_value.learn(steps.Matches.of(X[rest], target[rest]), steps.Aim(0.05))[model.recipe_]
    assert model.coef_[0] == pytest.approx(found.w, rel=1e-6)


def test_splits_of_the_user_with_rows_of_no_weight(monkeypatch):
    X, target, _, _ = matches(0, 1000)
    weight = np.where(np.arange(1000) % 5 == 0, 0.0, 1.0)
    splits = list(StratifiedKFold(4).split(X, target))
    model = sy.QValueClassifier(0.1, cv=splits, random_state=0)
    folds = folds_of(monkeypatch, model, X, target, None, weight)
    used = np.flatnonzero(weight)
    assert [sorted(used[fold]) for fold in folds] == [sorted(set(test) & set(used)) for _, test in splits]


# -- data that cannot be learned, and limits ------------------------------------------------------------------------
@pytest.mark.parametrize("max_q", [0, 0.0, -0.1, 1.01, np.nan, "0.1"])
def test_a_rate_outside_its_range_is_refused(max_q):
    X, target, _, _ = matches(0, 100)
    with pytest.raises(
        ValueError, match=r"max_q must be a finite number above 0 and at most 1 \(decoys allowed per accepted target\)"
    ):
        sy.QValueClassifier(max_q).fit(X, target)


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_a_rate_of_one_accepts_down_to_as_many_decoys_as_targets(options):
    X, target, groups, _ = matches(0, 1000)
    model = sy.QValueClassifier(1.0, random_state=0, **options).fit(X, target, groups)
    accepted = model.accepted(X, target)
    lowest = model.decision_function(X)[accepted].min()
    above = model.decision_function(X) >= lowest
    assert 1 + (above & ~target).sum() <= accepted.sum()
    assert accepted.sum() > 0.9 * target.sum()


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_decoys_better_than_all_targets(options):
    rng = np.random.default_rng(0)
    target = np.arange(600) % 2 == 0
    X = np.ones((600, 2))
    X[:, 1] = rng.normal(size=600)
    twins = np.repeat(X[::2], 2, axis=0)  # each target has a decoy with its very features
    together = np.arange(600) // 2  # apart they are scored by models that differ, and chance may put a target on top
    with pytest.warns(UserWarning, match="calls every row a decoy"):
        model = sy.QValueClassifier(0.01, random_state=0, **options).fit(twins, target, together)
    assert not model.predict(twins).any()
    assert not model.accepted(twins, target).any()


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_constant_features(options):
    target = np.arange(200) % 2 == 0
    with pytest.warns(UserWarning, match="calls every row a decoy"):
        model = sy.QValueClassifier(0.01, random_state=0, **options).fit(np.full((200, 3), 7.0), target)
    assert len(set(model.decision_function(np.full((5, 3), 7.0)))) == 1
    assert not model.predict(np.full((5, 3), 7.0)).any()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_constant_features_whatever_the_balance(options, share):
    """As many targets as decoys or not: every list is all rows, and within the cap or not."""
    target = np.arange(120) < 120 * share
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sy.QValueClassifier(0.3, random_state=0, **options).fit(np.ones((120, 6)), target)
    assert model.predict(np.ones((5, 6))).tolist() == [share == 0.9] * 5


@pytest.mark.parametrize("options", SOLVERS, ids=str)
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_is_refused(options, label):
    with pytest.raises(ValueError, match="only one class"):
        sy.QValueClassifier(**options).fit([[1.0], [2.0]], [label, label])


@pytest.mark.parametrize("options", SOLVERS, ids=str)
def test_two_rows_one_of_each_class(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sy.QValueClassifier(random_state=0, **options).fit([[0.0], [1.0]], [0, 1])
    assert np.isfinite(model.decision_function([[0.0], [1.0]])).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(bad):
    X, target, _, _ = matches(0, 100)
    model = sy.QValueClassifier(0.2, random_state=0).fit(X, target)
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        sy.QValueClassifier().fit(X, target)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.accepted(X, target)


@pytest.mark.parametrize("gamma", [1e-9, 1e9])
def test_extreme_widths_of_the_kernel_leave_the_linear_model(gamma):
    X, target, groups, right = matches(0, 2000)
    model = sy.QValueClassifier(0.05, kernel="rbf", gamma=gamma, n_components=20, random_state=0).fit(X, target, groups)
    assert model.accepted(X, target).sum() > 0.6 * right.sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "poly"}, "kernel must be one of"),
        ({"solver": "bundle"}, "solver must be one of"),
        ({"kernel": "rbf", "solver": "stochastic"}, "learns a linear model"),
        ({"C": 0}, "C must be"),
        ({"gamma": "search"}, "gamma must be"),
        ({"cv": 1}, "cv=1 leaves nothing to judge by"),
        ({"cv": "prefit"}, "fits its own"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_parameters_are_checked(options, message):
    X, target, _, _ = matches(0, 100)
    with pytest.raises(ValueError, match=message):
        sy.QValueClassifier(**options).fit(X, target)


def test_wrong_groups_and_targets():
    X, target, groups, _ = matches(0, 100)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        sy.QValueClassifier().fit(X, target, groups[:50])
    model = sy.QValueClassifier(0.2, random_state=0).fit(X, target)
    with pytest.raises(ValueError, match="must have shape"):
        model.accepted(X, target[:50])
    with pytest.warns(UserWarning, match="no decoys among these rows"):
        assert model.accepted(X[target], target[target]).any()  # one decoy is assumed


def test_verbose_says_what_the_rows_left_out_said(capsys):
    X, target, groups, _ = matches(0, 500)
    sy.QValueClassifier(0.1, verbose=1, random_state=0).fit(X, target, groups)
    assert "accepted among rows left out: loop" in capsys.readouterr().err


@pytest.mark.parametrize("curved", [False, True])
def test_progress_says_which_recipe_without_which_fold(curved):
    X, target, _, _ = matches(0, 500)
    folds = tuple(np.arange(500)[k::3] for k in range(3))
    kernel, seen = (q_value.LandmarkKernel(0.1, 10) if curved else None), []
    quiet = q_value.solve(X, target, steps.Aim(0.1), folds, kernel=kernel)
    loud = q_value.solve(X, target, steps.Aim(0.1), folds, kernel=kernel, callback=seen.append)
    np.testing.assert_array_equal(loud.model(X), quiet.model(X))
    each = 4 + curved
    assert {one.n_steps for one in seen} == {4 * each}
    assert [one.done for one in seen] == list(range(1, len(seen) + 1))
    assert [one.fold for one in seen[: 3 * each]] == [0] * each + [1] * each + [2] * each
    assert len(seen) >= 3 * each + 4  # on all rows the kernel is tried only where rows left out ask for it
    assert (seen[0].best, seen[-1].fold) == (None, None)
    assert seen[-1].best[1] == max(quiet.held_out.values())


def test_progress_of_one_share_and_of_passes(capsys):
    X, target, _, _ = matches(0, 500)
    for given, steps_, said in (({"cv": 0.3}, 4, "without fold 1 of 1"), ({"solver": "stochastic"}, 10, "pass 10")):
        sy.QValueClassifier(0.1, verbose=1, random_state=0, **given).fit(X, target)
        err = capsys.readouterr().err
        assert f"{steps_} of {steps_}" in err
        assert said in err
    sy.QValueClassifier(0.1, random_state=0).fit(X, target)
    assert capsys.readouterr() == ("", "")
