"""The room of promises against its slow reference: payments, p-values, orders, and what is promised."""

from dataclasses import astuple

import numpy as np
import pytest
from scipy.stats import beta, binom

import steelyard.measures as m
from reference import promises as slow
from steelyard.statistics.order_statistic import needed
from steelyard.statistics.promises import orders, two_shares
from steelyard.statistics.promises.counts import Counts, Scored
from steelyard.statistics.promises.payments import Payments, Shares, read
from steelyard.statistics.promises.promise import Asked, RefusedError, ask, keep
from steelyard.statistics.promises.questions import _p_of_shares

RNG = np.random.default_rng(0)
N = 120
Y = RNG.random(N) < 0.4
S = np.round(RNG.normal(size=N) + 1.5 * Y, 1)  # with ties
ROWS = Scored(S, Y)
AT = np.array([-1.0, 0.0, 0.45, 0.8, 1.7, 2.5, 9.0])

ONE_TEST = [
    m.Precision() >= 0.7, m.fpr <= 0.2, m.fnr <= 0.3, m.tpr >= 0.6, m.FBeta(1) >= 0.6, m.Jaccard() >= 0.4,
    m.Accuracy() >= 0.7, 1 - m.Precision() <= 0.25, m.NegCost(fp=1, fn=1) >= -0.3,
]  # fmt: skip
BETS = [m.FBeta(2) >= 0.6, m.NegCost(fp=1, fn=5) >= -0.6, m.FBeta(0.5) >= 0.5]


@pytest.mark.parametrize("constraint", ONE_TEST + BETS, ids=repr)
def test_the_mean_payment_has_the_sign_of_the_slack(constraint):
    pays = read(constraint)
    counts = ROWS.counts(AT)
    for k in range(len(AT)):
        tp, fp, fn, tn = slow.counts_at(S, Y, AT[k])
        assert (counts.tp[k], counts.fp[k], counts.fn[k], counts.tn[k]) == (tp, fp, fn, tn)
        tpr, tnr, p = tp / (tp + fn), tn / (tn + fp), Y.mean()
        slack = constraint.slack(tpr, tnr, p)
        paid = slow.payments_at(astuple(pays), S, Y, AT[k]).mean()
        if tp + fp and abs(slack) > 1e-9:
            assert np.sign(paid) == np.sign(slack), (AT[k], paid, slack)


@pytest.mark.parametrize("constraint", ONE_TEST, ids=repr)
def test_two_payments_are_tested_exactly(constraint):
    (question,) = ask(constraint)
    found = question.p_values({None: ROWS.counts(AT)})
    for k, t in enumerate(AT):
        paid = slow.payments_at(astuple(question.payments), S, Y, t)
        assert found[k] == pytest.approx(slow.p_two_payments(paid, *question.payments.values))


@pytest.mark.parametrize("constraint", BETS, ids=repr)
def test_more_payments_are_bet_on(constraint):
    (question,) = ask(constraint)
    assert len(question.payments.values) > 2
    before = Scored(S[:60], Y[:60])
    stakes = question.stakes({None: before.counts(AT)}, 60, 0.1)
    found = question.p_values({None: Scored(S[60:], Y[60:]).counts(AT)}, stakes)
    for k, t in enumerate(AT):
        seen = slow.payments_at(astuple(question.payments), S[:60], Y[:60], t).tolist()
        assert stakes[k] == pytest.approx(slow.stake_of(seen, min(question.payments.values), 60, 0.1))
        paid = slow.payments_at(astuple(question.payments), S[60:], Y[60:], t)
        assert found[k] == pytest.approx(slow.p_bet(paid, stakes[k]))


def test_what_is_read():
    assert read(m.Precision() >= 0.75) == Payments(0.25, -0.75, 0.0, 0.0)
    assert read(m.FBeta(1) >= 0.5).values == (-0.5, 1.0)
    assert read(m.fpr <= 0.25) == Payments(0.0, -0.75, 0.0, 0.25)
    assert isinstance(read(m.fpr <= 0.01 * m.tpr), Shares)
    assert isinstance(read(m.Accuracy().at(0.2) >= 0.8), Shares)
    for bad in (m.GMean() >= 0.5, m.MCC() >= 0.2):
        with pytest.raises(ValueError, match="linear over linear"):
            read(bad)


TWO_SHARES = [
    ((1.0, -1.0), (45, 40), (100, 100), 0.1), ((1.0, -1.0), (10, 12), (20, 30), 0.25), ((-1.0, 1.0), (9, 18), (30, 40), 0.0),
    ((0.2, 1.0), (60, 172), (80, 190), -1.0), ((1.0, 1.0), (30, 40), (40, 50), -1.3), ((1.0, -1.0), (0, 3), (20, 30), 0.2),
    ((0.5, 0.5), (17, 15), (18, 20), -0.7), ((2.0, -1.0), (20, 20), (20, 20), -0.9),
]  # fmt: skip


@pytest.mark.parametrize(("factors", "hits", "rows", "constant"), TWO_SHARES)
def test_two_shares_are_tested_exactly(factors, hits, rows, constant):
    """Never below the largest probability over all shares that break the constraint near what was seen, and not far
    above that over all shares."""
    found = two_shares.p_value(factors, hits, rows, constant)
    everywhere = slow.p_two_shares(factors, hits, rows, constant)
    assert found <= 1.15 * everywhere + two_shares.BEYOND + 1e-9
    mirrored = two_shares.p_value(factors[::-1], hits[::-1], rows[::-1], constant)
    assert mirrored == pytest.approx(found, rel=0.25, abs=2e-3)  # the interval is that of the other sample


@pytest.mark.parametrize("seed", range(8))
def test_p_values_of_two_shares_are_valid(seed):
    """All outcomes of two small samples: at shares on the border P(p <= a) is at most a, for every a."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(8, 40, size=2).tolist()
    f, g = float(rng.uniform(0.2, 1.0)), float(rng.choice([-1.0, 1.0]) * rng.uniform(0.2, 1.0))
    p, q = rng.uniform(0.1, 0.9, size=2)
    constant = -(f * p + g * q)
    hits = [part.ravel().astype(float) for part in np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")]
    sizes = [np.full(len(hits[0]), float(size)) for size in (n, m)]
    weight = np.outer(binom.pmf(np.arange(n + 1), n, p), binom.pmf(np.arange(m + 1), m, q)).ravel()
    exact = [two_shares.p_value((f, g), (h, k), (n, m), constant + 1e-12) for h, k in zip(*hits, strict=True)]
    # and as they are used: by bounds where the constraint holds by far
    used = _p_of_shares([(f, hits[0], sizes[0]), (g, hits[1], sizes[1])], constant + 1e-12)
    for found in (np.array(exact), used):
        for a in (0.0005, 0.001, 0.002, 0.01, 0.05, 0.1, 0.3):
            assert weight[found <= a].sum() <= a


def test_shares_far_from_the_bound_or_of_many_rows_are_bounded():
    (question,) = ask(m.fpr <= 0.5 * m.tpr)
    far = Counts(*(np.array([float(v)]) for v in (80, 12, 20, 88)))
    many = Counts(*(np.array([float(v)]) for v in (3000, 2800, 3000, 9000)))
    for at in (far, many):
        p = float(question.p_values({None: at})[0])
        tp, fp, fn, tn = (float(v[0]) for v in astuple(at))

        def keeps(a, tp=tp, fp=fp, fn=fn, tn=tn):
            return 0.5 * beta.ppf(a / 2, tp, fn + 1) - (1 - beta.ppf(a / 2, tn, fp + 1)) >= 0

        assert keeps(1.001 * p)
        assert not keeps(0.999 * p)
    assert question.p_values({None: Counts(*(np.array([v]) for v in (10.0, 90.0, 90.0, 10.0)))})[0] == 1.0
    nobody = Counts(*(np.array([v]) for v in (0.0, 0.0, 0.0, 100.0)))  # no positive row says nothing of recall
    assert question.p_values({None: nobody})[0] == 1.0


def test_the_walk_is_that_of_the_reference():
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = rng.random(30) ** 3
        weights = rng.random(30) * (rng.random(30) < 0.2)
        weights /= max(weights.sum(), 1e-9)
        order = orders.Order(np.arange(30), weights)
        assert order.passed(p, 0.4, 30).tolist() == slow.fallback(p, weights, 0.4)
        some = orders.Order(np.arange(30)[::-1][:25], weights[:25] / max(weights[:25].sum(), 1e-9))
        assert some.walked(lambda at, p=p: p[at], 0.4, 30).tolist() == some.passed(p, 0.4, 30).tolist()


def test_weights_sum_to_one():
    for n in (30, 500, 200_000):
        called = orders.ranks(n)
        assert called[0] == 1
        assert called[-1] == n
        assert len(called) < 3000
        assert orders.by_rank(called, 0.8, 0.1, 0.1).weights.sum() == pytest.approx(1.0)


def test_ties_are_not_split():
    from steelyard.statistics.promises.trials import Ranked

    trial = Ranked.of(ROWS)
    for t, ok, tp, fp in zip(trial.thresholds, trial.usable, trial.seen[None].tp, trial.seen[None].fp, strict=True):
        if ok:
            assert slow.counts_at(S, Y, t)[:2] == (tp, fp)
    assert 0 < trial.usable.sum() < len(trial.usable)


# -- together ----------------------------------------------------------------------------------------------------
def sample(n, seed, shift=2.0, prevalence=0.3):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prevalence
    return Scored(rng.normal(size=n) + shift * y, y)


@pytest.mark.parametrize(
    "constraints",
    [
        [m.Precision() >= 0.7], [m.FBeta(1) >= 0.5], [m.FBeta(2) >= 0.4], [m.fpr <= 0.5 * m.tpr],
        [m.Precision() >= 0.6, m.fnr <= 0.5], [m.fpr <= 0.2, m.fnr <= 0.5], [m.Accuracy() >= 0.7, m.Precision() >= 0.5],
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("learns", [True, False])
def test_what_is_promised_passes_its_tests(constraints, learns):
    rows = sample(3000, 1)
    promise, choice = keep(rows, sample(1000, 2) if learns else None, Asked(tuple(constraints), m.Recall(), 0.1))
    assert max(promise.p_values) <= 0.1
    assert promise.p_value == max(promise.p_values)
    counts = rows.counts(np.array([choice.threshold]))
    tpr, tnr, p = counts.rates()
    for constraint in constraints:
        assert constraint.holds(tpr[0], tnr[0], p)
    instead = promise.attainable()
    for asked, tightest in zip(constraints, instead, strict=True):
        if asked.right.varies:
            assert tightest is None
        else:
            bounds = float(tightest.right.number), float(asked.right.number)
            assert bounds[0] <= bounds[1] if asked.sense == "<=" else bounds[0] >= bounds[1]
    assert "Promise(" in repr(promise)


def test_a_cap_is_the_order_statistic():
    rows = sample(800, 5)
    promise, choice = keep(rows, None, Asked((m.fpr <= 0.1,), m.Recall(), 0.05))
    wrong, n = int((rows.scores[~rows.is_positive] > choice.threshold).sum()), int((~rows.is_positive).sum())
    assert binom.cdf(wrong, n, 0.1) <= 0.05 < binom.cdf(wrong + 1, n, 0.1)
    (tightest,) = promise.attainable()
    assert needed(float(tightest.right.number), 0.05) <= n


def test_a_refusal_says_what_could_be_had():
    with pytest.raises(
        RefusedError, match=r"cannot be promised with delta=0.05 from 200 held-out rows; Precision\(\) >="
    ):
        keep(sample(200, 1), sample(400, 2), Asked((m.Precision() >= 0.97,), m.Recall(), 0.05))
    with pytest.raises(RefusedError) as refused:
        keep(sample(200, 1), sample(400, 2), Asked((m.Precision() >= 0.97,), m.Recall(), 0.05))
    promise = refused.value.promise
    (instead,) = promise.attainable()
    again, _ = keep(sample(200, 1), sample(400, 2), Asked((instead,), m.Recall(), 0.05))
    assert again.p_value <= 0.05
    needed_rows = promise.rows_needed()
    assert needed_rows is None or needed_rows > 200
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        Asked((m.Precision() >= 1.0,), m.Recall(), 0.05).check()


def test_more_rows_make_it():
    with pytest.raises(RefusedError) as refused:
        keep(sample(150, 1), sample(1000, 2), Asked((m.Precision() >= 0.9,), m.Recall(), 0.1))
    n = refused.value.promise.rows_needed()
    kept = 0
    for seed in range(20):
        try:
            keep(sample(2 * n, 50 + seed), sample(1000, 2), Asked((m.Precision() >= 0.9,), m.Recall(), 0.1))
            kept += 1
        except RefusedError:
            pass
    assert kept >= 10
