"""Exploring models: pooled scores are out of fold, the guard against luck works, costs are those of the linearisation."""

import numpy as np
import pytest

import steelyard.measures as m
from steelyard.rows import Rows
from steelyard.solvers import cost_sensitive
from steelyard.solvers.search import models
from steelyard.solvers.search.exploration import Exploration, Sample
from steelyard.solvers.search.models import CostModel, Labelled, costs_of_ratio, linearised_costs, quantiles
from steelyard.statistics.frontier import Choice, InfeasibleError
from steelyard.statistics.resampling import Goal


def sample(n=600, seed=0, noise=1.0, folds=4):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(n, 3)), np.ones(n)]
    y = np.where(X[:, 0] + noise * rng.normal(size=n) > 1.0, 1.0, -1.0)
    blocks = np.arange(n) % folds
    splits = [(np.flatnonzero(blocks != k), np.flatnonzero(blocks == k)) for k in range(folds)]
    return Sample(Labelled(Rows.of(X), y), splits)


def grid(loss, costs, Cs):
    return [CostModel(loss, *pair, C) for pair in costs for C in Cs]


def test_scores_are_out_of_fold():
    rows = sample()
    exploration = Exploration(rows, Goal(m.FBeta(1)))
    exploration.add(grid("hinge", [(1.0, 1.0)], [1.0]))
    scores = exploration.scores(CostModel("hinge", 1.0, 1.0, 1.0))
    train, test = rows.splits[0]
    X = rows.data.rows.source
    w = cost_sensitive.solve(X[train], rows.data.y[train], tol=1e-2).w
    own, share = X[train] @ w, np.mean(rows.data.y[train] > 0)
    high, middle, low = quantiles(own[:, None], 1.0 - np.array([0.5 * share, share, 2 * share]))[:, 0]
    assert 2 * share < 0.5 * (1 + share)
    np.testing.assert_allclose(scores[: len(test)], (X[test] @ w - middle) / (high - low))


def test_constant_scores_are_not_ranked():
    rows = sample()
    flat = Sample(Labelled(Rows.of(np.full((600, 1), 3.0)), rows.data.y), rows.splits)
    exploration = Exploration(flat, Goal(m.BalancedAccuracy()))
    exploration.add(grid("hinge", [(1.0, 1.0)], [1.0]))
    assert len(exploration.frontier(exploration.scores(CostModel("hinge", 1.0, 1.0, 1.0)))) == 2


def test_luck_does_not_unseat_an_anchor():
    # Labels that nothing predicts: whatever wins, wins by luck, and the plain model should stay in nearly all runs.
    stayed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = sample(300, seed)
        rows = Sample(Labelled(rows.data.rows, np.where(rng.random(300) < 0.3, 1.0, -1.0)), rows.splits)
        exploration = Exploration(rows, Goal(m.BalancedAccuracy()))
        anchor = CostModel("logistic", 1.0, 1.0, 1.0)
        exploration.add(grid("logistic", [(1.0, 1.0)], [1.0]), [anchor])
        exploration.add(grid("hinge", [costs_of_ratio(r, 0.3) for r in (0.5, 1.0, 2.0)], [0.01, 0.1, 1.0]))
        stayed += exploration.choose().model == anchor
    assert stayed >= 8  # the largest value alone would keep it in about one run of ten


def test_a_clear_gain_unseats_the_anchor():
    rows = sample(2000, noise=0.3)
    rows.data.rows.source[:, 0] *= 0.01  # so little regularisation is needed, and the anchor has too much
    rows.data.rows.source[:, 1:] *= 10.0
    bad = CostModel("hinge", 1.0, 1.0, 1e-6)
    exploration = Exploration(rows, Goal(m.BalancedAccuracy()))
    exploration.add(grid("hinge", [(1.0, 1.0)], [bad.C]), [bad])
    exploration.add(grid("hinge", [costs_of_ratio(4.0, rows.prevalence)], [1e4]))
    assert exploration.choose().model != bad


@pytest.mark.parametrize(
    ("constraint", "rows"),
    [
        (m.fpr <= 0.1, 0.1 * 400),
        (m.tpr >= 0.7, 0.3 * 200),
        (m.Precision() >= 0.8, 200 * 0.2 / 0.8),
        (m.fpr <= 0.1 * m.tpr, 0.1 * 400),
    ],
    ids=repr,
)
def test_rows_that_break_a_constraint(constraint, rows):
    y = np.repeat([1.0, -1.0], [200, 400])
    exploration = Exploration(
        Sample(Labelled(Rows.of(np.zeros((600, 1))), y), [(y > 0, np.arange(600))]), Goal(m.Recall(), [constraint])
    )
    assert exploration._rows_to_break() == pytest.approx(rows)


def test_a_cap_decided_by_two_rows_unseats_nobody():
    for cap, stays in ((0.005, True), (0.2, False)):
        rows = sample(400, noise=0.3)
        rows.data.rows.source[:, 0] *= 0.01
        rows.data.rows.source[:, 1:] *= 10.0
        bad = CostModel("hinge", 1.0, 1.0, 1e-6)
        exploration = Exploration(rows, Goal(m.Recall(), [m.fpr <= cap]))
        exploration.add(grid("hinge", [(1.0, 1.0)], [bad.C]), [bad])
        exploration.add(grid("hinge", [costs_of_ratio(4.0, rows.prevalence)], [1e4]))
        assert (exploration.choose().model == bad) == stays


def test_infeasible_everywhere_is_an_error():
    exploration = Exploration(sample(noise=3.0), Goal(m.Recall(), [m.Precision() >= 0.999, m.tpr >= 0.9]))
    exploration.add(grid("hinge", [(1.0, 1.0)], [1.0]))
    with pytest.raises(InfeasibleError, match="no threshold meets"):
        exploration.choose()


@pytest.mark.parametrize(
    ("t", "beta"), [(0.3, 0.5), (0.5, 0.5), (0.3, 1.0), (0.5, 1.0), (0.8, 1.0), (0.5, 2.0), (0.7, 2.0)]
)
def test_linearised_costs_of_f_beta_are_those_of_the_level(t, beta):
    # Cheng et al.: at level t a false negative costs 1 + b^2 - t and a false positive t.
    p, tpr = 0.2, 0.7
    called = (1 + beta**2) * p * tpr / t - beta**2 * p  # so that F = t at this tpr
    tnr = 1.0 - (called - p * tpr) / (1 - p)
    assert 0.0 <= tnr <= 1.0
    c_pos, c_neg = linearised_costs(m.FBeta(beta), Choice(0, 0.0, tpr, tnr, t), p, 1000)
    assert c_pos / c_neg == pytest.approx((1 + beta**2 - t) / t)


def test_costs_keep_the_mean_cost():
    for ratio in (0.1, 1.0, 30.0):
        c_pos, c_neg = costs_of_ratio(ratio, 0.1)
        assert 0.1 * c_pos + 0.9 * c_neg == pytest.approx(1.0)


def test_scores_of_many_models_come_in_pieces(monkeypatch):
    found = []
    for at_once in (2**20, 700):
        monkeypatch.setattr(models, "SCORES_AT_ONCE", at_once)
        exploration = Exploration(sample(), Goal(m.FBeta(1)))
        exploration.add(grid("hinge", [costs_of_ratio(r, 0.3) for r in (0.5, 1.0, 2.0)], [0.01, 1.0]))
        found.append({model: vars(candidate.point) for model, candidate in exploration.candidates.items()})
    assert found[0].keys() == found[1].keys()
    for model, point in found[0].items():
        assert point == pytest.approx(found[1][model], abs=1e-5)


def test_quantiles_count_weights_as_rows():
    rng = np.random.default_rng(0)
    scores, count = rng.normal(size=(40, 3)).round(1), rng.integers(1, 4, 40)
    at = np.array([0.0, 0.05, 0.31, 0.5, 0.9, 1.0])
    repeated = quantiles(np.repeat(scores, count, axis=0), at)
    np.testing.assert_allclose(quantiles(scores, at, count.astype(float)), repeated)
    np.testing.assert_allclose(repeated[2], np.quantile(np.repeat(scores, count, axis=0), 0.31, axis=0), atol=0.11)


def test_a_quantile_in_a_gap_is_its_middle():
    scores = np.array([[-1.0], [-2.0], [5.0], [3.0]])
    assert quantiles(scores, np.array([0.5]))[0, 0] == 1.0
    assert quantiles(scores, np.array([0.5]), np.full(4, 0.1))[0, 0] == 1.0
