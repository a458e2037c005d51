"""The tables and the figure of the q-value page, from ``benchmarks/results/qvalue*.json``."""

import json

import numpy as np
from made_tables import markdown

LOOP = "Percolator loop"
OURS = {"linear": "QValueClassifier", "rbf": "QValueClassifier, rbf", "stochastic": "QValueClassifier, stochastic"}


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
        for label, contender in OURS.items():
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


def recipes_table(found):
    """How often each recipe was chosen, over tables, deals and folds."""
    rows = []
    for label, contender in OURS.items():
        for rate in map(str, found["rates"]):
            fits = [
                recipe for case in found["tables"].values() for seed in case["seeds"].values()
                for recipe in seed.get(contender, {}).get("recipes", {}).get(rate, [])
            ]  # fmt: skip
            if label != "stochastic" and fits:
                times = sorted(((fits.count(name), name) for name in set(fits)), reverse=True)
                rows.append((label, rate, ", ".join(f"{name} {count}" for count, name in times), len(fits)))
    return markdown(("", "q <=", "chosen", "fits"), rows)


def mokapot_table(found):
    rates, seeds = [str(rate) for rate in found["rates"]], found["seeds"].values()
    rows = []
    for model in next(iter(seeds)):
        counts = {rate: np.array([seed[model][rate] for seed in seeds if model in seed]) for rate in rates}
        rows.append((model, *(f"{c.mean():,.0f} ({c.min():,} to {c.max():,})" for c in counts.values())))
    return markdown(("accepted at q <=", *rates), rows) + f"\n\nMean (range) over {len(seeds)} seeds of `brew`."


def choice_table(found):
    rows = []
    for rule in found["rules"]["linear"]:
        both = [found["rules"][kernel][rule] for kernel in ("linear", "rbf")]
        rows.append((rule, *(f"{100 * r['mean']:.1f} % ({100 * r['worst']:.0f} %)" for r in both)))
    header = (
        "the default is left for a gain of more than",
        "linear: accepted, of the best recipe's (worst case)",
        "rbf",
    )
    cases = sum(len(rates) for rates in found["sets"].values())
    return markdown(header, rows) + f"\n\n{len(found['sets'])} data sets, {cases} choices."


def figures(results, folder):
    """What each deal gives over the Percolator loop, in percent."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = json.loads((results / "qvalue.json").read_text())
    rates = [str(rate) for rate in found["rates"] if rate >= 0.01]  # below that a single decoy decides
    figure, axes = plt.subplots(1, len(rates), figsize=(5 * len(rates), 3.6), layout="constrained", sharey=True)
    for ax, rate in zip(axes, rates, strict=True):
        for number, (label, contender) in enumerate(OURS.items()):
            for place, case in enumerate(found["tables"].values()):
                deals = [s for s in case["seeds"].values() if contender in s and LOOP in s]
                gain = [100 * (s[contender]["accepted"][rate] / s[LOOP]["accepted"][rate] - 1) for s in deals]
                height, look = place + 0.2 * (number - 1), {"color": f"C{number}", "label": "" if place else label}
                ax.plot(gain, [height] * len(gain), "o", ms=4, alpha=0.5, color=f"C{number}")
                ax.plot(np.mean(gain) if gain else np.nan, height, "|", ms=14, mew=2, **look)
        ax.axvline(0, color="0.6", lw=1)
        ax.set(title=f"q <= {rate}", xlabel="accepted targets against the Percolator loop, %")
    axes[0].set_yticks(range(len(found["tables"])), list(found["tables"]))
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(OURS))
    figure.savefig(folder / "qvalue.svg")
    plt.close(figure)
