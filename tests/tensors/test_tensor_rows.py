"""A tensor answers what rows in memory answer, operation by operation."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="rows in tensors need torch (pip install steelyard[torch])")

from steelyard.elsewhere import is_elsewhere, is_tensor  # noqa: E402
from steelyard.rows import Rows  # noqa: E402
from steelyard.tensors import rows as tensor_rows  # noqa: E402
from steelyard.tensors.rows import SignedRows, TensorRows  # noqa: E402


def both(n=1000, d=7, constant=1.5, dtype=np.float32, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)
    return Rows.of(X).with_constant(constant), TensorRows.of(torch.from_numpy(X)).with_constant(constant)


@pytest.mark.parametrize("constant", [0.0, 1.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operations_equal_those_in_memory(constant, dtype, monkeypatch):
    monkeypatch.setitem(tensor_rows.BLOCK, "cpu", 300)  # several blocks, the last one short
    memory, tensor = both(constant=constant, dtype=dtype)
    tol = 2e-5 if dtype == np.float32 else 1e-12
    close = {"rtol": tol, "atol": tol}
    rng = np.random.default_rng(1)
    assert tensor.shape == memory.shape
    for models in (rng.normal(size=tensor.n_cols), rng.normal(size=(3, tensor.n_cols))):
        np.testing.assert_allclose(tensor.scores(models).numpy(), memory.scores(models), **close)
    for coefficients in (rng.normal(size=1000), rng.normal(size=(3, 1000))):
        np.testing.assert_allclose(tensor.sums(coefficients), memory.sums(coefficients), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(tensor.squared_norms().numpy(), memory.squared_norms(), **close)
    assert tensor.scores(np.ones(tensor.n_cols)).dtype == (torch.float32 if dtype == np.float32 else torch.float64)


@pytest.mark.parametrize("which", [slice(3, 90, 4), np.array([5, 2, 2, 900]), np.arange(1000) % 3 == 0])
def test_taken_rows_are_those_in_memory(which):
    memory, tensor = both()
    w = np.arange(8.0)
    taken = memory.take(which).scores(w)
    np.testing.assert_allclose(tensor.take(which).scores(w).numpy(), taken, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tensor.in_memory(which).scores(w), taken, rtol=1e-12)


def test_sums_of_float32_are_added_in_double(monkeypatch):
    monkeypatch.setitem(tensor_rows.BLOCK, "cpu", 1000)
    rows = TensorRows.of(torch.full((2_000_000, 1), 0.1))
    exact = 2_000_000 * float(np.float32(0.1))
    assert abs(rows.sums(np.ones(2_000_000))[0] / exact - 1) < 2e-5  # what a block of 1,000 loses; all at once 1e-2


@pytest.mark.parametrize(("bad", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_bad_number_is_found_and_named(bad, what):
    X = torch.zeros((50, 3))
    X[17, 2] = bad
    with pytest.raises(ValueError, match=f"{what}.*row 17, column 2"):
        TensorRows.of(X)


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match="two dimensions"):
        TensorRows.of(torch.zeros(3))
    with pytest.raises(TypeError, match="dense tensor"):
        TensorRows.of(torch.eye(3).to_sparse())
    rows = TensorRows.of(torch.zeros((3, 2)))
    for y, why in (([1, -1], "shape"), ([1, 0, -1], "-1 or 1")):
        with pytest.raises(ValueError, match=why):
            SignedRows.of(rows, y)
    for weight, why in (([1.0], "shape"), ([1.0, -1.0, 1.0], "not negative"), ([1.0, np.nan, 1.0], "finite")):
        with pytest.raises(ValueError, match=why):
            SignedRows.of(rows, [1, -1, 1], weight)


def test_kinds_of_numbers():
    assert TensorRows.of(torch.zeros((2, 2), dtype=torch.float16)).X.dtype == torch.float32
    assert TensorRows.of(torch.zeros((2, 2), dtype=torch.int64)).X.dtype == torch.float64
    assert TensorRows.of(torch.zeros((4, 3)).T).X.shape == (3, 4)
    assert is_tensor(torch.zeros(1))
    assert is_elsewhere(TensorRows.of(torch.zeros((2, 2))))
    assert not is_elsewhere(np.zeros((2, 2)))


def test_nobody_imports_torch_unasked():
    code = "import sys, steelyard, steelyard.solvers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
