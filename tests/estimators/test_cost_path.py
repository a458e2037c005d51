"""CostPath: what it promises beyond scikit-learn's contract."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m
from steelyard.statistics.frontier import InfeasibleError

X, Y = make_classification(900, 6, weights=[0.7], flip_y=0.1, random_state=1)
TRAIN, TEST = slice(0, 600), slice(600, None)


@pytest.fixture(scope="module")
def path():
    return sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN])


def test_at_is_the_svm_with_these_costs(path):
    Z = np.c_[X, np.ones(len(X))]
    for tau in (0.15, 0.5, 0.8):
        svm = LinearSVC(
            C=0.1,
            loss="hinge",
            fit_intercept=False,
            class_weight={1: 2 * (1 - tau), 0: 2 * tau},
            tol=1e-8,
            max_iter=10**6,
        )
        svm.fit(Z[TRAIN], Y[TRAIN])
        point = path.at(tau)
        np.testing.assert_allclose(np.r_[point.coef_[0], point.intercept_], svm.coef_[0], atol=1e-4)
        np.testing.assert_allclose(point.decision_function(X[TEST]), Z[TEST] @ svm.coef_[0], atol=1e-3)


def test_costs_are_another_way_to_say_tau(path):
    assert path.at(costs={"fp": 5, "fn": 1}).tau == pytest.approx(5 / 6)
    with pytest.raises(ValueError, match="either tau or costs"):
        path.at()
    with pytest.raises(ValueError, match="either tau or costs"):
        path.at(0.5, costs={"fp": 1, "fn": 1})
    with pytest.raises(ValueError, match='keys "fp" and "fn"'):
        path.at(costs={"fp": 1})
    with pytest.raises(ValueError, match="not both zero"):
        path.at(costs={"fp": 0, "fn": 0})
    with pytest.raises(ValueError, match="costs must be numbers"):
        path.at(costs={"fp": "5", "fn": 1})
    for tau in (-0.1, 1.5, np.nan, "0.5", [0.2, 0.8]):
        with pytest.raises(ValueError, match="one number between 0 and 1"):
            path.at(tau)


def test_probability_is_the_share_of_tau(path):
    tau = (np.arange(4000) + 0.5) / 4000
    models = [path.at(t) for t in tau[::8]]
    share = np.mean([c.decision_function(X[TEST]) > 0 for c in models], axis=0)
    proba = path.predict_proba(X[TEST])[:, 1]
    np.testing.assert_allclose(proba, np.clip(share, 0.5 / 600, 1 - 0.5 / 600), atol=5 / len(models))
    assert proba.min() >= 0.5 / 600
    assert proba.max() <= 1 - 0.5 / 600
    assert ((proba > 0.5) == (path.predict(X[TEST]) == 1)).all()


def test_rates_are_those_of_the_models(path):
    points = path.rates(X[TEST], Y[TEST])
    tau = (points.thresholds + np.r_[points.thresholds[1:], 1.0]) / 2
    for k in range(0, len(points), 7):
        called = path.at(tau[k]).predict(X[TEST]) == 1
        assert called[Y[TEST] == 1].mean() == pytest.approx(points.tpr[k], abs=1e-12)
        assert (~called[Y[TEST] == 0]).mean() == pytest.approx(points.tnr[k], abs=1e-12)


def test_weights_count_in_rates_and_in_the_best_point(path):
    weight = np.random.default_rng(1).integers(0, 4, 300)
    repeated = np.repeat(X[TEST], weight, 0), np.repeat(Y[TEST], weight)
    heavy, plain = path.rates(X[TEST], Y[TEST], weight), path.rates(*repeated)
    for tau in np.random.default_rng(2).uniform(0, 1, 30):
        k, j = (np.searchsorted(points.thresholds, tau, side="right") - 1 for points in (heavy, plain))
        assert (heavy.tpr[k], heavy.tnr[k]) == pytest.approx((plain.tpr[j], plain.tnr[j]), abs=1e-12)
    best = path.best(m.FBeta(1), X[TEST], Y[TEST], sample_weight=weight)
    other = path.best(m.FBeta(1), *repeated)
    assert m.FBeta(1).score(repeated[1], best.predict(repeated[0])) == pytest.approx(
        m.FBeta(1).score(repeated[1], other.predict(repeated[0])), abs=1e-12
    )


@pytest.mark.parametrize("measure", [m.FBeta(1), m.BAKLD(), m.QMeasure(beta=1), m.NegKLD(), m.MCC()], ids=repr)
def test_best_is_the_best_of_the_path(path, measure):
    best = path.best(measure, X[TEST], Y[TEST])
    points = path.rates(X[TEST], Y[TEST])
    p = Y[TEST].mean()
    values = measure(tpr=points.tpr, tnr=points.tnr, prevalence=p, sample_size=300)
    assert measure.score(Y[TEST], best.predict(X[TEST])) == pytest.approx(np.nanmax(values), abs=1e-12)
    called = best.predict(X[TEST]) == 1
    skill = called[Y[TEST] == 1].mean() + (~called[Y[TEST] == 0]).mean()
    tied = values >= np.nanmax(values) - 1e-12
    assert skill == pytest.approx((points.tpr + points.tnr)[tied].max(), abs=1e-12)


def test_best_meets_constraints_or_says_how_close(path):
    capped = path.best(m.Recall(), X[TEST], Y[TEST], subject_to=m.fpr <= 0.05)
    called = capped.predict(X[TEST]) == 1
    assert called[Y[TEST] == 0].mean() <= 0.05
    assert called[Y[TEST] == 1].mean() > 0.1
    with pytest.raises(InfeasibleError, match="closest reachable point"):
        path.best(m.Recall(), X[TEST], Y[TEST], subject_to=[m.fpr <= 0.01, m.tpr >= 0.99])


def test_probabilities_stay_off_0_and_1_by_half_a_row():
    """Two far groups: every cost agrees, so the shares are 0 and 1. A weight of 3 counts as three rows, but however
    small weights are, a row is one: AdaBoost's sum to 1."""
    rows, y = np.r_[np.full((10, 1), -5.0), np.full((10, 1), 5.0)], np.repeat([0, 1], 10)
    for weight, n in ((None, 20), (np.full(20, 3.0), 60), (np.full(20, 0.05), 20), (np.full(20, 0.1), 20)):
        proba = sy.CostPath(C=10.0, fit_intercept=False).fit(rows, y, sample_weight=weight).predict_proba(rows)
        np.testing.assert_allclose(proba[:, 1], np.repeat([0.5 / n, 1 - 0.5 / n], 10), rtol=1e-12)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_at_the_ends_not_all_rows_need_be_of_one_class():
    """w = (5, 1) / 26 is the shortest with margin 1 on the positives, and negative on the negatives."""
    rows, y = np.array([[-5.0], [5.0]]), np.array([0, 1])
    path = sy.CostPath(C=10.0).fit(rows, y)
    np.testing.assert_allclose(np.r_[path.at(0.0).coef_[0], path.at(0.0).intercept_], [5 / 26, 1 / 26], rtol=1e-6)
    assert path.at(0.0).predict(rows).tolist() == path.at(1.0).predict(rows).tolist() == [0, 1]


def test_recrossing_is_the_share_of_rows_with_two_changes_of_sign_or_more(path):
    """Over all costs a score goes from above zero to below, so the number of changes is odd; over a part it may be two."""
    seen = []
    for tau_range in ((0.0, 1.0), (0.0, 0.082)):
        part = sy.CostPath(C=0.1, tau_range=tau_range).fit(X[TRAIN], Y[TRAIN])
        w = np.concatenate([w for _, w, _ in part._path.stretches()])
        positive = np.c_[X[TRAIN], np.ones(600)] @ w.T > 0
        changes = (positive[:, 1:] != positive[:, :-1]).sum(axis=1)
        assert (changes > 1).mean() == pytest.approx(part.recrossing_, abs=1e-12)
        seen += changes.tolist()
    assert {2, 3} <= set(seen), "too few rows re-cross here: the test shows nothing"


def test_recrossing_bounds_how_often_the_two_predictions_differ(path):
    differ = (path.predict(X[TRAIN]) != path.at(0.5).predict(X[TRAIN])).mean()
    assert differ <= path.recrossing_ <= 0.3


def test_any_two_labels_and_which_is_positive(path):
    names = np.where(Y == 1, "sick", "well")
    named = sy.CostPath(C=0.1, pos_label="sick").fit(X[TRAIN], names[TRAIN])
    np.testing.assert_array_equal(named.predict(X[TEST]), np.where(path.predict(X[TEST]) == 1, "sick", "well"))
    np.testing.assert_allclose(named.predict_proba(X[TEST])[:, 0], path.predict_proba(X[TEST])[:, 1], atol=1e-9)
    np.testing.assert_array_equal(named.at(0.3).predict(X[TEST]) == "sick", path.at(0.3).predict(X[TEST]) == 1)
    np.testing.assert_allclose(named.at(0.3).coef_, -path.at(0.3).coef_, atol=1e-8)
    best = named.best(m.FBeta(1), X[TEST], names[TEST])
    assert best.tau == pytest.approx(path.best(m.FBeta(1), X[TEST], Y[TEST]).tau, abs=1e-6)


def test_sparse_frames_and_pickles(path):
    sparse = sy.CostPath(C=0.1).fit(csr_matrix(X[TRAIN]), Y[TRAIN])
    np.testing.assert_allclose(sparse.predict_proba(csr_matrix(X[TEST])), path.predict_proba(X[TEST]), atol=1e-6)
    for frame in (pd.DataFrame(X, columns=list("abcdef")), pl.DataFrame(X, schema=list("abcdef"))):
        framed = sy.CostPath(C=0.1).fit(frame[TRAIN], Y[TRAIN])
        np.testing.assert_allclose(framed.predict_proba(frame[TEST]), path.predict_proba(X[TEST]), atol=1e-9)
        if hasattr(framed, "feature_names_in_"):  # scikit-learn 1.7 knows the names of pandas' columns only
            assert list(framed.at(0.4).feature_names_in_) == list("abcdef")
    assert list(sy.CostPath().fit(pd.DataFrame(X, columns=list("abcdef")), Y).at(0.4).feature_names_in_) == list(
        "abcdef"
    )
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.predict_proba(X[TEST]), path.predict_proba(X[TEST]))
    point = pickle.loads(pickle.dumps(path.at(0.4)))
    np.testing.assert_array_equal(point.predict(X[TEST]), path.at(0.4).predict(X[TEST]))


def test_a_point_of_the_path_ends_a_pipeline_and_pickles(path):
    scaler = StandardScaler().fit(X[TRAIN])
    scaled = sy.CostPath(C=0.1).fit(scaler.transform(X[TRAIN]), Y[TRAIN])
    whole = pickle.loads(pickle.dumps(make_pipeline(scaler, scaled.at(0.2))))
    np.testing.assert_array_equal(whole.predict(X[TEST]), scaled.at(0.2).predict(scaler.transform(X[TEST])))
    assert len(pickle.dumps(scaled.at(0.2))) < 2000, "a point carries no training rows"


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 3, 600)
    heavy = sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN], sample_weight=weight)
    repeated = sy.CostPath(C=0.1).fit(np.repeat(X[TRAIN], weight, 0), np.repeat(Y[TRAIN], weight))
    np.testing.assert_allclose(heavy.predict_proba(X[TEST]), repeated.predict_proba(X[TEST]), atol=1e-6)


def test_a_narrow_range_keeps_probabilities_inside_it(path):
    part = sy.CostPath(C=0.1, tau_range=(0.4, 0.6)).fit(X[TRAIN], Y[TRAIN])
    proba = part.predict_proba(X[TEST])[:, 1]
    assert (proba >= 0.4).all()
    assert (proba <= 0.6).all()
    with pytest.raises(ValueError, match=r"tau in \[0.4, 0.6\]"):
        part.at(0.7)


def test_approximate_and_exact_paths_agree(path):
    near = sy.CostPath(C=0.1, method="approximate", tol=1e-5).fit(X[TRAIN], Y[TRAIN])
    assert (path.method_, near.method_) == ("exact", "approximate")
    assert near.gap_ <= 1e-5
    assert len(near.kinks_) < len(path.kinks_)
    np.testing.assert_allclose(near.predict_proba(X[TEST]), path.predict_proba(X[TEST]), atol=0.05)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_kernel_path_solves_the_kernel_problem(kernel):
    """The dual of the kernel machine with K + 1, by its value at the path's model."""
    params = {"gamma": 0.3} if kernel == "rbf" else {"gamma": 0.3, "degree": 2, "coef0": 1.0}
    rows = slice(0, 120)
    K = rbf_kernel(X[rows], gamma=0.3) if kernel == "rbf" else (0.3 * X[rows] @ X[rows].T + 1.0) ** 2
    fitted = sy.CostPath(C=0.5, kernel=kernel, **params).fit(X[rows], Y[rows])
    given = sy.CostPath(C=0.5, kernel="precomputed").fit(K, Y[rows])
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0))
    sign = 2.0 * Y[rows] - 1
    from steelyard.solvers.linear.cost_sensitive import solve

    for tau in (0.2, 0.6):
        reference = solve(
            np.c_[root, np.ones(120)],
            sign,
            2 * (1 - tau),
            2 * tau,
            0.5,
            tol=1e-8,
            solver="coordinate",
            max_passes=100_000,
        )
        score = np.c_[root, np.ones(120)] @ reference.w
        np.testing.assert_allclose(fitted.at(tau).decision_function(X[rows]), score, atol=1e-2)
        np.testing.assert_allclose(given.at(tau).decision_function(K), score, atol=1e-2)


def test_one_class_and_other_mistakes():
    with pytest.raises(ValueError, match="only one class"):
        sy.CostPath().fit(X[:20], np.ones(20))
    for wrong, message in (({"C": 0.0}, "C must be a finite number above 0"), ({"method": "fast"}, "method must be one of"), ({"kernel": "sigmoid"}, "kernel must be one of"), ({"tau_range": (0.0, 2.0)}, "tau_range"), ({"tol": 0.0}, "tol must be")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            sy.CostPath(**wrong).fit(X[:50], Y[:50])
    with pytest.raises(NotFittedError):
        sy.CostPath().at(0.5)
    with pytest.raises(ValueError, match="not seen in fit"):
        sy.CostPath().fit(X[:50], Y[:50]).rates(X[:50], Y[:50] + 1)
    with pytest.raises(ValueError, match="none of the 50 rows is negative"):
        sy.CostPath().fit(X[:50], Y[:50]).best(m.Recall(), X[:50], np.ones(50, dtype=int))
    for gamma in (-1.0, "wide"):
        with pytest.raises(ValueError, match="gamma must be a finite number above 0 or one of 'scale', 'auto'"):
            sy.CostPath(kernel="rbf", gamma=gamma).fit(X[:50], Y[:50])
    with pytest.raises(TypeError, match="C must be a finite number above 0; got '1'"):
        sy.CostPath(C="1").fit(X[:50], Y[:50])


@pytest.mark.parametrize("kind", ["plain", "constant column", "conflicting duplicates", "one point, both labels"])
@pytest.mark.parametrize("C", [1e-8, 1e7, 1e8])
def test_extreme_regularisation_is_right_or_warned_of(C, kind):
    """Tiny C: w is C times the weighted sum of rows at every cost. Huge C: the losses alone decide."""
    rows, y = X[:60], Y[:60]
    if kind == "constant column":
        rows = np.c_[rows, np.full(60, 3.0)]
    elif kind == "conflicting duplicates":
        rows, y = np.repeat(X[:15], 4, axis=0), np.tile([0, 1, 1, 1], 15)
    elif kind == "one point, both labels":
        rows, y = np.ones((60, 2)), np.tile([0, 1], 30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        path = sy.CostPath(C=C).fit(rows, y)
    Z, sign = np.c_[rows, np.ones(60)], 2.0 * y - 1
    for tau in (0.2, 0.45, 0.7):
        w = np.r_[path.at(tau).coef_[0], path.at(tau).intercept_]
        cost = C * np.where(y == 1, 2 * (1 - tau), 2 * tau)
        if C < 1:
            np.testing.assert_allclose(w, Z.T @ (sign * cost), rtol=1e-9)
            assert not caught
        else:
            best = linear_programme(Z, sign, cost / C)
            loss = (cost / C) @ np.maximum(0, 1 - sign * (Z @ w))
            assert loss <= best * (1 + 1e-5) + 1e-5
            assert all("numerical trouble: margins are known to" in str(w.message) for w in caught)
            assert path.gap_ == (np.inf if caught else 0.0)


def linear_programme(Z, sign, cost):
    """The least sum of weighted hinge losses, without |w|^2."""
    n, d = Z.shape
    found = linprog(
        np.r_[np.zeros(d), cost],
        A_ub=-np.hstack([sign[:, None] * Z, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * d + [(0, None)] * n,
    )
    return found.fun


def test_constant_features_and_conflicting_rows():
    rows = np.repeat([[0.0, 1.0], [2.0, 1.0]], 10, axis=0)
    labels = np.tile([0, 1], 10)
    labels[10:13] = 1
    path = sy.CostPath().fit(rows, labels)
    proba = path.predict_proba([[0.0, 1.0], [2.0, 1.0]])[:, 1]
    np.testing.assert_allclose(proba, [labels[:10].mean(), labels[10:].mean()], atol=0.06)
