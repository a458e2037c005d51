"""The race: samples are nested and fair, who cannot win is dropped, who can is not, and the stream is among them."""

import numpy as np
import pytest

import steelyard as sy
import steelyard.measures as m
from steelyard.rows import Rows
from steelyard.solvers.search import models
from steelyard.solvers.search import race as module
from steelyard.solvers.search.exploration import Exploration, Sample, nearest
from steelyard.solvers.search.models import CostModel, Effort, Labelled, StreamModel, fit
from steelyard.solvers.search.race import COURSE, ladder, race, survivors
from steelyard.statistics.frontier import InfeasibleError
from steelyard.statistics.resampling import DRAWS, Draws, Goal

PLAIN = CostModel("logistic", 1.0, 1.0, 1.0)


def exploration(n=20_000, rare=0.1, goal=None, seed=0, weight=None, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X[:, 0] + noise * rng.normal(size=n)
    y = np.where(score > np.quantile(score, 1 - rare), 1.0, -1.0)
    folds = rng.permutation(n) % 5
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(5)]
    data = Labelled(Rows.of(X).with_constant(1.0), y, weight)
    return Exploration(Sample(data, splits), goal or Goal(m.FBeta(1)), Effort(seed=seed))


def rows_of(part, whole):
    """Which rows of the whole a sample has, by their numbers."""
    source = whole.sample.data.rows.source
    number = {row.tobytes(): k for k, row in enumerate(source)}
    data = part.sample.data.rows
    kept = data.source if data.which is None else data.source[data.which]
    return np.array([number[row.tobytes()] for row in kept])


def test_samples_are_nested_and_keep_their_folds():
    whole = exploration()
    *parts, last = ladder(whole)
    assert [part.sample.data.rows.n_rows for part in parts] == [2000, 8000]
    assert last.sample.data is whole.sample.data
    kept = [rows_of(part, whole) for part in parts]
    assert set(kept[0]) < set(kept[1])
    for part, which in zip(parts, kept, strict=True):
        np.testing.assert_array_equal(part.sample.data.y, whole.sample.data.y[which])
        assert part.sample.data.thinning == pytest.approx(20_000 / len(which))
        assert part.sample.prevalence == pytest.approx(0.1, abs=0.001)
        for (train, test), (all_train, all_test) in zip(part.sample.splits, whole.sample.splits, strict=False):
            assert set(which[train]) <= set(all_train)
            assert set(which[test]) <= set(all_test)


def test_few_rows_are_no_race():
    whole = exploration(3000)
    (only,) = ladder(whole)
    assert only.sample.data is whole.sample.data
    assert len(only.sample.splits) == 5


def test_a_rare_class_is_kept_and_weighed_back():
    given = np.random.default_rng(1).random(30_000) + 0.5
    for weight in (None, given):
        whole = exploration(30_000, rare=0.01, weight=weight)
        first = next(ladder(whole))
        assert np.count_nonzero(first.sample.data.y > 0) == COURSE.of_a_class
        assert first.sample.prevalence == pytest.approx(
            whole.sample.prevalence, rel=0.15 if weight is not None else 1e-9
        )


def test_a_model_on_a_sample_is_that_on_all_rows():
    # Thousands of copies of a few rows: any sample has nearly the same minimiser, if C means the same.
    rng = np.random.default_rng(0)
    base, labels = rng.normal(size=(20, 3)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    copies = np.repeat(np.arange(20), 2000)
    whole = Labelled(Rows.of(base[copies]), labels[copies])
    part = Labelled(Rows.of(base), labels, thinning=2000.0)
    model = CostModel("logistic", 1.0, 1.0, 1e-3)
    one, other = (fit([model], data, Goal(m.FBeta(1)), Effort(tol=1e-8)).W for data in (whole, part))
    np.testing.assert_allclose(one, other, rtol=1e-3)


def test_calls_are_judged_as_by_hand():
    rng = np.random.default_rng(3)
    is_positive, weight = rng.random(500) < 0.3, rng.random(500) + 0.1
    called = rng.random((500, 4)) < np.where(is_positive, 0.7, 0.2)[:, None]
    goal = Goal(m.Recall(), [m.fpr <= 0.1])
    for mass in (None, weight):
        draws = Draws(is_positive, mass, 0)
        share = float(np.average(is_positive, weights=mass))
        values, drawn = draws.values(called, goal, share)
        for k in range(4):
            rates = m.rates(is_positive, called[:, k], pos_label=True, sample_weight=mass)
            excess = min(max(0.0, 1.0 - rates.tnr - 0.1) / 0.1, 1.0)
            assert values[k] == pytest.approx(rates.tpr - excess)
        count = np.zeros((500, DRAWS))
        for rows, _, times in draws._sides:
            count[rows] = times
        full = count * (np.ones(500) if mass is None else mass)[:, None]
        tpr = (full * (is_positive & called[:, 0])[:, None]).sum(0) / (full * is_positive[:, None]).sum(0)
        fpr = (full * (~is_positive & called[:, 0])[:, None]).sum(0) / (full * ~is_positive[:, None]).sum(0)
        np.testing.assert_allclose(drawn[0], tpr - np.clip((fpr - 0.1) / 0.1, 0.0, 1.0))


def test_who_cannot_win_is_dropped_and_copies_are_one():
    part = exploration(8000, noise=0.3)
    hopeless = CostModel("hinge", 1.0, 1.0, 1e-9)
    part.sample.data.rows.source[:, 0] *= 0.01
    part.sample.data.rows.source[:, 1:] *= 10.0
    part.add([hopeless, PLAIN, *(CostModel("logistic", 1.0, 1.0, C) for C in (30.0, 100.0, 300.0))])
    left = survivors(part, 10)
    assert hopeless not in left
    assert len(left) < 4, "models that call the same rows are one"


def test_anchors_and_the_stream_go_on_without_room():
    part = exploration(8000)
    models = [CostModel("hinge", *pair, C) for pair in ((1.0, 1.0), (2.0, 0.9), (3.0, 0.8)) for C in (0.001, 0.01)]
    part.add([*models, PLAIN, StreamModel()], [PLAIN])
    left = survivors(part, 1)
    assert {PLAIN, StreamModel()} < set(left) or len(left) == 3
    assert PLAIN in left
    assert StreamModel() in left


def test_a_limit_that_a_small_sample_cannot_meet_is_no_end(monkeypatch):
    whole = exploration(12_000, goal=Goal(m.Recall(), [m.fpr <= 0.05]))
    before = module.survivors
    calls = []

    def fails_at_first(part, count):
        calls.append(part)
        if len(calls) == 1:
            raise InfeasibleError("not yet")
        return before(part, count)

    monkeypatch.setattr(module, "survivors", fails_at_first)
    won = race(whole, lambda part: part.add([PLAIN, CostModel("hinge", 1.0, 1.0, 0.1)], [PLAIN]), lambda *_: None)
    assert won.chosen.point.value > 0.2
    assert len(won.exploration.candidates) == 2


def test_a_limit_that_nobody_meets_is_an_error():
    whole = exploration(12_000, goal=Goal(m.Recall(), [m.Precision() >= 0.999, m.tpr >= 0.99]), noise=3.0)
    with pytest.raises(InfeasibleError, match="no threshold meets"):
        race(whole, lambda part: part.add([PLAIN]), lambda *_: None)


def test_the_stream_can_win():
    whole = exploration(12_000)
    won = race(whole, lambda part: part.add([CostModel("hinge", 1.0, 1.0, 1e-9), StreamModel()]), lambda *_: None)
    assert won.chosen.model == StreamModel()


def test_where_the_stream_wins_the_classifier_says_so(monkeypatch):
    from steelyard.estimators import measure_classifier

    monkeypatch.setattr(
        measure_classifier.MeasureClassifier, "_enter", lambda self, part, losses, Cs: part.add([StreamModel()])
    )
    monkeypatch.setattr(measure_classifier.MeasureClassifier, "_refine", lambda self, part, halved, Cs: None)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=6000) > 1.0).astype(int)
    model = sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X, y)
    assert model.loss_ == "stream"
    assert np.isnan([model.C_, model.gap_, *model.costs_]).all()
    assert m.FBeta(1).score(y, model.predict(X)) > 0.6


def test_a_model_starts_from_that_of_the_same_fold(monkeypatch):
    # From another fold it would start with rows that it is tested on, and at a loose tolerance might stay there.
    seen = {}

    def watched(wanted, data, goal, effort, starts=None):
        found = fit(wanted, data, goal, effort, starts)
        seen.setdefault(round(data.thinning, 3), []).append((starts, found.W))
        return found

    monkeypatch.setattr(models, "fit", watched)
    race(exploration(), lambda part: part.add([PLAIN], [PLAIN]), lambda part, step: None)
    first, second, last = seen.values()
    assert all(starts is None for starts, _ in first)
    for before, after in ((first, second), (second, last)):
        assert len(after) >= len(before)
        for (_, w), (starts, _) in zip(before, after, strict=False):
            np.testing.assert_array_equal(starts, w)
        assert all(starts is None for starts, _ in after[len(before) :])


def test_splits_keep_their_numbers_where_one_is_left_out():
    sample = Sample(exploration(100).sample.data, [], [1, 3, 4])
    assert [sample.number(k) for k in range(3)] == [1, 3, 4]
    assert Sample(sample.data, []).number(2) == 2


def test_the_nearest_start_is_of_the_same_loss():
    hinge, far = CostModel("hinge", 1.0, 1.0, 1.0), CostModel("hinge", 1.0, 1.0, 100.0)
    known = {hinge: np.array([1.0]), far: np.array([2.0])}
    found = nearest([CostModel("hinge", 2.0, 1.0, 1.0), CostModel("hinge", 1.0, 0.5, 50.0), PLAIN], known, 1)
    np.testing.assert_array_equal(found, [[1.0], [2.0], [np.nan]])
    assert nearest([CostModel("hinge", 1.0, 0.0, 1.0)], known, 1).item() == 1.0  # a class is given up
    assert nearest([hinge], {}, 1) is None
