"""Rows in tensors: on a CPU here, which is the same code as on a GPU but for the fused kernel."""

import pytest

torch = pytest.importorskip("torch", reason="rows in tensors need torch (pip install steelyard[torch])")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)
