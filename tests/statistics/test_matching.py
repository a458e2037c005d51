"""Matching of distributions against all pairs of rows and a general solver."""

import numpy as np
import pytest

from reference import counting as slow
from steelyard.statistics import matching, prevalence


def posteriors(rng, n, p):
    y = rng.choice(len(p), n, p=p)
    logits = rng.normal(size=(n, len(p))) + 1.5 * np.eye(len(p))[y]
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), y


def case(k, seed=0, n=40):
    """Labelled rows, a batch of two models, and both as the fast functions take them."""
    rng = np.random.default_rng(seed)
    t, y = posteriors(rng, n, np.full(k, 1 / k))
    shares = rng.dirichlet(np.ones(k))
    new = np.stack([posteriors(rng, 20, shares)[0] for _ in range(2)])
    batch = prevalence.Batch(new, np.full(20, 1 / 20))
    return t, y, new.reshape(-1, k), batch, prevalence.ClassMeans.of(t, y)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_kernel_is_the_likeliest_mixture_of_all_pairs(k):
    t, y, new, batch, classes = case(k)
    densities = slow.kernel_densities(new, t, y, k, matching.BANDWIDTH)
    np.testing.assert_allclose(matching.kernel_densities(new, classes), densities, rtol=1e-9)
    np.testing.assert_allclose(matching.kernel(batch, classes), slow.em(densities), atol=2e-5)


def test_kernel_in_parts_is_kernel_at_once(monkeypatch):
    *_, batch, classes = case(3)
    whole = matching.kernel(batch, classes)
    monkeypatch.setattr(matching, "PAIRS", 30)
    np.testing.assert_allclose(matching.kernel(batch, classes), whole, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_energy_is_the_least_over_all_pairs(k):
    t, y, new, *_ = case(k)
    slowly = slow.least_on_simplex(lambda p: slow.energy_distance(p, t[:25], y[:25], new[:10]), k)
    few = prevalence.Batch(new[None, :10], np.full(10, 0.1))
    np.testing.assert_allclose(matching.energy(few, prevalence.ClassMeans.of(t[:25], y[:25])), slowly, atol=1e-4)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_histogram_is_the_least_hellinger_distance(k, seed):
    t, y, new, batch, classes = case(k, seed, 80)
    slowly = slow.least_on_simplex(lambda p: slow.hellinger(p, t, y, new, matching.BINS), k)
    found = matching.histogram(batch, classes)
    ours, theirs = (slow.hellinger(p, t, y, new, matching.BINS) for p in (found, slowly))
    assert ours <= theirs + 1e-7
    np.testing.assert_allclose(found, slowly, atol=2e-3)


@pytest.mark.parametrize("matched", [matching.kernel, matching.energy, matching.histogram])
def test_weights_are_repetitions(matched):
    t, y, new, _, _ = case(3, n=60)
    w, v = (np.random.default_rng(1).integers(1, 4, n) for n in (60, 40))
    weighted = matched(prevalence.Batch(new[None], v / v.sum()), prevalence.ClassMeans.of(t, y, w.astype(float)))
    often, rows = np.repeat(np.arange(60), w), np.repeat(new, v, axis=0)
    repeated = matched(
        prevalence.Batch(rows[None], np.full(len(rows), 1 / len(rows))), prevalence.ClassMeans.of(t[often], y[often])
    )
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("matched", [matching.kernel, matching.energy, matching.histogram])
def test_a_batch_of_one_class_is_found_to_be_one(matched):
    y = np.repeat([0, 1, 2], 20)
    t = 0.94 * np.eye(3)[y] + 0.02
    batch = prevalence.Batch(t[None, :20], np.full(20, 0.05))
    np.testing.assert_allclose(matched(batch, prevalence.ClassMeans.of(t, y)), [1, 0, 0], atol=1e-6)
