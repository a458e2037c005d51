"""Promises from rows with weights by design: kept in the population that the weights stand for."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from steelyard.statistics.promises.counts import Scored
from steelyard.statistics.promises.promise import Asked, RefusedError, ask
from steelyard.statistics.promises.weighted import STAKES, _p_values, keep_weighted


def survey(rng, n):
    """A fifth is positive; of high scores every second row is taken, of the others every tenth."""
    y = rng.random(8 * n) < 0.2
    s = rng.normal(size=8 * n) + 1.8 * y
    taken = np.flatnonzero(rng.random(8 * n) < np.where(s > 1, 0.5, 0.1))[:n]
    return Scored(s[taken], y[taken], None, np.where(s[taken] > 1, 2.0, 10.0))


def test_the_bet_is_the_product_over_rows():
    rows, at = survey(np.random.default_rng(0), 200), np.array([-1.0, 0.5, 1.3])
    for constraint in (m.fpr <= 0.3, m.Precision() >= 0.4, m.FBeta(2) >= 0.3):
        (question,) = ask(constraint)
        found = _p_values(question, rows, at, 10.0)
        pays = question.payments
        for k, t in enumerate(at):
            called = rows.scores > t
            x = np.where(rows.is_positive, np.where(called, pays.tp, pays.fn), np.where(called, pays.fp, pays.tn))
            fortunes = [np.prod(1 + s / (10.0 * -min(pays.values)) * rows.weight * x) for s in STAKES]
            assert found[k] == pytest.approx(min(1.0, 1 / np.mean(fortunes)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("constraint", "n"), [(m.fpr <= 0.1, 1000), (m.Precision() >= 0.6, 1500), (m.FBeta(2) >= 0.5, 1000)], ids=repr
)
def test_promises_with_weights_break_with_probability_at_most_delta(constraint, n):
    rng, broken, refused, runs = np.random.default_rng(1), 0, 0, 400
    for run in range(runs):
        try:
            _, choice = keep_weighted(survey(rng, n), None, Asked((constraint,), m.Recall(), 0.1), 10.0, seed=run)
        except RefusedError:
            refused += 1
            continue
        broken += not constraint.holds(norm.sf(choice.threshold - 1.8), norm.cdf(choice.threshold), 0.2)
    print(f"{constraint}: broken {broken / runs:.3f}, refused {refused / runs:.3f}")
    assert refused < runs / 10
    assert broken / runs <= 0.1


@pytest.mark.parametrize("cv", [0.5, "prefit"])
def test_the_classifier_takes_weights(cv, tmp_path):
    rows = survey(np.random.default_rng(3), 4000)
    X, y, w = rows.scores[:, None], rows.is_positive.astype(int), rows.weight
    inner = LogisticRegression().fit(X, y) if cv == "prefit" else LogisticRegression()
    model = sy.ThresholdClassifier(
        inner,
        m.Recall(),
        subject_to=[m.fpr <= 0.1, m.Precision() >= 0.5],
        delta=0.1,
        max_weight=10.0,
        cv=cv,
        random_state=0,
    ).fit(X, y, w)
    truth = np.random.default_rng(4)
    t = truth.random(50_000) < 0.2
    called = model.predict((truth.normal(size=50_000) + 1.8 * t)[:, None]) == 1
    assert called[~t].mean() <= 0.11
    assert t[called].mean() >= 0.5
    assert called[t].mean() > 0.4
    assert model.promise_.p_value <= 0.1
    assert model.promise_.attainable() == [None, None]
    assert model.promise_.rows_needed() is None
    sy.save(model, tmp_path / "model")
    assert repr(sy.load(tmp_path / "model").promise_) == repr(model.promise_)


def test_what_is_refused():
    rows = survey(np.random.default_rng(3), 400)
    X, y, w = rows.scores[:, None], rows.is_positive.astype(int), rows.weight
    model = sy.ThresholdClassifier(LogisticRegression(), m.Recall(), subject_to=m.fpr <= 0.1, delta=0.1, cv=0.5)
    with pytest.raises(ValueError, match="unweighted rows"):
        model.fit(X, y, w)
    with pytest.raises(ValueError, match="bounds the weights of all rows"):
        model.set_params(max_weight=5.0).fit(X, y, w)
    with pytest.raises(ValueError, match="one by one"):
        model.set_params(max_weight=10.0, subject_to=m.fpr <= 0.5 * m.tpr).fit(X, y, w)
    with pytest.raises(RefusedError, match="weights up to 10000"):
        model.set_params(max_weight=1e4, subject_to=m.fpr <= 0.1).fit(X, y, w)
