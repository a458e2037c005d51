"""A signal ends every linear solver at once, and what its handler raised arrives as it was raised."""

import signal
import time

import numpy as np
import pytest

from steelyard.solvers.linear.cost_sensitive import solve_grid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150_000, 40)) * np.logspace(-2, 2, 40)
Y = np.where(X[:, 20] + X[:, 10] + RNG.normal(size=len(X)) > 0.5, 1.0, -1.0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals by timer are POSIX")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("solver", ["coordinate", "newton", "bundle", "coordinate_first"])
def test_a_signal_is_heard(solver, n_jobs):
    def alarm(number, frame):
        raise TimeoutError("time is up")

    before = signal.signal(signal.SIGALRM, alarm)
    start = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(TimeoutError, match="time is up"):
            solve_grid(
                X, Y, [(1.5, 0.5), (1.0, 1.0)], np.logspace(0, 4, 40), 1e-12, loss="logistic", solver=solver, n_jobs=n_jobs,
                max_passes=1e9,
            )  # fmt: skip
        heard = time.perf_counter() - start - 0.2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert heard < 2.0  # 0.1 s on a quiet machine; a pass over all of it takes longer than this allows
