"""The search for the most violated confusion matrix against the whole table, and the shapes it relies on."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard.measures as m
from reference.structural import LOSSES, counted
from steelyard import _core
from steelyard.measures.shape import is_count_only, mixed_sign
from steelyard.solvers.structural.confusion import NAMES, resolve

MIXTURES = [
    m.BAKLD(weight=0.3), m.FBeta(1) + 0.5 * m.NegKLD(), m.QMeasure(2, m.MinRate(), m.NSS()), m.tpr * m.tnr - m.fpr,
    2 * m.GMean() / 3 - m.fnr, m.NSS() * m.NAS(), m.maximum(m.tpr, 0.5 * m.tnr) + m.square(m.tpr - m.tnr),
]  # fmt: skip
NUMBERED = ["fbeta@2", "fbeta@0.5", "fbeta", "prbep"]
PLAIN = [name for name in NAMES if "@" not in name and name != "fbeta"]
EVERY = [*PLAIN, *NUMBERED, *(cls() for cls in m.NAMED), *MIXTURES]


def samples(rng, cases, largest=40):
    """Scores with ties, of every size, and labels with both classes."""
    for k in range(cases):
        n = int(rng.integers(2, largest))
        y = rng.random(n) < rng.random()
        y[:2] = True, False
        scores = rng.normal(size=n) * 10 ** rng.uniform(-2, 2)
        yield (np.round(scores) if k % 3 == 0 else scores), rng.permutation(y)


def find(loss, scores, y, search=None):
    chosen = loss if search is None else replace(loss, search=search)
    return _core.most_violated(chosen.core(), scores, y, 100.0 / len(y))


def worth(loss, scores, y, a, b):
    """The value of a confusion matrix, with its rows chosen by sorting."""
    low, high = np.sort(scores[y])[: loss.n_pos - a], np.sort(scores[~y])[::-1][:b]
    return loss.value(a, b) - 100.0 / len(y) * (low.sum() - high.sum())


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_every_search_equals_the_table(loss):
    rng = np.random.default_rng(7)
    for scores, y in samples(rng, 75):
        bound = resolve(loss, int(y.sum()), int((~y).sum()))
        _, _, best = find(bound, scores, y, "table")
        searches = [bound.search, *(["divide"] if bound.mixed else [])]
        for search in searches:
            a, b, value = find(bound, scores, y, search)
            assert value == pytest.approx(best, rel=1e-12, abs=1e-10)
            assert worth(bound, scores, y, a, b) == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["rec", "prec"])
def test_rankings_equal_the_table(kind):
    rng = np.random.default_rng(8)
    for scores, y in samples(rng, 400):
        P, n = int(y.sum()), len(y)
        k = int(rng.integers(P, n + 1) if kind == "rec" else rng.integers(1, P + 1))
        bound = resolve(f"{kind}@{k}", P, n - P)
        a, b, value = find(bound, scores, y)
        assert value == pytest.approx(find(bound, scores, y, "table")[2], rel=1e-12, abs=1e-10)
        assert a + b <= k if kind == "rec" else a + b >= k


def test_large_tables_too():
    rng = np.random.default_rng(9)
    y = rng.random(1200) < 0.2
    for spread in (0.0, 0.05, 2.0):
        scores = spread * (rng.normal(size=1200) + y)
        for loss in ("f1", "q", "qgm", m.MCC(), m.BAKLD(), "prec@30"):
            bound = resolve(loss, int(y.sum()), int((~y).sum()))
            assert find(bound, scores, y)[2] == pytest.approx(find(bound, scores, y, "table")[2], rel=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_their_definitions(name):
    for n_pos, n_neg in ((3, 5), (4, 4), (5, 2)):
        bound = resolve(name, n_pos, n_neg) if name != "prec@2" or n_pos >= 2 else None
        for a in range(n_pos + 1):
            for b in range(n_neg + 1):
                expected = 100 * LOSSES[name](a, b, n_pos - a, n_neg - b)
                assert bound.value(a, b) == pytest.approx(expected, abs=1e-9)
                assert 0 <= expected <= 100 or name in ("kld", "mrae")
                inside = bound.least <= a + b <= bound.most
                assert inside == counted(name, a, b, n_pos)


@pytest.mark.parametrize("measure", [cls() for cls in m.NAMED] + MIXTURES, ids=repr)
def test_claimed_shapes_hold_on_random_cells(measure):
    rng = np.random.default_rng(3)
    for p in (0.1, 0.5, 0.8):
        x, y = np.sort(rng.random((2, 4000)), axis=0), np.sort(rng.random((2, 4000)), axis=0)
        at = lambda tpr, tnr, p=p: measure(tpr, tnr, p, sample_size=100)
        if is_count_only(measure, p):
            shift = rng.uniform(-1, 1, 4000)
            tpr, tnr = x[0] + (1 - p) * shift, y[0] + p * shift
            inside = (tpr >= 0) & (tpr <= 1) & (tnr >= 0) & (tnr <= 1)
            np.testing.assert_allclose(at(tpr[inside], tnr[inside]), at(x[0], y[0])[inside], atol=1e-10)
        sign = mixed_sign(measure, p)
        if sign is not None:
            mixed = at(x[1], y[1]) - at(x[1], y[0]) - at(x[0], y[1]) + at(x[0], y[0])
            assert (
                (mixed >= -1e-12).all()
                if sign > 0
                else (mixed <= 1e-12).all()
                if sign < 0
                else abs(mixed).max() < 1e-12
            )


def test_shapes_that_are_expected_to_be_found():
    assert [name for name in PLAIN if resolve(name, 10, 90).search == "counts"] == ["kld", "nkld", "mae", "mrae"]
    for measure in (m.NegKLD(), m.NSS(), m.NAS(), m.NegAE(), m.NSS() * m.NAS()):
        assert resolve(measure, 10, 90).search == "counts"
    for loss in ("zero_one", "f1", "fbeta@2", m.GMean(), m.Jaccard(), m.BAKLD()):
        assert resolve(loss, 10, 90).mixed == 1
    for loss in ("fbeta@0.5", "q", m.MCC(), m.Precision(), m.FBeta(1) - m.NegKLD()):
        assert resolve(loss, 10, 90).mixed == 0


def test_a_named_loss_and_its_measure_are_one():
    for name, measure in (("f1", m.FBeta(1)), ("kld", m.NegKLD()), ("mae", m.NegAE()), ("zero_one", m.Accuracy())):
        a, b = np.meshgrid(np.arange(8), np.arange(13), indexing="ij")
        np.testing.assert_allclose(resolve(name, 7, 12).value(a, b), resolve(measure, 7, 12).value(a, b), atol=1e-10)


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        ("f3", ValueError, "loss is one of zero_one, f1.*got 'f3'"),
        ("rec@k", ValueError, "write a number of rows or a share"),
        ("rec@101", ValueError, "asks for 101 calls, but there are 100 rows"),
        ("prec@0", ValueError, "K lies between 1 and 100"),
        ("rec@5", ValueError, "needs K >= 10, the positives; for fewer calls use 'prec@5'"),
        ("prec@20", ValueError, "needs K <= 10, the positives; for more calls use 'rec@20'"),
        ("fbeta@two", ValueError, "as in 'fbeta@2'"),
        (m.NegKLD(eps=0.0), ValueError, "not finite for every prediction"),
        (3, TypeError, "got 3"),
    ],
)
def test_bad_losses_are_refused(loss, error, message):
    with pytest.raises(error, match=message):
        resolve(loss, 10, 90)
