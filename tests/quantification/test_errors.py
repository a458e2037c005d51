"""The errors are QuaPy's, number by number, and the fixed ones where QuaPy is not installed."""

import numpy as np
import pytest

from steelyard.measures import NAS, NSS
from steelyard.quantification import errors as e

P, Q = np.array([0.7, 0.3]), np.array([0.5, 0.5])
SMOOTHED = {"rae", "nrae", "kld", "nkld"}


def call(name, p, q, size):
    error = getattr(e, name)
    return error(p, q, sample_size=size) if name.removeprefix("m") in SMOOTHED else error(p, q)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ae", 0.2), ("nae", 0.2 / 0.7), ("se", 0.04), ("nas", 1 - 0.2 / 0.7), ("nss", 1 - (0.2 / 0.7) ** 2),
     ("kld", 0.7 * np.log(1.4) + 0.3 * np.log(0.6)), ("rae", (0.2 / 0.7 + 0.2 / 0.3) / 2)],
)  # fmt: skip
def test_numbers_by_hand(name, value):
    assert call(name, P, Q, 10**12) == pytest.approx(value, abs=1e-9)


def test_the_published_figures():
    assert round(float(e.kld(P, Q, sample_size=10**12)), 4) == 0.0823
    assert round(float(e.nae(P, Q)), 4) == 0.2857


@pytest.mark.parametrize("name", e.NAMES)
def test_means_are_means_of_rows(name):
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet([1, 1, 1], 20), rng.dirichlet([1, 1, 1], 20)
    rows = [call(name, a, b, 50) for a, b in zip(p, q, strict=True)]
    assert call(name, p, q, 50) == pytest.approx(rows)
    assert call(f"m{name}", p, q, 50) == pytest.approx(np.mean(rows))


@pytest.mark.parametrize("name", e.NAMES)
def test_a_perfect_estimate(name):
    assert call(name, P, P, 10) == pytest.approx(1.0 if name in ("nas", "nss") else 0.0, abs=1e-15)


def test_scores_are_the_measures_of_the_language():
    tpr, tnr, p = 0.8, 0.7, 0.3
    q = p * tpr + (1 - p) * (1 - tnr)
    pair = ([1 - p, p], [1 - q, q])
    assert e.nas(*pair) == pytest.approx(NAS()(tpr, tnr, p))
    assert e.nss(*pair) == pytest.approx(NSS()(tpr, tnr, p))


def test_an_empty_class_is_finite_only_by_smoothing():
    assert np.isfinite(e.kld([1.0, 0.0], [0.9, 0.1], sample_size=10))
    assert e.kld([1.0, 0.0], [0.9, 0.1], sample_size=10) < e.kld([1.0, 0.0], [0.9, 0.1], sample_size=1000)


def test_what_is_refused():
    with pytest.raises(TypeError, match="sample_size"):
        e.kld(P, Q)
    with pytest.raises(ValueError, match="number of rows of a batch"):
        e.rae(P, Q, sample_size=0)
    with pytest.raises(ValueError, match="same two or more classes"):
        e.ae([0.5, 0.5], [0.2, 0.3, 0.5])


@pytest.mark.parametrize("name", ["ae", "nae", "rae", "nrae", "se", "kld", "nkld"])
def test_equal_to_quapy(name):
    quapy = pytest.importorskip("quapy.error", reason="the extra 'quapy' is not installed")
    rng = np.random.default_rng(1)
    for classes in (2, 3, 7):
        p, q = rng.dirichlet(np.full(classes, 0.5), 2000), rng.dirichlet(np.full(classes, 0.5), 2000)
        p[::10], q[::7] = np.eye(classes)[0], np.eye(classes)[-1]
        for size in (10, 100):
            theirs = getattr(quapy, name)(p, q, **({"eps": 1 / (2 * size)} if name in SMOOTHED else {}))
            np.testing.assert_allclose(call(name, p, q, size), theirs, rtol=1e-12, atol=1e-12)
