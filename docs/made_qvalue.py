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
            none = f", none in {(counts == 0).sum()}" if not counts.all() else ""
            text = f"{counts.mean():,.0f} ({counts.min():,.0f} to {counts.max():,.0f}{none})"
            cells.append(f"**{text}**" if counts.mean() == best[rate] else text)
        deals = [seed[contender] for seed in case["seeds"].values() if contender in seed]
        rows.append((contender, *cells, f"{np.median([deal['fit_s'] for deal in deals]):.2f} s", len(deals)))
    size = f"**{name}**: {case['targets']:,} targets, {case['decoys']:,} decoys; mean (range) over the deals"
    return size + "\n\n" + markdown(("accepted at q <=", *rates, "CPU time of a fit", "deals"), rows)


PAIRS = {
    "linear over the Percolator loop": (OURS["linear"], LOOP),
    "linear over the best single feature": (OURS["linear"], "best single feature"),
    "linear over logistic regression": (OURS["linear"], "logistic regression, all targets"),
    "rbf over linear": (OURS["rbf"], OURS["linear"]),
    "stochastic over linear": (OURS["stochastic"], OURS["linear"]),
}


def _summary(tables, rates):
    """Differences on the deals that both were measured on, in percent of the other's mean: a deal in which the other
    has no list counts like any."""
    rows = []
    for name, case in tables.items():
        for label, pair in PAIRS.items():
            both = {"seeds": {k: seed for k, seed in case["seeds"].items() if all(c in seed for c in pair)}}
            cells = [_difference(*(_counts(both, c, rate) for c in pair)).strip(" ()") for rate in rates]
            rows.append((name, label, *(cell or "the other has no list" for cell in cells), len(both["seeds"])))
    return markdown(("", "", *(f"q <= {rate}" for rate in rates), "deals"), rows)


def kernel_table(found):
    """Accepted by each kind of model, and what rbf has beyond the linear one on the same deals or draws."""
    rows = []
    for part, cases in found["found"].items():
        for name, rates in cases.items():
            for rate, seeds in rates.items():
                counts = {model: np.array([s[model][0] for s in seeds.values()], dtype=float) for model in KINDS[part]}
                gain = _difference(counts["rbf"], counts["linear"]).strip(" ()")
                cells = [f"{counts[model].mean():,.0f}" if model in counts else "" for model in KINDS["made"]]
                rows.append((name, rate, *cells, gain, len(seeds)))
    return markdown(("", "q <=", *KINDS["made"], "rbf over linear", "deals or draws"), rows)


KINDS = {"spectra": ("linear", "rbf"), "made": ("linear", "rbf", "products")}


def thinning_table(found):
    """What is accepted by learning from fewer rows, against all of them, on the same deals; and the time."""
    parts = []
    for name, rates in found["tables"].items():
        rows = []
        contenders = list(next(iter(next(iter(rates.values())).values())))
        whole = contenders[0]
        for contender in contenders:
            cells = []
            for seeds in rates.values():
                counts = {c: np.array([s[c]["accepted"] for s in seeds.values()], dtype=float) for c in contenders}
                change = "" if contender == whole else _difference(counts[contender], counts[whole])
                cells.append(f"{counts[contender].mean():,.0f}{change}")
            times = [s[contender]["fit_s"] / s[whole]["fit_s"] for seeds in rates.values() for s in seeds.values()]
            rows.append((contender, *cells, f"{np.median(times):.2f}"))
        header = ("learned from", *(f"accepted at q <= {rate}" for rate in rates), "CPU time of a fit")
        parts.append(f"**{name}**, {len(seeds)} deals\n\n" + markdown(header, rows))
    return "\n\n".join(parts)


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


THEIRS = "mokapot's PercolatorModel"


def mokapot_table(found):
    """Means, and differences to mokapot's own model on the same seeds with their standard errors."""
    rates = [str(rate) for rate in found["rates"]]
    return "\n\n".join(_brewed(name, seeds, rates) for name, seeds in found["tables"].items())


BASELINES = (THEIRS, "the same, features clipped", "Percolator loop", "best single feature")


def brew_table(found):
    """What `QValueModel` accepts at 0.01 beyond each baseline, on the same seeds."""
    rows = []
    for name, seeds in found["tables"].items():
        cells = []
        for model in BASELINES:
            both = [s for s in seeds.values() if all("0.01" in s.get(m, {}) for m in (model, "QValueModel"))]
            ours, theirs = (np.array([s[m]["0.01"] for s in both], dtype=float) for m in ("QValueModel", model))
            text = _difference(ours, theirs).strip(" ()") or f"none in {len(both)}"
            cells.append(text if len(both) == len(seeds) else f"{text}, {len(both)} seeds")
        rows.append((name, *cells))
    return markdown(("accepted at 0.01, over", "mokapot's own", *BASELINES[1:]), rows)


def _brewed(name, seeds, rates):
    rows = []
    for model in dict.fromkeys(model for seed in seeds.values() for model in seed):
        paired = [seed for seed in seeds.values() if model in seed and THEIRS in seed]
        both = [seed for seed in paired if "no list" not in seed[model]]
        if len(both) < 2:
            continue
        cells = []
        for rate in rates:
            ours, theirs = (np.array([seed[m][rate] for seed in both], dtype=float) for m in (model, THEIRS))
            cells.append(f"{ours.mean():,.0f}{_difference(ours, theirs) if model != THEIRS else ''}")
        cpu = [seed[model]["cpu_s"] for seed in both if "cpu_s" in seed[model]]
        rows.append((model, *cells, f"{np.median(cpu):.1f} s" if cpu else "", _seeds(both, paired)))
    header = ("accepted at q <=", *rates, "CPU time of brew", "seeds")
    return f"**{name}**\n\n" + markdown(header, rows)


def _seeds(both, paired):
    refused = len(paired) - len(both)
    return f"{len(both)}, and {refused} without a list" if refused else len(both)


def _difference(ours, theirs):
    if not theirs.any():
        return ""
    percent = _gains(ours, theirs)
    return f" ({percent.mean():+.1f} ± {_error(percent):.1f} %)"


def _gains(ours, theirs):
    """What ours has beyond theirs in each deal, in percent of the mean of theirs."""
    return 100 * (ours - theirs) / theirs.mean()


def _error(values):
    return values.std(ddof=1) / np.sqrt(len(values))


def entrapment_table(found):
    """The share of wrong targets that each method really had in its lists, and the targets in them."""
    parts = []
    for case, rates in found["sums"].items():
        rows = []
        for method in next(iter(rates.values())):
            cells = []
            for held in (rate[method] for rate in rates.values()):
                n, share = held["draws"], held["share"] / held["draws"]
                error = np.sqrt(max(held["share_squared"] / n - share**2, 0.0) / (n - 1))
                cells += [f"{share:.4f} ± {error:.4f}", f"{held['accepted'] / n:,.0f}"]
            rows.append((method, *cells, n))
        header = ["", *(text for rate in rates for text in (f"wrong, for {rate}", "accepted")), "draws"]
        parts.append(f"**{case}**\n\n" + markdown(header, rows))
    return "\n\n".join(parts)


def network_table(found):
    """Accepted at each rate by kind of model, the mean over the deals that all were measured on."""
    parts = []
    for name, seeds in found["tables"].items():
        whole = {k: seed for k, seed in seeds.items() if len(seed) == max(map(len, seeds.values()))}
        case = {"seeds": whole}
        rates = list(next(iter(next(iter(whole.values())).values()))["accepted"])
        rows = []
        for contender in next(iter(whole.values())):
            counts = [_counts(case, contender, rate) for rate in rates]
            seconds = np.median([seed[contender]["fit_s"] for seed in whole.values()])
            rows.append((contender, *(f"{count.mean():,.0f}" for count in counts), f"{seconds:.1f} s", len(whole)))
        parts.append(f"**{name}**\n\n" + markdown(("accepted at q <=", *rates, "CPU time of a fit", "deals"), rows))
    return "\n\n".join(parts)


def bounds_table(found):
    """Accepted at the first rate by shape, over freaks; and the share of the best way's over all cases and rates."""
    cases, rates = {}, [str(rate) for rate in found["rates"]]
    for key, ways in found["sets"].items():
        case, seed = key.rsplit(" ", 1)
        cases.setdefault(case, {})[seed] = ways
    seeds = sorted(set.intersection(*map(set, cases.values())))
    names = list(next(iter(found["sets"].values())))
    counts = np.array([[[[c[s][way][r] for r in rates] for c in cases.values()] for s in seeds] for way in names])
    means = counts.mean(axis=1)  # way, case, rate
    shares = (counts / means.max(axis=0)).mean(axis=(2, 3))  # way, seed
    shapes = {
        shape: [c.startswith(f"{shape},") for c in cases] for shape in dict.fromkeys(c.split(",")[0] for c in cases)
    }
    rows = [
        (way, *(f"{by_case[at, 0].mean():,.0f}" for at in shapes.values()), _percent(share))
        for way, by_case, share in zip(names, means, shares, strict=True)
    ]
    header = (f"accepted at q <= {rates[0]}", *shapes, f"of the best way's, at {' and '.join(rates)}")
    return markdown(header, rows) + f"\n\nMean over {len(seeds)} seeds, and over no, some, many and wild freaks."


def _percent(shares):
    return f"{100 * shares.mean():.2f} ± {100 * _error(shares):.2f} %"


def few_table(found):
    """The share of the best recipe's accepted targets by which recipes there are, over designs and rates."""
    designs = list(next(iter(found["choices"].values()))["designs"])
    rows = [
        (name, *(f"{100 * c['designs'][d]:.1f}" for d in designs), f"{100 * c['mean']:.2f} ± {100 * c['error']:.2f} %")
        for name, c in found["choices"].items()
    ]
    seeds = next(iter(found["choices"].values()))["seeds"]
    text = markdown(("recipes for few rows", *designs, "all"), rows)
    return f"{text}\n\nPercent of what the best recipe accepts, mean over {seeds} seeds and two rates."


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
    """What each deal gives over the Percolator loop, in percent of its mean; bars are means with standard errors."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = json.loads((results / "qvalue.json").read_text())
    rates = [str(rate) for rate in found["rates"] if rate >= 0.01]  # below that a single decoy decides
    figure, axes = plt.subplots(1, len(rates), figsize=(4.4 * len(rates), 3.6), layout="constrained", sharey=True)
    for ax, rate in zip(axes, rates, strict=True):
        for number, (label, contender) in enumerate(OURS.items()):
            for place, case in enumerate(found["tables"].values()):
                both = {"seeds": {k: s for k, s in case["seeds"].items() if contender in s and LOOP in s}}
                gain = _gains(_counts(both, contender, rate), _counts(both, LOOP, rate))
                height, look = place + 0.24 * (number - 1), {"color": f"C{number}", "label": "" if place else label}
                ax.plot(gain, [height] * len(gain), "o", ms=3, alpha=0.25, mew=0, color=f"C{number}")
                ax.errorbar(gain.mean(), height, xerr=_error(gain), fmt="|", ms=12, mew=2, capsize=3, **look)
        ax.axvline(0, color="0.6", lw=1)
        ax.set(title=f"q <= {rate}", xlabel="accepted beyond the Percolator loop, %")
    axes[0].set_yticks(range(len(found["tables"])), list(found["tables"]))
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(OURS))
    figure.savefig(folder / "qvalue.svg")
    plt.close(figure)
