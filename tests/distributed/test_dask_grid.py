"""Cost-sensitive problems on the partitions of a Dask array: the same solutions as in memory, whatever the partitions."""

import numpy as np
import pytest
import scipy.sparse as sp

da = pytest.importorskip("dask.array", reason='rows in partitions need Dask (pip install "steelyard[dask]")')

from steelyard.distributed import rows as dask_rows  # noqa: E402
from steelyard.distributed.rounds import FAN, Rounds, add  # noqa: E402
from steelyard.distributed.table import Table, signed  # noqa: E402
from steelyard.elsewhere.part import Fold, Part, hashes  # noqa: E402
from steelyard.rows import Rows  # noqa: E402
from steelyard.solvers.linear import cost_sensitive  # noqa: E402
from steelyard.solvers.linear.bundle import class_risks  # noqa: E402

PAIRS, CS = [(1.8, 0.2), (1.0, 1.0)], [0.1, 0.01]


def some_rows(n=2000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 1.0, 1, -1)


def in_parts(X, y, chunks=450):
    return da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=chunks)


def asked_of(monkeypatch):
    """The names of what partitions are asked from now on."""
    asked, ask = [], Rounds.ask
    monkeypatch.setattr(
        Rounds, "ask", lambda self, f, *given, **how: (asked.append(f.__name__), ask(self, f, *given, **how))[1]
    )
    return asked


def objectives(found):
    return np.array([one.objective for one in found])


@pytest.mark.parametrize("loss", cost_sensitive.LOSSES)
def test_a_grid_is_that_of_memory(loss):
    X, y = some_rows()
    mine = cost_sensitive.solve_grid(X, y, PAIRS, CS, tol=1e-9, loss=loss)
    theirs = cost_sensitive.solve_grid(*in_parts(X, y), PAIRS, CS, tol=1e-9, loss=loss)
    assert all(one.converged for one in theirs)
    np.testing.assert_allclose(objectives(theirs), objectives(mine), rtol=2e-9)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(b.w, a.w, atol=1e-3 * np.abs(a.w).max())


@pytest.mark.parametrize("loss", cost_sensitive.LOSSES)
def test_a_small_sample_and_then_all_rows_where_they_are(loss, monkeypatch):
    """The sample stands for all; where it is not enough Newton is one of sums over partitions."""
    for name, value in {"SAMPLE": 150, "A_COLUMN": 1}.items():
        monkeypatch.setattr(dask_rows, name, value)
    asked = asked_of(monkeypatch)
    X, y = some_rows()
    tol = 1e-5 if loss == "hinge" else 1e-7  # the last digits of a hinge take many steps
    mine = cost_sensitive.solve_grid(X, y, PAIRS, CS, tol=tol, loss=loss)
    theirs = cost_sensitive.solve_grid(*in_parts(X, y), PAIRS, CS, tol=tol, loss=loss)
    assert all(one.gap <= tol for one in theirs)
    np.testing.assert_allclose(objectives(theirs), objectives(mine), rtol=2.0 * tol)
    assert "ray_hessian" in asked


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_are_those_of_memory_to_the_last_digits(loss, weighted):
    """The gap alone leaves the fifth digit open; a last Newton step on all rows does not."""
    X, y = some_rows()
    weight = np.random.default_rng(1).random(len(y)) if weighted else None
    beside = None if weight is None else da.from_array(weight, chunks=450)
    mine = cost_sensitive.solve_grid(X, y, PAIRS, CS, tol=1e-8, loss=loss, sample_weight=weight)
    theirs = cost_sensitive.solve_grid(*in_parts(X, y), PAIRS, CS, tol=1e-8, loss=loss, sample_weight=beside)
    for a, b in zip(mine, theirs, strict=True):
        assert a.gap <= 1e-8
        assert b.gap <= 1e-8
        np.testing.assert_allclose(b.w, a.w, atol=1e-8 * np.abs(a.w).max(), rtol=0.0)


@pytest.mark.parametrize("loss", cost_sensitive.LOSSES)
def test_a_fit_that_starts_at_its_solution_takes_a_pass(loss, monkeypatch):
    monkeypatch.setattr(dask_rows, "SAMPLE", 1500)
    X, y = some_rows()
    near = cost_sensitive.solve(X, y, C=0.1, tol=1e-9, loss=loss).w[None]
    asked = asked_of(monkeypatch)
    cold = cost_sensitive.solve(*in_parts(X, y), C=0.1, tol=1e-3, loss=loss)
    passes = asked.count("read")
    asked.clear()
    warm = cost_sensitive.solve(*in_parts(X, y), C=0.1, tol=1e-3, loss=loss, start=near)
    assert warm.gap <= 1e-3
    assert cold.gap <= 1e-3
    assert asked.count("read") == 1 if loss != "hinge" else asked.count("read") < passes  # that of the hinge is rounded
    assert set(asked) == {"drawn", "read"}


def test_weights_sparse_float32_and_uneven_partitions():
    X, y = some_rows()
    X = np.where(np.abs(X) > 1.0, X, 0.0).astype(np.float32)
    weight = np.random.default_rng(1).random(len(y))
    chunks = ((1, 700, 299, 1000), (6,))
    dX, dy, dw = da.from_array(X, chunks=chunks), da.from_array(y, chunks=500), da.from_array(weight, chunks=999)
    mine = cost_sensitive.solve(X, y, tol=1e-8, sample_weight=weight, loss="logistic")
    for blocks in (dX, dX.map_blocks(sp.csr_matrix)):
        theirs = cost_sensitive.solve(blocks, dy, tol=1e-8, sample_weight=dw, loss="logistic")
        np.testing.assert_allclose(theirs.w, mine.w, atol=1e-4 * np.abs(mine.w).max())


def test_empty_partitions_one_class_and_unknown_lengths():
    X, y = some_rows()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]  # partitions of one class each
    dX, dy = in_parts(X, y)
    mine = cost_sensitive.solve(X, y, tol=1e-8, loss="squared_hinge")
    keep = da.from_array((np.arange(len(y)) // 450 != 1), chunks=450)  # the second one is empty, and nobody knows
    theirs = cost_sensitive.solve(dX[keep], dy[keep], tol=1e-8, loss="squared_hinge")
    kept = np.arange(len(y)) // 450 != 1
    also = cost_sensitive.solve(X[kept], y[kept], tol=1e-8, loss="squared_hinge")
    np.testing.assert_allclose(theirs.w, also.w, atol=1e-4 * np.abs(also.w).max())
    whole = cost_sensitive.solve(dX, dy, tol=1e-8, loss="squared_hinge")
    np.testing.assert_allclose(whole.w, mine.w, atol=1e-4 * np.abs(mine.w).max())


@pytest.mark.parametrize("loss", cost_sensitive.LOSSES)
def test_what_the_bundle_asks_is_answered_as_in_memory(loss):
    X, y = some_rows(500)
    rng = np.random.default_rng(3)
    mine, theirs = class_risks(Rows.of(X), y.astype(float), None, loss), signed(*in_parts(X, y, 120)).class_risks(loss)
    tracks, W = np.arange(2), rng.normal(size=(2, 6))
    caps = np.array([[0.02, 0.1], [0.3, 0.05]])
    for risks in (mine, theirs):
        risks.begin(2)
    w = np.zeros((2, 6))
    for _ in range(3):
        p = W - w
        wp, pp = np.einsum("kj,kj->k", w, p), np.einsum("kj,kj->k", p, p)
        found = []
        for risks in (mine, theirs):
            risks.look(tracks, W)
            found.append(np.asarray(risks.search(tracks, caps, wp, pp)))
        np.testing.assert_allclose(found[1], found[0], rtol=1e-9 if loss == "hinge" else 0.02, atol=1e-12)
        step = found[0]
        both = [np.asarray(risks.move(tracks, step, step + 0.1 * (1.0 - step))) for risks in (mine, theirs)]
        np.testing.assert_allclose(both[1], both[0], rtol=1e-10)
        for a, b in zip(*(risks.cut(tracks) for risks in (mine, theirs)), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)
        w, W = w + step[:, None] * p, rng.normal(size=(2, 6))


def test_the_bundle_on_partitions():
    X, y = some_rows(800)
    mine = cost_sensitive.solve_grid(X, y, PAIRS, [0.01], tol=1e-3, solver="bundle")
    theirs = cost_sensitive.solve_grid(*in_parts(X, y), PAIRS, [0.01], tol=1e-3, solver="bundle")
    assert [one.solver for one in theirs] == ["bundle"] * 2
    assert all(one.gap <= 1e-3 for one in theirs)
    np.testing.assert_allclose(objectives(theirs), objectives(mine), rtol=2e-3)


def test_solvers_that_go_from_row_to_row_are_refused():
    with pytest.raises(ValueError, match="goes from row to row"):
        cost_sensitive.solve(*in_parts(*some_rows(100)), solver="coordinate")


# -- what is wrong is named by its partition --------------------------------------------------------------------------
def test_faults_name_the_partition():
    X, y = some_rows()
    bad = X.copy()
    bad[1000, 2] = np.nan  # in partition 2 of 450 rows
    with pytest.raises(ValueError, match="partition 2: Input X contains NaN: row 100, column 2"):
        cost_sensitive.solve(*in_parts(bad, y))
    with pytest.raises(ValueError, match="y must be -1 or 1"):
        cost_sensitive.solve(*in_parts(X, y + 1))
    with pytest.raises(ValueError, match="y has 1999 entries; X has 2000 rows"):
        cost_sensitive.solve(*in_parts(X, y)[:1], da.from_array(y[:-1], chunks=450))
    unknown = in_parts(X, y)[0]
    unknown = unknown[da.from_array(np.ones(len(y), dtype=bool), chunks=450)]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        cost_sensitive.solve(unknown, y)
    with pytest.raises(ValueError, match="y has 3 partitions and X has 5"):
        cost_sensitive.solve(unknown, da.from_array(y, chunks=700))
    shorter = da.from_array(y, chunks=450)
    shorter = shorter[da.from_array(np.arange(len(y)) != 950, chunks=450)]
    with pytest.raises(ValueError, match="partition 2: it has 450 rows in X and 449 labels"):
        cost_sensitive.solve(unknown, shorter)
    weight = np.ones(len(y))
    weight[10] = -1.0
    with pytest.raises(ValueError, match="partition 0: sample_weight must be finite"):
        cost_sensitive.solve(*in_parts(X, y), sample_weight=da.from_array(weight, chunks=450))
    with pytest.raises(ValueError, match="all 1 partitions of X are empty"):
        Table(da.zeros((0, 3)), da.zeros(0))


def test_a_label_in_memory_beside_partitions():
    X, y = some_rows(500)
    both = [cost_sensitive.solve(in_parts(X, y)[0], labels, tol=1e-8) for labels in (y, in_parts(X, y)[1])]
    assert np.array_equal(both[0].w, both[1].w)


# -- the same bits ----------------------------------------------------------------------------------------------------
def test_folds_and_samples_go_by_partition_and_row():
    assert np.array_equal(hashes(1, 3, 10), hashes(1, 3, 100)[:10])
    assert len({int(h) for k in range(4) for h in hashes(0, k, 1000)}) == 4000
    fold, rest = Fold(5, 7), Fold(5, 7, out=True)
    inside = fold.holds(2, 100_000)
    assert np.array_equal(inside, ~rest.holds(2, 100_000))
    assert abs(inside.mean() - 0.2) < 0.005


def test_sums_do_not_depend_on_who_adds_them():
    """In the order of partitions, up a tree: a fit on one thread has the bits of one on many."""
    import dask

    X, y = some_rows(60 * FAN)
    dX, dy = in_parts(X, y, 17)  # 57 partitions: two levels
    with dask.config.set(scheduler="synchronous"):
        one = cost_sensitive.solve(dX, dy, tol=1e-6)
    with dask.config.set(scheduler="threads", num_workers=4):
        many = cost_sensitive.solve(dX, dy, tol=1e-6)
    assert np.array_equal(one.w, many.w)


def test_adding_up():
    assert add([(1, 2.0), (3, 4.0)]) == (4, 6.0)
    assert add([[1], [2]]) == [1, 2]


def test_a_part_of_some_rows_is_all_that_its_blocks_are():
    X, y = some_rows(20_000)
    part = Part(Rows.of(X).with_constant(2.0), y.astype(np.int8), None, 0)
    assert sum(block.n for block in part.blocks()) == 20_000
    W = np.random.default_rng(0).normal(size=(3, 7))
    np.testing.assert_array_equal(np.concatenate([block.slacks(W) for block in part.blocks()], axis=1), part.slacks(W))
