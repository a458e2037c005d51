"""What tests of every layer share."""

import signal

import pytest


@pytest.fixture
def interrupts():
    """Ctrl-C raises KeyboardInterrupt, also where the tests were started with SIGINT ignored, as in a background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
