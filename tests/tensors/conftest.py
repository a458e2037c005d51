"""Rows in tensors: on a CPU here, which is the same code as on a GPU but for the fused kernel."""

import sys

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
