"""Every test here has a limit in time: what hangs is an error, not a wait."""

import faulthandler
import signal

import pytest

LIMIT = 120  # seconds: the slowest takes a fifth of it on a busy machine


def _too_long(*_):
    raise TimeoutError(f"more than {LIMIT} seconds: it hangs")


@pytest.fixture(autouse=True)
def a_limit_in_time():
    """First an error in the test; where that is not heard, the end of the process with a traceback of all threads."""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LIMIT)
    faulthandler.dump_traceback_later(LIMIT + 60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
