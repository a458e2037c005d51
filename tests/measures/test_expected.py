"""Labels of largest expected F-beta against every label set and every outcome."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.measures import expected_fbeta_labels
from steelyard.measures.expected import expected_fbeta

PROBABILITY = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))


def expectation(p, labels, beta):
    """Over all outcomes; F is 1 when nothing is positive and nothing called, and 0 wherever else it is 0/0."""
    truth = np.array(list(product([0, 1], repeat=len(p))))
    chance = np.prod(np.where(truth == 1, p, 1 - p), axis=1)
    below = beta**2 * truth.sum(axis=1) + labels.sum()
    f = np.divide((1 + beta**2) * (truth & labels).sum(axis=1), below, out=np.zeros(len(truth)), where=below > 0)
    return chance @ np.where(truth.sum(axis=1) + labels.sum() == 0, 1.0, f)


@settings(deadline=None, max_examples=100)
@given(st.lists(PROBABILITY, min_size=1, max_size=5), st.sampled_from([0.0, 0.3, 1.0, 2.0, 3.7]))
def test_best_of_all_label_sets(p, beta):
    p = np.array(p)
    best = max(expectation(p, np.array(s), beta) for s in product([0, 1], repeat=len(p)))
    assert expectation(p, expected_fbeta_labels(p, beta).astype(int), beta) == pytest.approx(best, abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(st.lists(PROBABILITY, min_size=1, max_size=6), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_values_are_the_expectations(p, beta):
    p = np.sort(p)[::-1]
    values = expected_fbeta(p, beta)
    for k in range(len(p) + 1):
        assert values[k] == pytest.approx(expectation(p, (np.arange(len(p)) < k).astype(int), beta), abs=1e-12)


@pytest.mark.parametrize("shape", [0.2, 1.0, 6.0])
def test_many_rows_agree_with_simulation(shape):
    rng = np.random.default_rng(0)
    p = np.sort(rng.random(3000) ** shape)[::-1]
    values = expected_fbeta(p, 1.0)
    truth = rng.random((400, 3000)) < p
    for k in (1, 30, 1000, 3000):
        f = 2 * truth[:, :k].sum(axis=1) / (truth.sum(axis=1) + k)
        assert values[k] == pytest.approx(f.mean(), abs=5 * f.std() / 20 + 1e-9)


def test_deconvolution_keeps_its_digits():
    """Against leaving each row out by convolution, where probabilities sit on both sides of one half."""
    p = np.sort(np.concatenate([np.linspace(0.45, 0.55, 60), [0.0, 1.0, 1e-12, 1 - 1e-12, 0.5]]))[::-1]
    values = expected_fbeta(p, 2.0)
    for k in (1, 20, 65):
        total = 0.0
        for i in range(k):
            mass = np.ones(1)
            for x in np.delete(p, i):
                mass = np.convolve(mass, [1 - x, x])
            total += p[i] * (mass / (4 * (np.arange(len(mass)) + 1) + k)).sum()
        assert values[k] == pytest.approx(5 * total, rel=1e-12)


def test_empty_and_bad_input():
    assert expected_fbeta_labels([]).tolist() == []
    with pytest.raises(ValueError, match=r"\[0, 1\]; got 1.2"):
        expected_fbeta_labels([0.2, 1.2])
    with pytest.raises(ValueError, match=r"\[0, 1\]; got nan"):
        expected_fbeta_labels([0.2, np.nan])
    with pytest.raises(ValueError, match=r"one probability a row.*\(2, 2\)"):
        expected_fbeta_labels([[0.2, 0.8], [0.4, 0.6]])
    with pytest.raises(ValueError, match="beta must lie"):
        expected_fbeta_labels([0.2], beta=-1)
