"""What tests of every layer share."""

import os
import signal
import threading
import time

import pytest

# Before numpy is loaded, here and in the processes that tests start. Rows of tests are few: a second thread of the BLAS
# only waits for the first, and takes its core from it (five times the CPU seconds in scikit-learn's checks, beside other
# work). Threads of ours are `n_jobs`, and not touched by this.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


@pytest.fixture
def interrupts():
    """Ctrl-C raises KeyboardInterrupt, also where the tests were started with SIGINT ignored, as in a background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ctrl_c_after(interrupts):
    """``ctrl_c_after(seconds, task)``: seconds from a real SIGINT, so long after the start, to KeyboardInterrupt."""

    def heard(seconds, task):
        sent = []
        timer = threading.Timer(seconds, lambda: sent.append(time.monotonic()) or os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            task()
        return time.monotonic() - sent[0]

    return heard
