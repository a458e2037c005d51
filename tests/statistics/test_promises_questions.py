"""The questions that MAPIE's tests put to its controllers and its monitor, where they are the same, in our words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import steelyard as sy
import steelyard.measures as m
from steelyard.statistics.promises.counts import Scored
from steelyard.statistics.promises.orders import Order
from steelyard.statistics.promises.promise import Asked, RefusedError, ask, keep
from steelyard.statistics.promises.trials import Caps

RNG = np.random.default_rng(4)
Y = RNG.random(1500) < 0.4
ROWS = Scored(RNG.normal(size=1500) + 1.8 * Y, Y)
BEFORE = Scored(*(lambda y: (RNG.normal(size=800) + 1.8 * y, y))(RNG.random(800) < 0.4))
PRECISION, RECALL = m.Precision() >= 0.7, m.tpr >= 0.6


def chosen(*constraints, before=BEFORE):
    promise, choice = keep(ROWS, before, Asked(tuple(constraints), m.Recall(), 0.1))
    return choice.threshold, promise


# -- several constraints ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((PRECISION, PRECISION), (PRECISION,)),  # the same twice
        ((PRECISION, RECALL), (RECALL, PRECISION)),  # in another order
        ((m.Precision() >= 0.6, PRECISION), (PRECISION,)),  # the stricter of two on one quantity
        ((PRECISION,) * 10, (PRECISION,)),  # many
        ((m.fpr <= 0.1, m.fpr <= 0.2), (m.fpr <= 0.1,)),
        ((m.tpr >= 0.6,), (m.fnr <= 0.4,)),  # a floor on recall is a cap on misses
        ((1 - m.Precision() <= 0.3,), (PRECISION,)),
    ],
    ids=repr,
)
def test_two_ways_to_say_one_thing_have_one_answer(one, other):
    assert chosen(*one)[0] == chosen(*other)[0]


def test_one_in_a_list_is_one():
    X, y = make_classification(2000, weights=[0.7], random_state=0)
    listed, plain = (
        sy.ThresholdClassifier(LogisticRegression(), m.Recall(), subject_to=c, delta=0.1, cv=0.5, random_state=0).fit(
            X, y
        )
        for c in ([PRECISION], PRECISION)
    )
    assert listed.best_threshold_ == plain.best_threshold_


def test_what_passes_for_two_caps_passes_for_each():
    thresholds = np.sort(ROWS.scores)
    trial = Caps(thresholds, {None: ROWS.counts(thresholds)})

    def passed(*constraints):
        return trial.passed(Asked(constraints, m.Recall(), 0.1).goal(()))

    both = passed(m.fpr <= 0.1, m.fpr <= 0.3)
    assert (both == (passed(m.fpr <= 0.1) & passed(m.fpr <= 0.3))).all()
    assert both.any()
    # In two directions each has half of delta, so that less passes than for each alone, and never more.
    apart = passed(m.fpr <= 0.2, m.fnr <= 0.3)
    assert (apart <= (passed(m.fpr <= 0.2) & passed(m.fnr <= 0.3))).all()
    assert apart.any()


@pytest.mark.parametrize("measure", [m.Recall(), m.Specificity(), m.FBeta(1)], ids=repr)
def test_the_best_of_what_passes_is_taken(measure):
    promise, choice = keep(ROWS, BEFORE, Asked((PRECISION, m.tpr >= 0.4), measure, 0.1))
    passed = promise.trial.thresholds[promise.trial.passed(promise.goal)]
    assert choice.threshold in passed
    tpr, tnr, prevalence = ROWS.counts(passed).rates()
    assert choice.value == pytest.approx(np.max(measure(tpr, tnr, prevalence, sample_size=len(ROWS))))


# -- what is counted ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("truth", "called"), [([1, 0, 1, 0], [1, 1, 0, 0]), ([1, 1, 0, 0], [1, 1, 1, 0]), ([0, 0, 0, 0], [0, 1, 0, 1])]
)
@pytest.mark.parametrize(
    ("constraint", "counted", "wrong"),
    [
        (m.Precision() >= 0.5, lambda t, c: c, lambda t, c: t == 0),
        (m.tpr >= 0.5, lambda t, c: t == 1, lambda t, c: c == 0),
        (m.fpr <= 0.5, lambda t, c: t == 0, lambda t, c: c == 1),
        (m.Accuracy() >= 0.5, lambda t, c: t == t, lambda t, c: t != c),
    ],
    ids=["precision", "recall", "fpr", "accuracy"],
)
def test_who_pays_and_how_many_pay_badly(truth, called, constraint, counted, wrong):
    t, c = np.array(truth), np.array(called)
    (question,) = ask(constraint)
    rows = Scored(c.astype(float), t == 1).counts(np.array([0.5]))
    paying = np.asarray(counted(t, c)).astype(bool)
    kinds = dict(zip(("tp", "fp", "fn", "tn"), (rows.tp[0], rows.fp[0], rows.fn[0], rows.tn[0]), strict=True))
    pays = {kind: getattr(question.payments, kind) for kind in kinds}
    assert sum(n for kind, n in kinds.items() if pays[kind] != 0.0) == paying.sum()
    assert sum(n for kind, n in kinds.items() if pays[kind] < 0.0) == np.asarray(wrong(t, c))[paying].sum()


def test_no_row_that_counts_is_no_evidence():
    (question,) = ask(m.Precision() >= 0.5)
    nothing_called = ROWS.counts(np.array([ROWS.scores.max()]))
    assert question.p_values({None: nothing_called}).tolist() == [1.0]


# -- many thresholds ---------------------------------------------------------------------------------------------------
def test_a_fixed_sequence_ends_at_the_first_that_fails():
    order = Order(np.arange(4), np.array([1.0, 0.0, 0.0, 0.0]))
    assert order.passed(np.array([0.01, 0.05, 0.2, 0.001]), 0.1, 4).tolist() == [True, True, False, False]
    assert not order.passed(np.array([0.11, 0.0, 0.0, 0.0]), 0.1, 4).any()
    two = Order(np.arange(4), np.array([0.5, 0.0, 0.0, 0.5]))
    assert two.passed(np.array([0.06, 0.0, 0.0, 0.05]), 0.1, 4).tolist() == [False, False, False, True]
    assert two.passed(np.array([0.05, 0.05, 0.05, 0.1]), 0.1, 4).all()


# -- as an estimator ---------------------------------------------------------------------------------------------------
def test_pipelines_and_data_frames():
    X = pd.DataFrame({"x": np.linspace(0.0, 3.0, 2000)})
    y = (np.arange(2000) % 4 != 2).astype(int)
    pipe = Pipeline([("clf", DummyClassifier(strategy="prior"))]).fit(X, y)
    model = sy.ThresholdClassifier(pipe, m.Recall(), subject_to=m.Precision() >= 0.6, delta=0.1, cv="prefit").fit(X, y)
    assert model.predict(X).tolist() == [1] * 2000  # all scores tie: all rows, three quarters of them right


def test_where_nothing_passes_there_is_no_model_to_predict_with():
    X, y = make_classification(200, flip_y=1.0, random_state=0)
    model = sy.ThresholdClassifier(
        LogisticRegression(), m.Recall(), subject_to=m.Precision() >= 0.95, delta=0.05, cv=0.5
    )
    with pytest.raises(RefusedError, match="cannot be promised"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("constraint", [m.fpr <= 0.0, m.Precision() >= 1.0, m.tpr >= 1.0], ids=repr)
def test_bounds_that_no_rows_can_show(constraint):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        Asked((constraint,), m.Recall(), 0.1).check()


# -- the watch ---------------------------------------------------------------------------------------------------------
def watched(constraint):
    X, y = make_classification(1000, random_state=0)
    return sy.Watch(sy.ThresholdClassifier(LogisticRegression(), subject_to=constraint).fit(X, y), level=0.01)


def test_a_watch_with_nothing_to_count_waits():
    watch = watched(m.Precision() >= 0.5).update([1, 0, 1, 0], [0, 0, 0, 0])
    assert watch.alarm is None
    assert watch.n_seen == 4
    assert list(watch.e_values().values()) == [1.0]
    assert watch.intervals()[m.Precision() >= 0.5] == pytest.approx((0.0, 1.0), abs=1e-6)


def test_a_watch_sees_what_is_all_wrong():
    watch = watched(m.Accuracy() >= 0.5).update(np.zeros(40, dtype=int), np.ones(40, dtype=int))
    assert watch.alarm is not None
    assert watch.alarm.row <= 40


def test_a_watch_goes_on_after_an_alarm():
    watch = watched(m.Accuracy() >= 0.5).update(np.zeros(100, dtype=int), np.ones(100, dtype=int))
    first = watch.alarm
    watch.update(np.zeros(100, dtype=int), np.zeros(100, dtype=int))
    assert watch.alarm == first
    assert watch.n_seen == 200
