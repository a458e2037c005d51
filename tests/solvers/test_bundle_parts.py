"""The bundle's inner problems on their own: the line search against sorting, the master against its KKT conditions and PIQP."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from reference.cost_sensitive import loss_value
from reference.line_search import hinge_step
from steelyard._core import line_search, solve_master


def ray(seed, n=60, d=4):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)
    w, p = rng.normal(size=d), rng.normal(size=d)
    cost = rng.uniform(0.0, 2.0, n)
    m, s = y * (X @ w), y * (X @ p)
    if seed % 3 == 0:  # ties, kinks at zero, rows that do not move
        m, s = np.round(m), np.round(s)
    return cost, m, s, w, p


@pytest.mark.parametrize("seed", range(40))
def test_hinge_line_search_is_the_sorted_one(seed):
    cost, m, s, w, p = ray(seed)
    found = line_search(cost, m, s, w @ p, p @ p, "hinge")
    assert found == pytest.approx(hinge_step(cost, m, s, w @ p, p @ p), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("seed", range(10))
def test_line_search_minimises(seed, loss):
    cost, m, s, w, p = ray(seed)

    def J(step):
        return 0.5 * np.sum((w + step * p) ** 2) + cost @ loss_value(loss, m + step * s)

    found = line_search(cost, m, s, w @ p, p @ p, loss)
    best = minimize_scalar(J, bounds=(0.0, max(10.0, 2 * found)), method="bounded", options={"xatol": 1e-10}).fun
    assert J(found) <= min(best, J(0.0)) + 1e-5 * abs(best)


def cuts(seed, T=25, d=6, singular=False):
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(T, d)) * 10.0
    if singular:  # one-hot columns: the cuts live in a subspace
        g[:, -1] = -g[:, :-1].sum(1)
    return g, rng.uniform(-1.0, 10.0, T), rng.integers(0, 2, T).astype(np.int32)


def kkt(g, h, side, cap, a):
    """Largest violation: of a >= 0, of the caps, and of `no cut gains more than its side's multiplier`."""
    gain = h - g @ (g.T @ a)
    worst = max(0.0, -a.min())
    for c in (0, 1):
        on, total = side == c, a[side == c].sum()
        worst = max(worst, (total - cap[c]) / max(cap[c], 1e-12))
        nu = max(0.0, gain[on].max()) if on.any() else 0.0
        used = on & (a > 1e-9)
        if used.any():
            worst = max(worst, (nu - gain[used].min()) / (1 + abs(nu)))
        if nu > 1e-6 * (1 + abs(h).max()):
            worst = max(worst, abs(total - cap[c]) / cap[c])
    return worst


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_master_meets_its_conditions(seed, singular):
    g, h, side = cuts(seed, singular=singular)
    rng = np.random.default_rng(100 + seed)
    cap = {0: 10 ** rng.uniform(-3, 1), 1: 10 ** rng.uniform(-3, 1)}
    a, w, value = solve_master(g, h, side, cap[1], cap[0], 1e-10, 500)
    assert kkt(g, h, side, cap, a) < 1e-6
    np.testing.assert_allclose(w, -g.T @ a, atol=1e-9)
    assert value == pytest.approx(h @ a - 0.5 * w @ w, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("pivots", [0, 1, 2, 5])
def test_an_unfinished_master_is_still_a_bound(pivots):
    g, h, side = cuts(3)
    _, _, full = solve_master(g, h, side, 1.0, 2.0, 1e-10, 500)
    a, _, value = solve_master(g, h, side, 1.0, 2.0, 1e-10, pivots)
    assert (a >= 0.0).all()
    assert a[side == 1].sum() <= 1.0 + 1e-9
    assert a[side == 0].sum() <= 2.0 + 1e-9
    assert value <= full + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_master_agrees_with_piqp(seed):
    piqp = pytest.importorskip("piqp", reason="PIQP is an independent quadratic programming solver")
    g, h, side = cuts(seed, T=40)
    T = len(h)
    caps = np.array([2.0, 0.5])
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    A = np.stack([(side == 0).astype(float), (side == 1).astype(float)])
    solver.setup(g @ g.T + 1e-12 * np.eye(T), -h, None, None, A, np.full(2, -1e30), caps, np.zeros(T), np.full(T, 1e30))
    solver.solve()
    _, _, value = solve_master(g, h, side, caps[1], caps[0], 1e-10, 500)
    assert value == pytest.approx(-solver.result.info.primal_obj, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"side": np.array([0, 2], dtype=np.int32)}, "side is 0"),
        ({"side": np.array([0], dtype=np.int32)}, "side has 1 entries instead of 2"),
        ({"h": np.zeros(3)}, "h has 3 entries instead of 2"),
    ],
)
def test_a_master_checks_its_cuts(arguments, message):
    given = {"g": np.eye(2), "h": np.zeros(2), "side": np.array([0, 1], dtype=np.int32)}
    with pytest.raises(ValueError, match=message):
        solve_master(**{**given, **arguments}, cap_positive=1.0, cap_negative=1.0, slack=1e-9, max_pivots=10)


def test_a_line_search_checks_its_lengths():
    with pytest.raises(ValueError, match="cost has 1 entries instead of 2"):
        line_search(np.ones(1), np.ones(2), np.ones(2), 1.0, 1.0, "hinge")
    with pytest.raises(ValueError, match="loss is"):
        line_search(np.ones(2), np.ones(2), np.ones(2), 1.0, 1.0, "hugs")
