"""A threshold found on the folds means the same on the final model, also where units mislead or a model knows its rows."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard.measures as m
from steelyard import MeasureClassifier
from steelyard.rows import Rows
from steelyard.solvers.linear import cost_sensitive
from steelyard.solvers.search.exploration import Candidate, Exploration, Sample
from steelyard.solvers.search.models import CostModel, Effort, Labelled, fit, units_of
from steelyard.solvers.search.transfer import fell_short, transferred
from steelyard.statistics.frontier import best_point
from steelyard.statistics.resampling import Goal

MODEL = CostModel("squared_hinge", 1.0, 1.0, 1.0)


def explored(X, y, goal, weight=None, n_splits=5):
    folds = np.random.default_rng(0).permutation(len(y)) % 5
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_splits)]
    data = Labelled(Rows.of(X).with_constant(1.0), np.where(y, 1.0, -1.0), weight)
    exploration = Exploration(Sample(data, splits), goal, Effort())
    exploration.add([MODEL])
    return exploration, data


def final(exploration, data, goal):
    point = best_point(exploration.frontier(exploration.scores(MODEL)), goal.measure, goal.constraints)
    w = fit([MODEL], data, goal, exploration.effort).W[0]
    return point, w, transferred(Candidate(MODEL, point), exploration, data, w)


def some_rows(n, rng):
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + 0.5 * rng.normal(size=n) > 1.5


@pytest.mark.parametrize(("shift", "stretch"), [(0.0, 1.0), (0.0, 3.0), (0.7, 1.0), (-0.4, 0.5)])
def test_units_may_mislead(shift, stretch):
    # As if the folds' models had tails that the final one has not: what they call is what counts.
    rng, goal = np.random.default_rng(0), Goal(m.Recall(), [m.fpr <= 0.02])
    exploration, data = explored(*some_rows(20_000, rng), goal)
    folds = exploration._fold_models(MODEL)
    exploration._fitted[MODEL] = [replace(one, center=one.center + shift, scale=one.scale * stretch) for one in folds]
    point, w, threshold = final(exploration, data, goal)
    X, y = some_rows(200_000, rng)
    rates = m.rates(y, Rows.of(X).with_constant(1.0).scores(w) > threshold, pos_label=True)
    assert 1.0 - rates.tnr == pytest.approx(0.02, rel=0.2)
    assert rates.tpr == pytest.approx(point.tpr, abs=0.04)


def test_a_model_that_knows_its_rows_keeps_its_units():
    # More columns than rows: every training row is clear of the boundary, so all thresholds near it call the same share.
    rng, goal = np.random.default_rng(1), Goal(m.FBeta(1))
    X = rng.normal(size=(300, 600))
    y = X[:, :20].sum(1) + rng.normal(size=300) > 2.0
    exploration, data = explored(X, y, goal)
    point, w, threshold = final(exploration, data, goal)
    own = data.rows.scores(w)
    assert own[y].min() > own[~y].max()
    center, scale = units_of(data, w[None, :])
    if own[~y].max() < center[0] + scale[0] * point.threshold < own[y].min():
        assert threshold == pytest.approx(center[0] + scale[0] * point.threshold)
    assert own[~y].max() <= threshold <= own[y].min() or abs(point.threshold) > 0.5


def test_constant_scores_call_all_rows_one_class():
    goal = Goal(m.FBeta(1))
    X, y = np.zeros((200, 2)), np.arange(200) % 3 == 0
    exploration, data = explored(X, y, goal)
    _, w, threshold = final(exploration, data, goal)
    assert (data.rows.scores(w) > threshold).all(), "F1 is best where everything is called positive"


def test_weights_may_be_counts_or_shares():
    rng, goal = np.random.default_rng(2), Goal(m.FBeta(1))
    X, y = some_rows(3000, rng)
    found = []
    for weight in (None, np.ones(3000), np.full(3000, 1 / 3000)):
        exploration, data = explored(X, y, goal, weight)
        point, w, _ = final(*explored(X, y, goal), goal)
        found.append(transferred(Candidate(MODEL, point), exploration, data, w))
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_a_final_model_that_lost_what_was_chosen_is_seen():
    rng, goal = np.random.default_rng(2), Goal(m.FBeta(1))
    exploration, data = explored(*some_rows(20_000, rng), goal, n_splits=1)
    point, w, _ = final(exploration, data, goal)
    chosen = Candidate(MODEL, point)
    assert not fell_short(chosen, exploration, w)
    worse = w + np.array([0.0, 1.0, 0.0, 0.0, 0.0]) * w[0]  # half of the score is now a column that says nothing
    assert fell_short(chosen, exploration, worse)
    several, data = explored(*some_rows(20_000, rng), goal)
    point, w, _ = final(several, data, goal)
    assert not fell_short(Candidate(MODEL, point), several, -w)  # five folds, each of fewer rows: not asked


def test_the_next_best_is_taken_where_the_chosen_model_is_lost(monkeypatch):
    """A fit on all rows that ends elsewhere than the fold's did is given up for one that does not."""
    rng = np.random.default_rng(3)
    X, y = some_rows(200_000, rng)
    honest = cost_sensitive.solve
    lost = []

    def astray(rows, signs, c_pos, c_neg, C, *rest, **options):
        found = honest(rows, signs, c_pos, c_neg, C, *rest, **options)
        if not lost or (c_pos, c_neg, C) == lost[0]:
            lost.append((c_pos, c_neg, C))
            return replace(found, w=found.w[::-1].copy())
        return found

    plain = MeasureClassifier(m.FBeta(1), random_state=0).fit(X, y)
    monkeypatch.setattr("steelyard.estimators.measure_classifier.cost_sensitive.solve", astray)
    fitted = MeasureClassifier(m.FBeta(1), random_state=0).fit(X, y)
    assert lost
    value, as_it_was = (m.FBeta(1).score(y, model.predict(X)) for model in (fitted, plain))
    assert value > as_it_was - 0.02
