"""CAN with an exact oracle: the linear rate of Theorem 5, and the optimum of a brute-force search."""

import numpy as np
import pytest

import steelyard.measures as m
from steelyard.solvers.search.can import can, parts
from steelyard.statistics.frontier import Choice, best_point, scan


def problem(seed, prevalence=0.2, n=4000):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < prevalence
    return scan(rng.normal(size=n) + 1.2 * positive, positive)


def run(frontier, measure, **options):
    def at(what, point):
        return what(point.tpr, point.tnr, frontier.prevalence, sample_size=frontier.n_rows)

    return can(measure, lambda valuation, _: (best_point(frontier, valuation), None), at, **options)


@pytest.mark.parametrize("measure", [m.FBeta(1), m.FBeta(2), m.Jaccard(), m.CQReward(), m.BKReward()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_reaches_the_best_of_all_points(measure, seed):
    frontier = problem(seed)
    found = run(frontier, measure)
    best = best_point(frontier, measure)
    assert found.converged
    assert found.levels[-1] == pytest.approx(best.value, rel=1e-9)
    assert (np.diff(found.levels) >= -1e-12).all()


@pytest.mark.parametrize("measure", [m.FBeta(1), m.FBeta(2), m.Jaccard()], ids=repr)
def test_linear_rate_of_theorem_5(measure):
    # Delta_t <= Delta_0 (1 - m/M)^t with [m, M] the range of the denominator over the reachable points.
    frontier = problem(5, prevalence=0.05, n=20_000)
    found = run(frontier, measure, tol=0.0)
    best = best_point(frontier, measure).value
    _, bottom = parts(measure)
    reach = bottom(frontier.tpr, frontier.tnr, frontier.prevalence)
    rate = 1.0 - reach.min() / reach.max()
    excess = best - np.array(found.levels[1:])
    excess = excess[excess > 1e-12]
    assert len(excess) >= 2  # otherwise there is no slope to speak of
    assert (excess <= excess[0] * rate ** np.arange(len(excess)) * (1 + 1e-9)).all()
    slope = np.polyfit(np.arange(len(excess)), np.log(excess), 1)[0]
    assert slope <= np.log(rate)


def test_a_measure_without_the_shape_is_refused():
    with pytest.raises(ValueError, match="is not one"):
        parts(m.BAKLD())
    with pytest.raises(ValueError, match="concave numerator"):
        parts(m.NegKLD() / (1 + m.NSS() * m.GMean()))


def test_the_payload_belongs_to_the_last_point():
    frontier = problem(1)
    points = iter(range(100))

    def oracle(valuation, previous):
        assert previous is None or isinstance(previous, Choice)
        return best_point(frontier, valuation), next(points)

    found = can(m.FBeta(1), oracle, lambda what, p: what(p.tpr, p.tnr, frontier.prevalence), tol=1e-9)
    assert found.payload == found.n_iter - 1
