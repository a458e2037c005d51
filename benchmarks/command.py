"""What `steelyard predict` takes on 10^5 and on 10^7 rows of a CSV: seconds, and the peak of its memory, which stays.

The file of 10^7 rows has some 400 MB. Memory is the resident set at its largest, as the system counts it.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from _run import write

ROWS = (100_000, 10_000_000)
BLOCK = 100_000


def table(path, rows, with_label):
    """Four columns of numbers, the same block again and again."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(BLOCK, 4))
    y = (X[:, 0] + rng.normal(size=BLOCK) > 1).astype(int)
    lines = [",".join(f"{v:.6f}" for v in x) + (f",{t}" if with_label else "") for x, t in zip(X, y, strict=True)]
    block = "\n".join(lines) + "\n"
    with open(path, "w") as file:
        file.write("a,b,c,d" + (",y" if with_label else "") + "\n")
        for _ in range(rows // BLOCK):
            file.write(block)


def run(*arguments):
    """Seconds and megabytes of one command."""
    start = time.perf_counter()
    job = subprocess.Popen([sys.executable, "-m", "steelyard", *map(str, arguments)], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(job.pid, 0)
    assert status == 0, arguments
    return time.perf_counter() - start, used.ru_maxrss / 1024


def main():
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table(folder / "train.csv", BLOCK, True)
        run("fit", folder / "train.csv", "--target", "y", "--model", "batch", "--out", folder / "m", "--quiet")
        for rows in ROWS:
            table(folder / "new.csv", rows, False)
            seconds, memory = run("predict", folder / "m", folder / "new.csv", "--out", folder / "labels.csv")
            found.append(
                {"rows": rows, "seconds": seconds, "peak_mb": memory, "mb": os.path.getsize(folder / "new.csv") / 1e6}
            )
    write("command", {"predict": found})


if __name__ == "__main__":
    main()
