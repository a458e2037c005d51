"""The region of prevalences against a slow version of its test, and against the interval of two classes."""

import numpy as np
import pytest

from reference import counting as slow
from steelyard.statistics import prevalence
from steelyard.statistics.region import Evidence, PrevalenceRegion


def case(k, n=80, models=2, seed=0):
    rng = np.random.default_rng(seed)

    def draw(n, p):
        y = rng.choice(k, n, p=p)
        logits = rng.normal(size=(n, k)) + 2.0 * np.eye(k)[y]
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), y

    t, y = draw(60 * k, np.full(k, 1 / k))
    new = draw(n, rng.dirichlet(np.ones(k)))[0]
    new = np.stack([0.9 * new + 0.1 * rng.dirichlet(np.ones(k), n) for _ in range(models)])
    return t, y, new, prevalence.Batch(new, np.full(n, 1 / n)), prevalence.ClassMeans.of(t, y)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_p_values_are_those_of_the_slow_version(k):
    t, y, new, batch, classes = case(k)
    points = np.random.default_rng(1).dirichlet(np.full(k, 0.5), 20)
    points = np.vstack([points, prevalence.adjusted(batch.mean, classes), np.eye(k)])
    slowly = [slow.region_p_value(p, t, y, new) for p in points]
    np.testing.assert_allclose(Evidence.of(batch, classes).p_values(points), slowly, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_distance_by_the_chance_of_labelled_rows(k):
    t, y, _, batch, classes = case(k)
    p = np.random.default_rng(2).dirichlet(np.ones(k))
    assert Evidence.of(batch, classes).against(p) == pytest.approx(slow.against(p, t, y, batch.mean), rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_two_classes_have_the_interval(seed):
    *_, batch, classes = case(2, 200, seed=seed)
    centre = prevalence.adjusted(batch.mean, classes)
    low, high = prevalence.interval(batch, classes, centre, 1, 0.9)
    p = np.linspace(0, 1, 1001)
    kept = p[PrevalenceRegion(centre, 0.9, Evidence.of(batch, classes)).contains(np.column_stack([1 - p, p]))]
    np.testing.assert_allclose(kept[[0, -1]], [low, high], atol=0.004)  # they differ in degrees of freedom only


def test_which_class_is_last_does_not_matter():
    t, y, new, batch, classes = case(4)
    order = np.array([2, 0, 3, 1])
    code = np.argsort(order)
    other = Evidence.of(prevalence.Batch(new[..., order], batch.weight), prevalence.ClassMeans.of(t[:, order], code[y]))
    points = np.random.default_rng(0).dirichlet(np.ones(4), 30)
    np.testing.assert_allclose(
        Evidence.of(batch, classes).p_values(points), other.p_values(points[:, order]), rtol=1e-5, atol=1e-12
    )


def test_more_confidence_is_a_larger_region_and_more_rows_a_smaller_one():
    *_, batch, classes = case(3)
    centre, evidence = prevalence.adjusted(batch.mean, classes), Evidence.of(batch, classes)
    sizes = [PrevalenceRegion(centre, c, evidence).share_of_simplex() for c in (0.5, 0.9, 0.99)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2] / 2
    *_, many, classes = case(3, n=800)
    centre = prevalence.adjusted(many.mean, classes)
    assert PrevalenceRegion(centre, 0.9, Evidence.of(many, classes)).share_of_simplex() < sizes[1] / 2


def test_points_of_the_simplex_are_asked_for_one_or_many_at_a_time():
    *_, batch, classes = case(3)
    centre = prevalence.adjusted(batch.mean, classes)
    region = PrevalenceRegion(centre, 0.95, Evidence.of(batch, classes))
    assert centre in region
    assert region.contains(centre) is True
    assert list(centre) in region
    assert region.contains(np.vstack([centre, np.eye(3)])).tolist() == [True, False, False, False]
    assert isinstance(region.p_value(centre), float)
    for wrong in ([0.5, 0.5], [0.2, 0.2, 0.2], [1.2, -0.2, 0.0], [[[1.0, 0.0, 0.0]]], [np.nan, 0.5, 0.5]):
        with pytest.raises(ValueError, match="shares"):
            region.contains(wrong)


def test_a_batch_that_fits_nowhere_has_its_estimate():
    t, y, *_ = case(3)
    new = np.full((1, 5000, 3), [0.45, 0.45, 0.1])  # beside the triangle of the class means
    batch, classes = prevalence.Batch(new, np.full(5000, 1 / 5000)), prevalence.ClassMeans.of(t, y)
    centre = prevalence.adjusted(batch.mean, classes)
    region = PrevalenceRegion(centre, 0.95, Evidence.of(batch, classes))
    assert region.contains(centre)


def test_nothing_known_is_the_whole_simplex():
    region = PrevalenceRegion(np.array([0.2, 0.3, 0.5]), 0.95, None)
    assert region.share_of_simplex(100) == 1.0
    assert [1.0, 0.0, 0.0] in region
