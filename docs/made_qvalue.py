"""The tables of the q-value page, from ``benchmarks/results/qvalue.json``."""

import numpy as np
from made_tables import markdown

LOOP = "Percolator loop"


def qvalue_table(found):
    rates = [str(rate) for rate in found["rates"]]
    parts = [_table(name, case, rates) for name, case in found["tables"].items()]
    return "\n\n".join([_summary(found["tables"], rates), *parts])


def _counts(case, contender, rate):
    """Of the deals that were measured."""
    deals = [seed[contender] for seed in case["seeds"].values() if contender in seed]
    return np.array([deal["accepted"][rate] for deal in deals], dtype=float)


def _table(name, case, rates):
    contenders = list(dict.fromkeys(name for seed in case["seeds"].values() for name in seed))
    best = {rate: max(_counts(case, c, rate).mean() for c in contenders) for rate in rates}
    rows = []
    for contender in contenders:
        cells = []
        for rate in rates:
            counts = _counts(case, contender, rate)
            text = f"{counts.mean():,.0f} ({counts.min():,.0f} to {counts.max():,.0f})"
            cells.append(f"**{text}**" if counts.mean() == best[rate] else text)
        deals = [seed[contender] for seed in case["seeds"].values() if contender in seed]
        rows.append((contender, *cells, f"{np.median([deal['fit_s'] for deal in deals]):.2f} s", len(deals)))
    size = f"**{name}**: {case['targets']:,} targets, {case['decoys']:,} decoys; mean (range) over the deals"
    return size + "\n\n" + markdown(("accepted at q <=", *rates, "CPU time of a fit", "deals"), rows)


def _summary(tables, rates):
    """Our classifier over the loop, in percent of accepted targets, on the deals that both were measured on."""
    rows = []
    for name, case in tables.items():
        for label, contender in (("linear", "QValueClassifier"), ("rbf", "QValueClassifier, rbf")):
            both = {"seeds": {k: seed for k, seed in case["seeds"].items() if contender in seed and LOOP in seed}}
            if not both["seeds"]:
                continue
            cells = []
            for rate in rates:
                ours, loop = _counts(both, contender, rate).mean(), _counts(both, LOOP, rate).mean()
                cells.append(f"{100 * (ours / loop - 1):+.1f} %" if loop else "the loop finds none")
            rows.append((name, label, *cells, len(both["seeds"])))
    header = ("", "", *(f"q <= {rate}" for rate in rates), "deals")
    return "Against the Percolator loop:\n\n" + markdown(header, rows)
