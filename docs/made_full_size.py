"""Tables of the search at full size, from ``benchmarks/results/{full_size_*,threshold_transfer}.json``."""

import numpy as np
from made_tables import markdown


def speed(found):
    rows = []
    for name, one in found["sets"].items():
        single, own = one["1"], one.get("default")
        rows.append((
            f"{name} ({single['rows']:,} x {single['columns']})", f"{single['cpu']['ours']:.2f} s",
            f"{single['cpu']['logistic']:.2f} s", f"**{single['cpu_ratio']:.2f}**", f"{single['cpu']['stream']:.3f} s",
            f"{own['ratio']:.2f}" if own else "",
        ))  # fmt: skip
    header = (
        "set (rows to train on)", "MeasureClassifier", "tuned logistic regression", "ratio", "OnlineClassifier",
        "ratio by the wall clock, BLAS with its own threads",
    )  # fmt: skip
    if not any("default" in one for one in found["sets"].values()):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return markdown(header, rows)


def quality(found):
    rows = found["rows"]
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    cell = {(row["set"], row["measure"]): row for row in rows}

    def show(row):
        text = f"{100 * row['difference']:+.2f} ± {100 * row['error']:.2f}"
        return f"**{text}**" if row["significant"] else text

    sets = list(dict.fromkeys(row["set"] for row in rows))
    body = [(name, *(show(cell[name, measure]) for measure in measures)) for name in sets]
    wins = sum(row["significant"] and row["difference"] > 0 for row in rows)
    losses = sum(row["significant"] and row["difference"] < 0 for row in rows)
    visible = 100 * float(np.median([row["visible"] for row in rows]))
    ahead = sum(row["difference"] > 0 for row in rows)
    summary = (
        f"{len(rows)} comparisons: ahead in {ahead}; significant after correction: **{wins} wins, {losses} losses** "
        f"(bold). In half of the cells a difference of {visible:.2f} points would have been seen, before correction."
    )
    return markdown(("set", *measures), body) + "\n\n" + summary


def growth(found):
    rows = [(f"{int(n):,}", f"{seconds:.1f} s") for n, seconds in found["seconds"].items()]
    return markdown(("rows", "MeasureClassifier"), rows) + f"\n\nExponent: {found['exponent']:.2f}."


def transfer(found):
    ways = list(next(iter(next(iter(found["sets"].values())).values())))
    body = [
        (f"{name}, {label}", *(f"{values[way]:.3f}" for way in ways))
        for name, labels in found["sets"].items()
        for label, values in labels.items()
    ]
    means = {way: np.mean([v[way] for labels in found["sets"].values() for v in labels.values()]) for way in ways}
    body.append(("*mean*", *(f"{means[way]:.3f}" for way in ways)))
    return markdown(("", *ways), body)
