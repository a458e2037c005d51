"""The nonconvex machines: against Algorithms 2 and 3 of Gasso et al. written plainly, and what they promise."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from reference.kernel_machines import algorithm_2, algorithm_3
from steelyard.solvers.kernel import minimax, neyman_pearson
from steelyard.solvers.kernel.multiplier import MultiplierRule
from steelyard.solvers.kernel.neyman_pearson import NeymanPearsonProblem
from steelyard.solvers.kernel.smo import Kernel

GAMMA = 0.7


def cloud(seed, n=60, shift=0.8):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.6, 1.0, -1.0)
    return rng.normal(size=(n, 2)) + shift * y[:, None] * [1.0, 0.3], y


def task(X, y, **given):
    defaults = {"cap": 0.1, "C": 2.0, "tol": 1e-6}
    return NeymanPearsonProblem(Kernel(X, "rbf", gamma=GAMMA), y, np.ones(len(y)), **(defaults | given))


@pytest.mark.parametrize("eta", [1.0, 0.4])
@pytest.mark.parametrize("seed", range(8))
def test_dc_is_algorithm_2(seed, eta):
    X, y = cloud(seed)
    asked = task(X, y, ramp=eta)
    cost = np.where(y > 0, 2.0, 2.0 * 1.5) * 2 * eta
    rounds = list(algorithm_2(rbf_kernel(X, gamma=GAMMA), y, cost, eta))
    machine = neyman_pearson.dc(asked, ratio=1.5)
    beta, f, objective = rounds[-1]
    assert machine.converged
    assert machine.n_iter == len(rounds)
    assert (machine.given_up == (beta > 0)).all()
    assert np.abs(machine.scores - f).max() < 1e-3
    norm = machine.dual.signed @ machine.dual.products
    assert asked.objective(machine.scores, norm, 1.5) == pytest.approx(objective, rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_rounds_from_any_start_are_those_of_algorithm_2(seed):
    X, y = cloud(seed)
    start = np.random.default_rng(seed).random(len(y)) < 0.3
    cost = np.where(y > 0, 2.0, 2.0 * 1.5) * 2
    rounds = algorithm_2(rbf_kernel(X, gamma=GAMMA), y, cost, 1.0, beta=start.astype(float))
    for n, (beta, f, _) in zip((1, 2, 3), rounds, strict=False):
        machine = neyman_pearson.dc(task(X, y, max_iter=n), 1.5, given_up=start)
        assert np.abs(machine.scores - f).max() < 1e-3, n
        assert (machine.given_up == (beta > 0)).all(), n


@pytest.mark.parametrize("method", ["annealed", "uzawa"])
def test_the_first_round_has_the_given_start(method):
    X, y = cloud(1)
    start = np.random.default_rng(1).random(len(y)) < 0.3
    asked, seen = task(X, y, max_iter=1, method=method), []
    neyman_pearson.solve(dataclasses.replace(asked, given_up=start), seen.append)
    first = neyman_pearson.dc(dataclasses.replace(asked, tol=1e-5), 1.0, given_up=start)
    assert np.abs(seen[0].scores - first.scores).max() < 1e-3
    assert np.abs(neyman_pearson.dc(asked).scores - first.scores).max() > 1e-2, "the start did not matter"


def test_some_rows_are_given_up():
    X, y = cloud(3, n=200, shift=0.4)
    machine = neyman_pearson.dc(task(X, y))
    assert 0 < machine.given_up.sum() < 100


def test_each_round_of_dc_lowers_the_objective():
    X, y = cloud(1, n=300, shift=0.4)
    asked = task(X, y, ramp=0.5)
    values, machine = [], None
    for n in range(1, 8):
        machine = neyman_pearson.dc(dataclasses.replace(asked, max_iter=n))
        values.append(asked.objective(machine.scores, machine.dual.signed @ machine.dual.products, 1.0))
    assert values[0] > values[-1]
    assert (np.diff(values) <= 1e-4 * values[0]).all()


def test_annealed_ends_where_algorithm_3_does():
    X, y = cloud(2, n=80)
    n_pos = (y > 0).sum()
    asked = task(X, y, cap=0.15)
    machine = neyman_pearson.solve(asked)
    *_, (lam, rate, f) = algorithm_3(rbf_kernel(X, gamma=GAMMA), y, 2 * 2.0 * n_pos, 0.15, 1.0, gain=1.0, rounds=60)
    assert rate == pytest.approx(0.15, rel=0.05), "the reference has not arrived"
    assert machine.ratio * 2 * 2.0 * (y < 0).sum() == pytest.approx(lam, rel=0.15)
    assert np.mean((machine.scores > 0) == (f > 0)) > 0.96


@pytest.mark.parametrize("method", ["annealed", "uzawa"])
@pytest.mark.parametrize(("cap", "eta"), [(0.02, 1.0), (0.1, 1.0), (0.3, 1.0), (0.1, 0.4)])
def test_the_surrogate_rate_ends_at_the_cap(method, cap, eta):
    X, y = cloud(4, n=500, shift=0.9)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 500)
    asked = task(X, y, cap=cap, tol=1e-3, ramp=eta, method=method)
    machine = neyman_pearson.solve(dataclasses.replace(asked, weight=weight))
    assert machine.converged
    assert machine.false_alarms == pytest.approx(cap, rel=1.1 * MultiplierRule().precision)
    ramps = np.interp(machine.scores[y < 0], [-eta, eta], [0.0, 1.0])
    assert machine.false_alarms == pytest.approx(np.average(ramps, weights=weight[y < 0]))
    assert machine.dual.violation <= 1e-3 * eta  # rounds on the way are solved less exactly


def unsettled(cases, seeds, method="annealed"):
    """Over simulations of overlapping classes: how many runs do not settle, and how many end above the cap."""
    left = above = 0
    for n, shift, cap, C in cases:
        for seed in seeds:
            asked = task(*cloud(seed, n, shift), cap=cap, C=C, tol=1e-3, method=method)
            machine = neyman_pearson.solve(asked)
            left += not machine.converged
            above += not asked.meets_cap(machine.false_alarms)
    return left, above


def test_late_steps_shrink_or_the_ratio_and_the_rows_given_up_chase_each_other():
    cases = [
        (150, 0.2, 0.1, 1.0),
        (150, 0.2, 0.1, 5.0),
        (300, 0.0, 0.1, 1.0),
        (300, 0.0, 0.1, 5.0),
        (300, 0.2, 0.3, 1.0),
    ]
    left, above = unsettled(cases, range(700, 720))
    assert left <= 6  # of 100: 1 when this was written, 17 with steps that stay large
    assert above == 0


@pytest.mark.parametrize("method", ["annealed", "uzawa"])
def test_negatives_given_up_too_early_are_taken_back(method):
    left, above = unsettled([(200, 0.3, 0.02, 20.0), (200, 0.5, 0.02, 20.0)], range(600, 620), method)
    assert left <= 10  # of 40: 4 when this was written, 25 without
    assert above == 0  # 24 without: a negative that is given up counts as a false alarm, whatever the others cost


@pytest.mark.parametrize("method", ["annealed", "uzawa"])
def test_a_run_that_does_not_settle_ends_at_the_best_machine_seen(method):
    last_was_best = 0
    for seed in range(12):
        asked = task(*cloud(seed, 200, 0.3), cap=0.05, C=20.0, max_iter=5, method=method)
        seen = []
        machine = neyman_pearson.solve(asked, watch=seen.append)
        if machine.converged:
            continue
        assert len(seen) == machine.n_iter == 5
        within = [m for m in seen if m.false_alarms <= 0.05 * 1.052]
        if within:
            values = [asked.objective(m.scores, m.dual.signed @ m.dual.products, 0.0) for m in within]
            expected = within[int(np.argmin(values))]
        else:
            expected = min(seen, key=lambda m: m.false_alarms)
        assert machine.dual is expected.dual
        last_was_best += expected is seen[-1]
    assert last_was_best < 9, "the last machine would have done"


def test_a_cap_that_costs_nothing_ends_with_a_small_multiplier():
    X, y = cloud(0, n=100, shift=6.0)
    machine = neyman_pearson.solve(task(X, y, cap=0.5))
    assert machine.converged
    assert machine.false_alarms <= 0.5 * 1.05


def test_rows_left_out_have_no_say():
    X, y = cloud(5, n=120)
    asked = task(X, y)
    rows = np.arange(0, 120, 4)
    rest = np.setdiff1d(np.arange(120), rows)
    whole = neyman_pearson.dc(asked)
    machine = neyman_pearson.left_out(asked, whole, rows)
    there = neyman_pearson.dc(task(X[rest], y[rest]), whole.ratio, given_up=whole.given_up[rest])
    expected = rbf_kernel(X, X[rest], gamma=GAMMA) @ there.dual.signed + there.dual.bias
    assert np.abs(machine.scores - expected).max() < 1e-3
    assert not machine.given_up[rows].any()
    flipped = y.copy()
    flipped[rows] *= -1
    again = neyman_pearson.left_out(dataclasses.replace(asked, y=flipped), whole, rows)
    assert np.abs(again.scores - machine.scores).max() < 1e-3
    assert np.abs(whole.scores - machine.scores).max() > 1e-2, "these rows did have a say before"


def test_rows_left_out_of_the_convex_machine_leave_it_convex():
    X, y = cloud(5, n=120, shift=0.2)
    asked = task(X, y, method="cost-grid")
    rows = np.arange(0, 120, 4)
    (whole,) = neyman_pearson.cost_grid(asked, [2.0])
    (expected,) = neyman_pearson.cost_grid(asked.without(rows), [2.0])
    assert np.abs(neyman_pearson.left_out(asked, whole, rows).scores - expected.scores).max() < 1e-3
    nonconvex = dataclasses.replace(asked, method="annealed")
    assert np.abs(neyman_pearson.left_out(nonconvex, whole, rows).scores - expected.scores).max() > 1e-2


def test_a_weight_is_so_many_rows():
    X, y = cloud(6, n=60)
    weight = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    weighted = neyman_pearson.dc(dataclasses.replace(task(X, y), weight=weight))
    rows = np.repeat(np.arange(60), weight.astype(int))
    repeated = neyman_pearson.dc(task(X[rows], y[rows]))
    assert np.abs(weighted.scores[rows] - repeated.scores).max() < 1e-3


def test_the_cost_grid_trades_misses_for_false_alarms():
    X, y = cloud(7, n=400, shift=0.4)
    machines = neyman_pearson.cost_grid(task(X, y, C=1.0), [0.1, 0.5, 2.0, 10.0])
    rates = [m.false_alarms for m in machines]
    assert (np.diff(rates) < 0).all()
    assert all(not m.given_up.any() for m in machines)


# -- the minimax probability machine --------------------------------------------------------------------------------
def values_of(W, X, y, k):
    (a, A), (b, B) = ((X[y == s].mean(0), np.cov(X[y == s].T, bias=True)) for s in (1, -1))
    spread = [np.sqrt(((W @ S) * W).sum(axis=1)) for S in (A, B)]
    return (W @ (a - b) - k * spread[1]) / spread[0]


@pytest.mark.parametrize("bound", minimax.BOUNDS)
@pytest.mark.parametrize("seed", range(10))
def test_no_direction_beats_the_minimax_machine(seed, bound):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    mix = rng.normal(size=(2, d, d))
    y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    Z = rng.normal(size=(400, d))
    X = np.where((y > 0)[:, None], Z @ mix[0], Z @ mix[1]) + 4.0 * y[:, None]
    cap = 0.2
    k = np.sqrt((1 - cap) / cap) if bound == "chebyshev" else 0.8416212335729143
    found = minimax.solve(X, y, np.ones(400), cap, bound, ridge=1e-12)
    assert found.objective == pytest.approx(values_of(found.w[None], X, y, k)[0], rel=1e-6)
    anywhere = rng.normal(size=(5_000, d)) / X.std(0)
    near = found.w * (1 + 0.01 * rng.normal(size=(5_000, d)))
    assert values_of(np.vstack([anywhere, near]), X, y, k).max() <= found.objective + 1e-6
    negatives = X[y < 0] @ found.w + found.b
    assert -(negatives.mean()) / negatives.std() == pytest.approx(k, rel=1e-6)


def test_chebyshev_holds_whatever_the_distribution():
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 500)
    X = rng.standard_t(3, size=(1000, 2)) + 3 * y[:, None]
    found = minimax.solve(X, y, np.ones(1000), 0.1)
    assert ((X @ found.w + found.b)[y < 0] > 0).mean() <= 0.1


def test_equal_means_call_nothing_positive():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    found = minimax.solve(X, np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4), 0.1)
    assert (X @ found.w + found.b <= 0).all()
