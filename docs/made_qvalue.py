"""The tables of the q-value page, from ``benchmarks/results/qvalue.json``, and the output of its example."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from made_tables import markdown

EXAMPLE = Path(__file__).parent.parent / "examples" / "false_discoveries.py"
LOOP = "Percolator loop"


def example(folder):
    run = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True)
    (folder / "false_discoveries.txt").write_text(run.stdout)


def qvalue_table(found):
    rates = [str(rate) for rate in found["rates"]]
    parts = [_table(name, case, rates) for name, case in found["tables"].items()]
    return "\n\n".join([_summary(found["tables"], rates), *parts])


def _counts(case, contender, rate):
    return np.array([seed["contenders"][contender]["accepted"][rate] for seed in case["seeds"].values()], dtype=float)


def _table(name, case, rates):
    contenders = list(next(iter(case["seeds"].values()))["contenders"])
    best = {rate: max(_counts(case, c, rate).mean() for c in contenders) for rate in rates}
    rows = []
    for contender in contenders:
        cells = []
        for rate in rates:
            counts = _counts(case, contender, rate)
            text = f"{counts.mean():,.0f} ({counts.min():,.0f} to {counts.max():,.0f})"
            cells.append(f"**{text}**" if counts.mean() == best[rate] else text)
        seconds = np.median([seed["contenders"][contender]["fit_s"] for seed in case["seeds"].values()])
        rows.append((contender, *cells, f"{seconds:.2f} s"))
    n = len(case["seeds"])
    title = (
        f"**{name}**: {case['targets']:,} targets, {case['decoys']:,} decoys; mean (range) over {n} deal{'s' * (n > 1)}"
    )
    return title + "\n\n" + markdown(("accepted at q <=", *rates, "CPU time of a fit"), rows)


def _summary(tables, rates):
    """Our classifier over the loop, in percent of accepted targets."""
    rows = []
    for name, case in tables.items():
        for label, contender in (("linear", "QValueClassifier"), ("rbf", "QValueClassifier, rbf")):
            cells = []
            for rate in rates:
                ours, loop = _counts(case, contender, rate).mean(), _counts(case, LOOP, rate).mean()
                cells.append(f"{100 * (ours / loop - 1):+.1f} %" if loop else "the loop finds none")
            rows.append((name, label, *cells))
    return "Against the Percolator loop:\n\n" + markdown(("", "", *(f"q <= {rate}" for rate in rates)), rows)
