"""Ctrl-C ends every long call within 0.3 s and leaves the estimator as it was; what a handler raises arrives as it was.

Real signals to real processes; `long_calls.py` has the table of calls. Exact figures are benchmarks/interrupts.py's:
here the best of a few tries counts, since other work on the machine may hold any one of them up.
"""

import signal

import pytest

from faults.interrupts import CASES, Child

SECONDS = 0.3
TRIES = 3
QUICK = ("OnlineClassifier", "CostPath, exact", "CostPath.predict_proba")


def check(name, moments):
    """A SIGINT at each moment of the call, and a SIGALRM whose handler raises TimeoutError at the first."""
    wanted = [(after, signal.SIGINT, "KeyboardInterrupt", "") for after in moments]
    wanted.append((moments[0], signal.SIGALRM, "TimeoutError", "said by the handler"))
    with Child(name) as child:
        for after, number, raised, said in wanted:
            heard = [child.interrupt(after, number)]
            while len(heard) < TRIES and child.alive and (heard[-1].seconds or 0.0) > SECONDS:
                heard.append(child.interrupt(after, number))
            assert not heard[-1].trouble, heard[-1].trouble
            assert all((one.raised, one.said) == (raised, said) for one in heard)
            assert all(one.unchanged for one in heard), "the estimator is not as it was before the call"
            assert min(one.seconds for one in heard) <= SECONDS


@pytest.mark.parametrize("name", QUICK)
def test_ctrl_c_is_heard_at_once_and_changes_nothing(name):
    check(name, (0.3,))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_long_call_is_left_at_once_and_changes_nothing(name):
    check(name, (0.3, 1.5))
