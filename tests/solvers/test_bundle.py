"""The bundle's loop asks rows nothing beyond `ClassRisks`, gives idle cuts away, and ends as it says."""

import numpy as np
import pytest

from reference.cost_sensitive import loss_value
from reference.line_search import hinge_step
from steelyard.rows import Rows
from steelyard.solvers.linear import bundle
from steelyard.solvers.linear.bundle import BundleOptions, Lockstep, class_risks
from steelyard.solvers.linear.cost_sensitive import solve_grid
from steelyard.solvers.status import Ended

COSTS = [(1.6, 0.4), (1.0, 1.0), (0.4, 1.6)]


def make(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.3, 1.0, -1.0)
    return X, y


class Elsewhere:
    """Rows that nobody can look into: hinge risks in plain numpy, as a GPU or a cluster would answer."""

    def __init__(self, X):
        self._X = X
        self.n_rows, self.n_cols = X.shape
        self.calls = []

    def class_risks(self, y, weight, loss):
        assert loss == "hinge"
        self._y, self._s = y, np.ones(len(y)) if weight is None else weight
        return self

    def begin(self, n_tracks):
        self._m, self._ahead = np.zeros((2, n_tracks, self.n_rows))

    def look(self, tracks, W):
        self.calls.append("look")
        self._ahead[tracks] = self._y * (W @ self._X.T) - self._m[tracks]

    def _risks(self, m):
        values = self._s * loss_value("hinge", m)
        return np.stack([values[:, self._y < 0].sum(1), values[:, self._y > 0].sum(1)], axis=1)

    def risks(self, tracks, at):
        return self._risks(self._m[tracks] + at[:, None] * self._ahead[tracks])

    def search(self, tracks, caps, wp, pp):
        self.calls.append("search")
        steps = []
        for k, track in enumerate(tracks):
            cost = self._s * np.where(self._y > 0, caps[k, 1], caps[k, 0])
            steps.append(hinge_step(cost, self._m[track], self._ahead[track], wp[k], pp[k]))
        return np.array(steps)

    def move(self, tracks, best, cut):
        m, s = self._m[tracks], self._ahead[tracks]
        self._m[tracks], self._ahead[tracks] = m + best[:, None] * s, m + cut[:, None] * s
        return self._risks(self._m[tracks])

    def cut(self, tracks):
        g, h = [], []
        for m in self._ahead[tracks]:
            share = np.where(m < 1, self._s, 0.0)
            for side in (-1.0, 1.0):
                on = self._y == side
                g.append(-(share * self._y * on) @ self._X)
                h.append((share * on).sum())  # loss(m) + m = 1 where the hinge is active
        return np.array(g), np.array(h)


@pytest.mark.parametrize("line_search", [True, False])
def test_rows_elsewhere_are_trained_on_through_the_protocol_alone(line_search):
    X, y = make()
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    options = BundleOptions(line_search=line_search)
    there = Elsewhere(X)
    found = solve_grid(there, y, COSTS, [0.01, 1.0], 1e-4, sample_weight=weight, bundle=options)
    here = solve_grid(X, y, COSTS, [0.01, 1.0], 1e-4, sample_weight=weight, solver="bundle", bundle=options)
    exact = solve_grid(X, y, COSTS, [0.01, 1.0], 1e-7, sample_weight=weight, solver="coordinate")
    for a, b, best in zip(found, here, exact, strict=True):
        assert a.solver == "bundle"
        assert a.converged
        assert a.objective == pytest.approx(b.objective, rel=1e-6)
        assert a.objective * (1 - a.gap) <= best.objective <= a.objective * (1 + 1e-6)
    assert ("search" in there.calls) == line_search


def test_rows_elsewhere_can_only_be_passed_over():
    X, y = make()
    with pytest.raises(ValueError, match="'coordinate' has not rows that can only be passed over"):
        solve_grid(Elsewhere(X), y, COSTS, [1.0], solver="coordinate")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_class_risks_in_memory_are_what_they_say(loss):
    X, y = make(300, 4, seed=2)
    rng = np.random.default_rng(3)
    weight, W = rng.uniform(0.0, 2.0, 300), rng.normal(size=(3, 4))
    risks = class_risks(Rows.of(X), y, weight, loss, n_threads=2)
    risks.begin(3)
    tracks, at = np.array([2, 0]), np.array([0.5, 1.0])

    def truth(w):
        values = weight * loss_value(loss, y * (X @ w))
        return [values[y < 0].sum(), values[y > 0].sum()]

    risks.look(tracks, W[:2])
    np.testing.assert_allclose(risks.risks(tracks, at), [truth(0.5 * W[0]), truth(W[1])], rtol=1e-12)
    np.testing.assert_allclose(risks.move(tracks, at, np.ones(2)), [truth(0.5 * W[0]), truth(W[1])], rtol=1e-12)
    g, h = risks.cut(tracks)  # at W[0] and W[1]
    for k in range(2):
        np.testing.assert_allclose(g[2 * k : 2 * k + 2] @ W[k] + h[2 * k : 2 * k + 2], truth(W[k]), rtol=1e-9)
        for w in rng.normal(size=(20, 4)):
            assert (g[2 * k : 2 * k + 2] @ w + h[2 * k : 2 * k + 2] <= np.array(truth(w)) + 1e-9).all()
    with pytest.raises(ValueError, match="no such track"):
        risks.look(np.array([3]), W[:1])


def test_idle_cuts_are_dropped_and_nothing_is_lost():
    X, y = make(3000, 10, seed=4)
    signs, costs = y, np.array([(2 * (1 - t), 2 * t) for t in np.linspace(0.1, 0.9, 9)])
    objectives, cuts = {}, {}
    for idle in (5, 10**9):
        lockstep = Lockstep(class_risks(Rows.of(X), signs, None, "hinge"), 9, BundleOptions(idle=idle))
        objectives[idle] = []
        for C in (1e-3, 1e-2, 1e-1, 1.0):
            lockstep.restart(np.ascontiguousarray(C * costs[:, ::-1]))
            tracks = lockstep.run(1e-3, 2000)
            assert all(one.status.solved for one in tracks)
            objectives[idle] += [(one.objective, one.objective * (1 - one.gap)) for one in tracks]
        cuts[idle] = lockstep.masters.n_cuts
    assert cuts[5] < 0.6 * cuts[10**9]
    for (upper, lower), (other_upper, other_lower) in zip(*objectives.values(), strict=True):
        assert lower <= other_upper  # each bound lies below what the other one has found
        assert other_lower <= upper


def test_a_track_that_gets_no_further_is_given_up():
    X, y = make(100, 3, seed=5)
    lockstep = Lockstep(class_risks(Rows.of(X), y, None, "hinge"), 1, BundleOptions(patience=2))
    lockstep.restart(np.full((1, 2), 1e12))
    (track,) = lockstep.run(1e-15, 10_000)
    assert track.status.ended is Ended.TROUBLE
    assert track.status in (bundle.STUCK, bundle.STEEP)
    assert np.isfinite(track.w).all()
