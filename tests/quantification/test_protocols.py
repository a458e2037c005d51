"""Protocols draw what they say, the same every time, and `evaluate` tabulates what a quantifier makes of it."""

import numpy as np
import pytest
import scipy.sparse as sp

from steelyard.quantification import protocols as pr

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(300, 3)), np.array(["no", "yes"])[(RNG.uniform(size=300) < 0.3).astype(int)]


class Perfect:
    """Sees the labels that the test hid in the first column."""

    def predict(self, X):
        return np.array([np.mean(X[:, 0] == k) for k in range(2)])


def test_app_walks_the_grid():
    drawn = [p for _, p in pr.APP(X, Y, sample_size=100, repeats=2)]
    assert len(drawn) == len(pr.APP(X, Y, repeats=2)) == 42
    np.testing.assert_allclose(sorted({p[1] for p in drawn}), np.linspace(0, 1, 21), atol=1e-12)


def test_app_of_three_classes_covers_the_simplex():
    y = np.arange(300) % 3
    drawn = np.array([p for _, p in pr.APP(X, y, sample_size=10, n_prevalences=6, repeats=1)])
    assert len(drawn) == 21
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    assert len(np.unique(drawn, axis=0)) == 21


def test_upp_is_uniform():
    shares = np.array([p[1] for _, p in pr.UPP(X, Y, sample_size=50, repeats=2000)])
    assert np.histogram(shares, bins=4, range=(0, 1))[0].min() > 420
    three = np.array([p for _, p in pr.UPP(X, np.arange(300) % 3, sample_size=90, repeats=2000)])
    np.testing.assert_allclose(three.mean(axis=0), 1 / 3, atol=0.03)


def test_npp_keeps_the_natural_share():
    shares = [p[1] for _, p in pr.NPP(X, Y, sample_size=100, repeats=400)]
    assert np.mean(shares) == pytest.approx(np.mean(Y == "yes"), abs=0.01)


@pytest.mark.parametrize("cls", [pr.APP, pr.NPP, pr.UPP])
def test_the_same_batches_every_time(cls):
    one, other = cls(X, Y, sample_size=20, repeats=2), cls(X, Y, sample_size=20, repeats=2, random_state=1)
    first, again = [r.tolist() for r, _ in one.indices()], [r.tolist() for r, _ in one.indices()]
    assert first == again
    assert first != [r.tolist() for r, _ in other.indices()]


@pytest.mark.parametrize("cls", [pr.APP, pr.NPP, pr.UPP])
def test_batches_have_the_prevalence_they_say(cls):
    protocol = cls(X, Y, sample_size=25, repeats=3)
    for rows, p in protocol.indices():
        assert len(rows) == 25
        np.testing.assert_allclose(p, [np.mean(Y[rows] == label) for label in ("no", "yes")])
        for label in ("no", "yes"):  # without replacement where there are rows enough
            mine = rows[Y[rows] == label]
            assert len(mine) == len(set(mine.tolist()))


def test_more_rows_than_a_class_has_are_drawn_with_replacement():
    _, p = next(iter(pr.APP(X, Y, sample_size=250, n_prevalences=2, repeats=1)))
    assert p.tolist() == [0.0, 1.0]


def test_evaluate_tabulates():
    codes = (Y == "yes").astype(float)[:, None]
    table = pr.evaluate(Perfect(), pr.APP(codes, Y, repeats=1), errors=("ae", "kld"))
    assert table.shape == (21,)
    assert table["true"].shape == (21, 2)
    np.testing.assert_allclose(table["ae"], 0.0, atol=1e-12)
    np.testing.assert_allclose(table["kld"], 0.0, atol=1e-12)


def test_sparse_rows_and_data_frames():
    pandas = pytest.importorskip("pandas")
    for rows in (sp.csr_matrix(X), pandas.DataFrame(X)):
        batch, _ = next(iter(pr.NPP(rows, Y, sample_size=7)))
        assert batch.shape == (7, 3)


def test_what_is_refused():
    with pytest.raises(ValueError, match="two or more classes"):
        pr.NPP(X, np.zeros(300))
    with pytest.raises(ValueError, match="sample_size is a whole number"):
        pr.NPP(X, Y, sample_size=0)
    with pytest.raises(ValueError, match="X has 300 rows"):
        pr.NPP(X, Y[:5])
    with pytest.raises(ValueError, match="an error is one of"):
        pr.evaluate(Perfect(), pr.NPP(X, Y), errors=("nonsense",))
