"""Grids of cost-sensitive problems on tensors: certified, and the optimum that rows in memory have."""

import importlib.util
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification

torch = pytest.importorskip("torch", reason="rows in tensors need torch (pip install steelyard[torch])")

from steelyard.elsewhere import newton  # noqa: E402
from steelyard.elsewhere.line_search import flat_point  # noqa: E402
from steelyard.elsewhere.models import Models  # noqa: E402
from steelyard.solvers.linear import cost_sensitive  # noqa: E402
from steelyard.solvers.linear.bundle import class_risks  # noqa: E402
from steelyard.tensors import passes  # noqa: E402
from steelyard.tensors.class_risks import TensorClassRisks  # noqa: E402
from steelyard.tensors.rows import SignedRows, TensorRows  # noqa: E402

PAIRS, CS = [(1.8, 0.2), (1.0, 1.0), (0.4, 1.6)], [0.1, 0.001, 0.01]


def data(n=3000, d=8, dtype=np.float64, seed=0):
    X, y = make_classification(n, d, weights=[0.8], flip_y=0.05, random_state=seed)
    return np.c_[X, np.ones(n)].astype(dtype), 2.0 * y - 1.0


def agree(on_tensor, in_memory, tol):
    """Both certified, so that objectives differ by no more than the gaps."""
    for one, other in zip(on_tensor, in_memory, strict=True):
        assert (one.c_pos, one.c_neg, one.C) == (other.c_pos, other.c_neg, other.C)
        assert one.gap <= tol
        assert one.converged
        assert abs(one.objective / other.objective - 1) <= 2.5 * tol


@pytest.mark.parametrize("solver", ["auto", "bundle"])
@pytest.mark.parametrize("loss", cost_sensitive.LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_grid_is_that_of_rows_in_memory(solver, loss, dtype):
    X, y = data(dtype=dtype)
    here = cost_sensitive.solve_grid(X, y, PAIRS, CS, loss=loss)
    there = cost_sensitive.solve_grid(torch.from_numpy(X), torch.from_numpy(y), PAIRS, CS, loss=loss, solver=solver)
    agree(there, here, 1e-3)
    assert {one.solver for one in there} == {"newton" if solver == "auto" else "bundle"}


@pytest.mark.parametrize("loss", cost_sensitive.LOSSES)
def test_a_sample_stands_for_all_rows(loss, monkeypatch):
    """What the sample has wrong is put right: the certificate is of all rows."""
    monkeypatch.setattr(newton, "ROUNDS", replace(newton.ROUNDS, sample=500, a_column=1))
    X, y = data(20_000)
    here = cost_sensitive.solve_grid(X, y, PAIRS, CS, loss=loss)
    there = cost_sensitive.solve_grid(torch.from_numpy(X), y, PAIRS, CS, loss=loss)
    agree(there, here, 1e-3)


def test_objective_and_gap_are_true():
    """By hand, in double, from w alone: the objective; and no other w seen is below what the gap allows."""
    X, y = data(dtype=np.float32)
    exact = cost_sensitive.solve_grid(X, y, PAIRS, CS, tol=1e-6)
    for one, other in zip(cost_sensitive.solve_grid(torch.from_numpy(X), y, PAIRS, CS), exact, strict=True):
        cost = one.C * np.where(y > 0, one.c_pos, one.c_neg)
        objective = 0.5 * one.w @ one.w + cost @ np.maximum(0.0, 1.0 - y * (X.astype(np.float64) @ one.w))
        assert abs(one.objective / objective - 1) < 1e-6
        assert other.objective >= one.objective * (1 - one.gap) * (1 - 1e-6)


@pytest.mark.parametrize("solver", ["newton", "bundle"])
def test_weights_count_as_rows(solver):
    X, y = data(1000)
    weight = np.random.default_rng(0).integers(0, 4, 1000)
    twice = np.repeat(np.arange(1000), weight)
    one = cost_sensitive.solve(torch.from_numpy(X), y, C=0.1, solver=solver, sample_weight=weight, tol=1e-4)
    other = cost_sensitive.solve(X[twice], y[twice], C=0.1, tol=1e-4)
    assert abs(one.objective / other.objective - 1) <= 2e-4


def test_coordinate_descent_is_refused():
    X, y = data(100)
    with pytest.raises(ValueError, match="from row to row"):
        cost_sensitive.solve(torch.from_numpy(X), y, solver="coordinate")


def test_one_class_and_costs_too_large():
    X, y = data(200)
    alone = cost_sensitive.solve(torch.from_numpy(X), np.ones(200), C=0.1)
    assert alone.converged
    with np.errstate(over="ignore"):
        over = cost_sensitive.solve(torch.from_numpy(X), y, C=1e308)
    assert not over.converged
    assert over.gap == np.inf


def test_passes_that_run_out_are_told():
    X, y = data(2000)
    short = cost_sensitive.solve(torch.from_numpy(X), y, C=10.0, tol=1e-6, max_passes=1)
    assert not short.converged
    assert short.gap > 1e-6


def test_class_risks_are_those_in_memory():
    X, y = data(500)
    rows = TensorRows.of(torch.from_numpy(X))
    from steelyard.rows import Rows

    rng = np.random.default_rng(0)
    for loss in cost_sensitive.LOSSES:
        here = class_risks(Rows.of(X), y, None, loss)
        there = TensorClassRisks(SignedRows.of(rows, y), loss)
        tracks, W = np.array([0, 2]), rng.normal(size=(2, X.shape[1]))
        caps, wp, pp = np.array([[0.5, 1.0], [0.2, 0.1]]), np.zeros(2), (W**2).sum(1)
        found = []
        for risks in (here, there):
            risks.begin(3)
            risks.look(tracks, W)
            at = risks.risks(tracks, np.array([0.3, 1.0]))
            step = risks.search(tracks, caps, wp, pp)
            moved = risks.move(tracks, np.array([0.4, 0.2]), np.array([0.5, 0.9]))
            found.append((at, step, moved, *risks.cut(tracks)))
        for name, one, other in zip(("risks", "search", "move", "g", "h"), *found, strict=True):
            tol = 0.1 if name == "search" else 1e-9  # the step is where little slope is left
            np.testing.assert_allclose(other, one, rtol=tol, atol=tol, err_msg=f"{loss} {name}")


def test_flat_points_of_steep_and_level_slopes():
    roots = np.array([1e-4, 0.3, 1.0, 7.0, 2000.0])
    found = flat_point(lambda t: np.expm1(np.minimum(t - roots, 50.0)), np.expm1(-roots), 1e-3)
    np.testing.assert_allclose(found, roots, rtol=0.3)
    assert flat_point(lambda t: t + 1.0, np.array([1.0]), 0.1).tolist() == [0.0]


KERNEL = """
import numpy as np, torch
from steelyard.elsewhere.models import Models
from steelyard.tensors import kernels, passes
from steelyard.tensors.rows import SignedRows, TensorRows
rng = np.random.default_rng(0)
kernels.BLOCK, kernels.LOOPS = 64, 4
for n, d, constant, weighted in ((1000, 5, 0.0, False), (700, 54, 1.5, True)):
    y, weight = np.where(rng.random(n) < 0.3, 1, -1), rng.random(n) if weighted else None
    rows = TensorRows.of(torch.from_numpy(rng.normal(size=(n, d)).astype("f4"))).with_constant(constant)
    data, k = SignedRows.of(rows, y, weight), 18
    models = Models(rng.normal(size=(k, rows.n_cols)), rng.uniform(0.2, 2, (k, 2)), rng.uniform(0.05, 0.5, k))
    for loss in ("hinge", "squared_hinge", "logistic"):
        plain = passes.read(data, loss, models)
        fused = kernels.read(data, loss, models.w, models.costs, models.mu)
        for one, other in zip((plain.risk, plain.dual, plain.v), fused, strict=True):
            assert one.shape == other.shape
            assert np.abs(one - other).max() <= 1e-5 * np.abs(one).max(), (loss, one, other)
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="the fused kernel needs triton")
def test_the_fused_kernel_by_the_interpreter(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    subprocess.run([sys.executable, "-c", KERNEL], check=True)


def test_a_pass_is_a_certificate_at_every_C():
    X, y = data(400)
    signed = SignedRows.of(TensorRows.of(torch.from_numpy(X)), y)
    rng = np.random.default_rng(0)
    models = Models(0.1 * rng.normal(size=(4, X.shape[1])), rng.uniform(0.5, 1.5, (4, 2)), np.full(4, 0.2))
    reading = passes.read(signed, "hinge", models)
    for C in (1e-3, 1e-1):
        best = cost_sensitive.solve_grid(X, y, models.costs[:, ::-1], [C], tol=1e-6)
        for k, one in enumerate(best):
            assert reading.dual_at(C)[k] <= one.objective <= reading.primal_at(models, C)[k] * (1 + 1e-6)


def test_a_class_that_is_given_up_is_certified_in_float32():
    """All negatives lie at the margin then, where float32 margins are too coarse; slacks are not."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(20_000) < 0.2, 1, -1)
    X = (rng.normal(size=(20_000, 6)) + 0.3 * (y[:, None] > 0)).astype(np.float32)
    rows = TensorRows.of(torch.from_numpy(X)).with_constant(1.0)
    found = cost_sensitive.solve_grid(rows, y, [(0.2, 1.8)], [1.0, 2.5e4])
    assert max(one.gap for one in found) <= 1e-3


def test_what_passes_prove_is_joined():
    one, other = newton.Proof(1.0, np.array([1.0, 1.0])), newton.Proof(1.0, np.array([1.0, -1.0]))
    joined = one.joined(other, 1.0)
    assert joined.value(1.0) == pytest.approx(0.5)  # the errors of v cancel
    assert joined.value(1.0) > max(one.value(1.0), other.value(1.0))
    assert one.joined(one, 1.0).value(1.0) == one.value(1.0)


def test_products_have_all_digits_whatever_was_set():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        TensorRows.of(torch.ones((3, 2))).scores([1.0, 1.0])
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
