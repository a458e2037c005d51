"""CostPath where rounding wins: an exact path that ends early, or whose margins are not known, and what "auto" does."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import steelyard as sy
import steelyard.measures as m
from steelyard.solvers.path import exact

X, Y = make_classification(900, 6, weights=[0.7], flip_y=0.1, random_state=1)
TRAIN, TEST = slice(0, 600), slice(600, None)


@pytest.fixture(scope="module")
def path():
    return sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture
def rounding_wins(monkeypatch):
    """Exact paths that end at the tau given, as where rounding leaves ties undecided."""

    def at(tau):
        def trace(X, y, C, tau_range, *rest):
            if tau <= tau_range[0]:
                whole = exact.trace(X, y, C, (0.0, 1.0), *rest)
                start = tau_range[0]
                return SimpleNamespace(complete=False, precise=True, start=start, end=start, status=whole.status)
            part = exact.trace(X, y, C, (tau_range[0], tau), *rest)
            return exact.ExactPath(part.problem, part.log, tau_range[1], part.further)

        monkeypatch.setattr("steelyard.estimators.cost_path.exact", SimpleNamespace(trace=trace))

    return at


def test_auto_goes_on_approximately_where_rounding_wins(path, rounding_wins):
    rounding_wins(0.4)
    with pytest.warns(ConvergenceWarning, match=r"tie at tau = 0.4 undecided; the path is approximate.*certified gap"):
        joined = sy.CostPath(C=0.1, tol=1e-4).fit(X[TRAIN], Y[TRAIN])
    assert joined.method_ == "approximate"
    assert joined.tau_range_ == (0.0, 1.0)
    assert 0 < joined.gap_ <= 1e-4
    assert (np.diff(joined.kinks_) >= 0).all()
    tau = np.array([0.0, 0.1, 0.39, 0.4, 0.41, 0.7, 1.0])
    expected = path.coefficients(tau)[0]
    np.testing.assert_allclose(joined.coefficients(tau[:3])[0], expected[:3], atol=1e-9)
    np.testing.assert_allclose(joined.coefficients(tau)[0], expected, atol=0.02)
    np.testing.assert_allclose(joined.predict_proba(X[TEST]), path.predict_proba(X[TEST]), atol=0.02)
    again = pickle.loads(pickle.dumps(joined))
    np.testing.assert_array_equal(again.predict_proba(X[TEST]), joined.predict_proba(X[TEST]))
    best = joined.best(m.FBeta(1), X[TEST], Y[TEST])
    reference = path.best(m.FBeta(1), X[TEST], Y[TEST])
    assert m.FBeta(1).score(Y[TEST], best.predict(X[TEST])) == pytest.approx(
        m.FBeta(1).score(Y[TEST], reference.predict(X[TEST])), abs=0.02
    )


def test_a_score_that_changes_sign_where_the_parts_meet_is_not_lost(rounding_wins):
    """`rates` count sign changes from the start on: they end where the last model puts the rows."""
    rounding_wins(0.4)
    with pytest.warns(ConvergenceWarning):
        joined = sy.CostPath(C=0.1, tol=0.3).fit(X[TRAIN], Y[TRAIN])
    rates = joined.rates(X[TEST], Y[TEST])
    last = joined.at(1.0).decision_function(X[TEST]) > 0
    assert rates.tpr[-1] == pytest.approx(last[Y[TEST] == 1].mean())
    assert rates.tnr[-1] == pytest.approx(1 - last[Y[TEST] == 0].mean())


def test_an_exact_path_that_rounding_ends_is_an_error(rounding_wins):
    rounding_wins(0.4)
    with pytest.raises(RuntimeError, match=r"tie at tau = 0.4 undecided.*method='auto'"):
        sy.CostPath(C=0.1, method="exact").fit(X[TRAIN], Y[TRAIN])


def test_auto_leaves_an_exact_path_whose_margins_are_not_known(monkeypatch):
    monkeypatch.setattr(exact.ExactPath, "drift", 1e-2)  # above tol, which an approximate path proves
    with pytest.warns(ConvergenceWarning, match=r"margins are known to 0.01 only"):
        assert sy.CostPath(C=0.1, method="exact").fit(X[TRAIN], Y[TRAIN]).gap_ == np.inf
    path = sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN])
    assert path.method_ == "approximate"
    assert path.gap_ <= 1e-3


def test_auto_is_approximate_from_the_start_if_it_must_be(rounding_wins):
    rounding_wins(0.0)
    path = sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN])
    assert path.method_ == "approximate"
    assert path.gap_ <= 1e-3
    with_kernel = sy.CostPath(C=0.1, kernel="rbf").fit(X[TRAIN], Y[TRAIN])
    assert with_kernel.method_ == "approximate"
    assert with_kernel.tau_range_ == (0.0, 1.0)


def test_no_part_of_an_exact_path_without_digits_is_kept(rounding_wins, monkeypatch):
    rounding_wins(0.4)
    monkeypatch.setattr(exact.ExactPath, "drift", 1e-3)
    path = sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN])
    assert path.method_ == "approximate"
    assert path._path.start == 0.0
    assert path.gap_ <= 1e-3
