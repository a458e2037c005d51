"""A path in legs: both ways from the middle, and where a whole class ties a straight line stands for thousands of kinks."""

import dataclasses
import pickle

import numpy as np
import pytest

import steelyard as sy
from reference.cost_path import kkt_residual, objective
from steelyard.solvers import cost_sensitive
from steelyard.solvers.path.exact import trace, trace_quantiles

C_TIED = 0.01


def tied(n=600, columns=6, rare=0.15):
    """One-hot columns that say little of a rare class: where it is cheap, every row of the other one is on the margin.
    One row of either class is far out, so that w still moves near the end of the range."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (n, columns))
    y = np.where((rng.random(n) < rare) | ((codes[:, 0] == 0) & (rng.random(n) < 2 * rare)), 1.0, -1.0)
    one_hot = (codes[:, :, None] == np.arange(4)).reshape(n, -1).astype(float)
    out = np.zeros((n, 2))
    out[y.argmax(), 0] = out[y.argmin(), 1] = 30.0
    return np.c_[out, one_hot, np.ones(n)], y


@pytest.fixture(scope="module")
def path():
    X, y = tied()
    return trace(X, y, C_TIED)


def widest(path):
    """The legs on both sides of the longest straight line."""
    return max(zip(path.legs, path.legs[1:], strict=False), key=lambda pair: pair[1].start - pair[0].end)


def between(path, count=9):
    first, second = widest(path)
    return np.linspace(first.end, second.start, count + 2)[1:-1]


def test_a_straight_line_stands_for_many_kinks(path):
    first, second = widest(path)
    assert (path.start, path.end) == (0.0, 1.0)
    assert all(a.start <= a.end <= b.start for a, b in zip(path.legs, path.legs[1:], strict=False))
    assert second.start - first.end > 0.1
    assert len(second.tau) > 100  # it came from the end, and not by itself
    assert (np.diff(path.kinks) >= 0).all()
    assert path.status.solved
    assert path.audit() < 1e-8


def test_the_straight_line_is_optimal(path):
    """By multipliers that bounded least squares finds at each tau, and by another solver's bound."""
    X, y = tied()
    for tau in between(path):
        (w,) = path.models(tau)
        assert kkt_residual(X, y, w, tau, C_TIED, tie=2e-8) < 1e-6
        other = cost_sensitive.solve(X, y, 2 * (1 - tau), 2 * tau, C_TIED, 1e-7)
        assert objective(X, y, w, tau, C_TIED) <= other.objective * (1 + 1e-8)
        assert objective(X, y, w, tau, C_TIED) >= other.objective * (1 - other.gap) - 1e-12


@pytest.mark.parametrize("C", [0.001, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("n", [150, 400])
def test_conditions_hold_with_weights_that_tie_and_nearly_tie(n, C):
    X, y = tied(n)
    near = X + 1e-5 * np.random.default_rng(2).normal(size=X.shape)
    for rows in (X, near):
        path = trace(rows, y, C, sample_weight=np.random.default_rng(1).uniform(0.5, 1.5, n))
        assert path.status.solved
        assert path.audit() < 1e-8


def test_the_leg_that_came_down_is_replayed_upwards(path):
    """At single tau, and along the path."""
    tau, w, _ = (np.concatenate(parts) for parts in zip(*path.stretches(), strict=True))
    assert (np.diff(tau) >= 0).all()
    assert (tau[0], tau[-1]) == (0.0, 1.0)
    X, _ = tied()
    some = np.random.default_rng(1).choice(np.flatnonzero(np.diff(tau) > 1e-9), 40)
    middle = 0.5 * (tau[some] + tau[some + 1])
    np.testing.assert_allclose(X @ path.models(middle).T, 0.5 * X @ (w[some] + w[some + 1]).T, atol=1e-8)


def test_a_part_of_the_range_has_the_same_models(path):
    X, y = tied()
    _, second = widest(path)
    start = 0.5 * (second.start + 1.0)
    alone, taus = trace(X, y, C_TIED, (start, 1.0)), np.linspace(start, 1.0, 33)
    np.testing.assert_allclose(X @ path.models(taus).T, X @ alone.models(taus).T, atol=2e-8)


def test_the_audit_sees_a_line_that_joins_what_it_may_not():
    rng = np.random.default_rng(0)
    X, y = np.c_[rng.normal(size=(80, 3)), np.ones(80)], rng.choice([-1.0, 1.0], 80)
    whole, low, high = trace(X, y), trace(X, y, 1.0, (0.0, 0.3)), trace(X, y, 1.0, (0.6, 1.0))
    wrong = dataclasses.replace(whole, log=low.log, further=(high.log,))
    assert whole.audit() < 1e-8
    assert wrong.audit() > 1e-3


def test_legs_pickle_and_are_saved(path, tmp_path):
    again = pickle.loads(pickle.dumps(path))
    taus = np.r_[between(path), 0.1, 0.9]
    np.testing.assert_array_equal(again.models(taus), path.models(taus))
    np.testing.assert_array_equal(again.kinks, path.kinks)
    X, y = tied()
    model = sy.CostPath(C=C_TIED, method="exact").fit(X[:, :-1], y)
    assert len(model._path.legs) == len(path.legs) > 2
    sy.save(model, tmp_path / "path.sy")
    back = sy.load(tmp_path / "path.sy")
    np.testing.assert_array_equal(back.predict_proba(X[:, :-1]), model.predict_proba(X[:, :-1]))
    np.testing.assert_array_equal(back.at(taus[3]).coef_, model.at(taus[3]).coef_)


def test_a_regression_that_fits_exactly_is_two_ends_and_a_line():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(500, 4)), np.ones(500)]
    path = trace_quantiles(X, X[:, 0] - 2.0 * X[:, 1])
    first, second = widest(path)
    assert second.start - first.end > 0.1
    assert len(second.tau) > 100  # it came from the end, and not by itself
    assert path.audit() < 1e-8
    np.testing.assert_allclose(
        X @ path.models([0.3, 0.5, 0.7]).T, (X[:, 0] - 2 * X[:, 1])[:, None] + np.zeros(3), atol=1e-7
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_who_watches_sees_the_range_grow_once(n_jobs):
    X, y = tied(12_000, 9)
    seen = []
    path = trace(X, y, 0.003, callback=seen.append, n_jobs=n_jobs)
    assert len(path.legs) > 2
    assert len(seen) > 2
    shares = [one.share for one in seen]
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] <= shares[-1] <= 1.0 + 1e-9


@pytest.mark.parametrize("kind", ["tied", "skilful", "quantiles"])
def test_two_threads_give_the_bits_of_one(kind):
    X, y = tied(400)
    rng = np.random.default_rng(3)
    if kind == "skilful":
        X, y = np.c_[rng.normal(size=(400, 5)), np.ones(400)], rng.choice([-1.0, 1.0], 400)
        X[:, 0] += y
    given = (X, X @ rng.normal(size=X.shape[1]) + rng.normal(size=400), 1.0) if kind == "quantiles" else (X, y, 0.05)
    one, two = ((trace_quantiles if kind == "quantiles" else trace)(*given, n_jobs=n) for n in (1, 2))
    assert len(one.legs) > 1
    assert [leg.__getstate__()[0] for leg in one.legs] == [leg.__getstate__()[0] for leg in two.legs]
    np.testing.assert_array_equal(one.kinks, two.kinks)
    taus = np.linspace(0.0, 1.0, 23)
    np.testing.assert_array_equal(one.models(taus), two.models(taus))


def test_halves_join_in_the_middle():
    """Which is the share of the positives' weight, and at an end of the range there is one half only."""
    X, y = tied(400)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, 400)
    path, middle = trace(X, y, 0.05, sample_weight=weight), weight[y > 0].sum() / weight.sum()
    joined = [a for a, b in zip(path.legs, path.legs[1:], strict=False) if a.end == b.start]
    assert [leg.end for leg in joined] == [pytest.approx(middle)]
    tau, _, way = (np.concatenate(parts) for parts in zip(*path.stretches(), strict=True))
    assert np.isfinite(way).all()
    assert (tau == joined[0].end).sum() == 2
    above = trace(X, y, 0.05, (middle + 0.1, 1.0), weight)
    np.testing.assert_allclose(X @ above.models(0.9).T, X @ path.models(0.9).T, atol=2e-8)


def test_an_error_of_who_watches_ends_both_halves():
    X, y = tied(12_000, 9)

    def watch(state):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        trace(X, y, 0.003, callback=watch, n_jobs=2)
