"""Seconds from a signal to its exception, for every long call of the library; real signals to real processes.

Each call of `tests/faults/long_calls.py` gets SIGINT at several moments and SIGALRM, whose handler raises TimeoutError,
at one. Claim: at most 0.3 s each time, what was raised arrives as it was, and the estimator is as it was before the
call.

    python benchmarks/interrupts.py [calls whose names contain this]
"""

import json
import signal
import sys
from pathlib import Path

from _run import RESULTS, write

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from faults.interrupts import CASES, tries

MOMENTS = (0.1, 0.4, 0.8, 1.5, 3.0)  # seconds into the call: reading the data, the first loops, the later ones
LIMIT = 0.3


def measure(name):
    by_signal = {"KeyboardInterrupt": tries(name, MOMENTS), "TimeoutError": tries(name, (0.6,), signal.SIGALRM)}
    all_tries = [(raised, one) for raised, some in by_signal.items() for one in some]
    heard = [(raised, one) for raised, one in all_tries if one.seconds is not None]
    return {
        "seconds": [round(one.seconds, 3) for _, one in heard],
        "worst_s": max((one.seconds for _, one in heard), default=None),
        "as_raised": all(one.raised == raised for raised, one in heard),
        "unchanged": all(one.unchanged for _, one in heard),
        "trouble": sorted({one.trouble for _, one in all_tries if one.trouble}),
    }


def main(words):
    path = RESULTS / "interrupts.json"
    calls = json.loads(path.read_text())["calls"] if path.exists() else {}
    for name in CASES:
        if all(word in name for word in words):
            calls[name] = measure(name)
            print(f"{name:55s}", calls[name], flush=True)
            calls = {name: calls[name] for name in CASES if name in calls}  # those that are gone are not shown
            write("interrupts", {"limit_s": LIMIT, "moments_s": MOMENTS, "calls": calls}, show=False)


if __name__ == "__main__":
    main(sys.argv[1:])
