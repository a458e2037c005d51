"""What benchmarks share: interleaved timing, a description of the machine, and JSON results.

Machines are shared and noisy, so contenders run in turns in one process and the best time of each counts; the claims
are ratios. A benchmark writes ``benchmarks/results/NAME.json``; the tables in the docs are made from these files.
"""

import json
import os
import platform
import time
from pathlib import Path

import numpy as np
import scipy
import sklearn

import steelyard

QUICK = bool(os.environ.get("STEELYARD_QUICK"))  # set by ``python -m benchmarks --quick``
RESULTS = Path(__file__).parent / "results" / ("quick" if QUICK else "")
FEW = 2_000  # rows of a data set in a quick run


def interleaved(jobs, repeats=5, clock=time.perf_counter):
    """The best time of each job in seconds, run in turns so that noise hits all alike; with `time.thread_time` as the
    clock those of the processor, which other work changes little."""
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(repeats):
        for name, job in jobs.items():
            start = clock()
            job()
            best[name] = min(best[name], clock() - start)
    return best


def machine():
    model = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine()
    )
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "steelyard": steelyard.__version__,
    }


def _cpuinfo():
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


def write(name, figures, show=True):
    RESULTS.mkdir(exist_ok=True, parents=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **figures}, indent=1) + "\n")
    if show:
        print(json.dumps(figures, indent=1))
        print(f"written: {path}")


def data_folder():
    """Where the shared data sets are, from STEELYARD_DATA; a benchmark that needs them stops with a reason."""
    folder = os.environ.get("STEELYARD_DATA")
    if not folder:
        raise SystemExit("set STEELYARD_DATA to the folder with the data sets (npz files); this benchmark needs them")
    return Path(folder)
