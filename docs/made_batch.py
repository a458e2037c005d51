"""Tables and figures of the batch engine, from ``benchmarks/results/{batch,frontier,fmeasure}.json``."""

import json
from statistics import median

import numpy as np
from made_tables import markdown
from scipy.stats import t as student
from scipy.stats import wilcoxon

SPLITS = ("1", "2", "3", "4", "5")  # of fmeasure.py, beside LIBSVM's own


def grid_table(found):
    header = (
        "", "rows x columns", "our grid", "72 LIBLINEAR fits", "times faster", "our worst gap",
        "LIBLINEAR's gap: median, worst",
    )  # fmt: skip
    rows = []
    for name, g in found.items():
        stopped = f", {g['fits_stopped']} of them stopped at {g['limit_s']} s" if g["fits_stopped"] else ""
        theirs = f"{g['liblinear_s']:,.0f} s ({g['fits_measured']} run{stopped}; eps {g['liblinear_eps']:g})"
        times = f"**{'at least ' if stopped else ''}{g['times_faster']:.0f}**"
        gaps = f"{g['liblinear_gap_median']:.1e}, {g['liblinear_gap_worst']:.1e}"
        size = f"{g['rows']:,} x {g['columns']}"
        rows.append((name, size, f"{g['grid_s']:.2f} s", theirs, times, f"{g['gap_worst']:.1e}", gaps))
    return markdown(header, rows)


def batch_table(found):
    parts = []
    if "grid" in found:
        parts += ["**The 72-point grid.**", grid_table(found["grid"])]
    if "single" in found:
        rows = [
            (
                f"{name} ({s['rows']:,})",
                *(f"{s['by_C'][C]['ours'] * 1e3:.0f} ms ({s['by_C'][C]['share_of_liblinear']:.2f})" for C in s["by_C"]),
            )
            for name, s in found["single"].items()
        ]
        columns = next(iter(found["single"].values()))["by_C"]
        parts += [
            "**A single fit** (share of LIBLINEAR's time in brackets).",
            markdown(("", *(f"C = {C}" for C in columns)), rows),
        ]
    if "pairs" in found:
        rows = []
        for name, p in found["pairs"].items():
            for loss in ("hinge", "logistic"):
                cells = (f"{seconds:.3g} s ({seconds / p[loss]['1']:.1f})" for seconds in p[loss].values())
                rows.append((f"{name} ({p['rows']:,}), {loss}", *cells))
        parts += [
            "**Time against the number of cost pairs** (eight Cs each; in brackets the multiple of one pair's).",
            markdown(("", "1", "3", "9", "27"), rows),
        ]
    if "bundle" in found:
        parts += ["**The bundle**: seconds, rounds over six Cs, passes a problem, worst gap."]
        names = list(found["bundle"])
        variants = list(found["bundle"][names[0]]["variants"])
        rows = []
        for label in variants:
            cells = [found["bundle"][name]["variants"][label] for name in names]
            rows.append(
                (
                    label,
                    *(
                        f"{c['seconds']:.2f} s, {c['rounds']}, {c['passes_a_problem']:.0f}, {c['gap_worst']:.1e}"
                        for c in cells
                    ),
                )
            )
        rows.append(("default solver", *(f"{found['bundle'][name]['auto_s']:.2f} s" for name in names)))
        parts.append(markdown(("", *names), rows))
    if "scaling" in found:
        rows = [
            (label, *(f"{s:.2f} s" for s in r["seconds"]), f"{r['exponent']:.2f}")
            for label, r in found["scaling"].items()
        ]
        sizes = next(iter(found["scaling"].values()))["rows"]
        parts += [
            "**Time against n** (nine cost pairs, 20 columns).",
            markdown(("", *(f"{n:,}" for n in sizes), "exponent"), rows),
        ]
    return "\n\n".join(parts)


def frontier_table(found):
    rows, measures = found["rows"], list(dict.fromkeys(row["measure"] for row in found["rows"]))
    sets = sorted({row["set"] for row in rows})
    cell = {(row["set"], row["measure"]): row for row in rows}

    def show(row):
        text = f"{100 * row['difference']:+.1f}"
        return f"**{text}**" if row["significant"] else text

    body = [
        (f"{name} ({cell[name, measures[0]]['rows']:,})", *(show(cell[name, m]) for m in measures)) for name in sets
    ]
    means = [f"{100 * sum(cell[name, m]['difference'] for name in sets) / len(sets):+.2f}" for m in measures]
    middle = [f"{100 * median(cell[name, m]['difference'] for name in sets):+.2f}" for m in measures]
    sides = [[sum(sign * cell[name, m]["difference"] > 0 for name in sets) for sign in (1, -1)] for m in measures]
    body += [
        ("*mean*", *means),
        ("*median*", *middle),
        ("*ahead, behind*", *(f"{ahead}, {behind}" for ahead, behind in sides)),
        ("*p over the sets*", *(f"{wilcoxon([cell[n, m]['difference'] for n in sets]).pvalue:.2f}" for m in measures)),
    ]
    summary = (
        f"{found['comparisons']} comparisons on {len(sets)} sets, {found['plan']['splits']} splits each: ahead in "
        f"{found['ahead']}, behind in {found['behind']}; significant after correction: "
        f"**{found['significant_wins']} wins, {found['significant_losses']} losses** (bold)."
    )
    sizes = [100 * visible(row, found["plan"]["splits"], len(rows)) for row in rows if row["difference"] != 0.0]
    quarter, half, most = np.quantile(sizes, [0.25, 0.5, 0.75])
    summary += (
        f" What could have been seen: a difference of {half:.1f} points in half of the cells, of {quarter:.1f} in a "
        f"quarter and of {most:.1f} in three quarters (in four of five cases, at 5 % over the number of comparisons)."
    )
    return "\n\n".join([markdown(("set (rows)", *measures), body), summary, caps_table(rows, measures)])


def visible(row, splits, comparisons):
    """The difference that the first of Holm's tests would see in four of five cases: by the standard error that the
    p-value and the difference imply."""
    error = abs(row["difference"]) / max(float(student.isf(row["p"] / 2, splits - 1)), 1e-12)
    return error * float(student.isf(0.025 / comparisons, splits - 1) + student.ppf(0.8, splits - 1))


def caps_table(rows, measures):
    """What stands behind the figures under a cap: misses, false alarms, and how often the cap was kept."""
    body = []
    for measure in measures:
        under = [row for row in rows if row["measure"] == measure and "misses" in row]
        for who in ("ours", "logistic", "svm") if under else ():
            cap = float(measure.split()[2]) / 100
            body.append((
                measure, who, f"{100 * sum(row['misses'][who] for row in under) / len(under):.1f} %",
                f"{100 * sum(row['false_alarms'][who] for row in under) / len(under):.2f} %",
                f"{sum(row['false_alarms'][who] <= cap for row in under)} of {len(under)}",
            ))  # fmt: skip
    header = ("cap", "", "missed, mean over the sets", "false alarms, mean", "sets with a mean within the cap")
    return "Under the caps:\n\n" + markdown(header, body)


def fmeasure_table(found):
    """F1 over the five splits with its standard error, and `MeasureClassifier` against the best of the others."""
    sets = found["splits"]
    methods = list(dict.fromkeys(method for splits in sets.values() for one in splits.values() for method in one))
    values = {name: _by_method(splits, SPLITS) for name, splits in sets.items()}

    def show(name, method):
        if method not in values[name]:
            return ""
        f1 = 100 * values[name][method]
        seconds = np.mean([sets[name][split][method]["seconds"] for split in SPLITS])
        return f"{f1.mean():.2f} ± {_error(f1):.2f}, {seconds:.1f}\u00a0s"

    table = markdown(("", *sets), [(method, *(show(name, method) for name in sets)) for method in methods])
    ours, body = "MeasureClassifier", []
    for name, columns in values.items():
        others = [method for method in columns if method != ours]
        best = max(others, key=lambda method: columns[method].mean())
        gain = 100 * (columns[ours] - columns[best])
        chosen = "; ".join(sorted({sets[name][split][ours]["model"].split(",")[0] for split in SPLITS}))
        body.append((name, best, f"{gain.mean():+.2f} ± {_error(gain):.2f}", chosen))
    against = markdown(("", "best of the others", "MeasureClassifier less it, points", "losses chosen"), body)
    return "\n\n".join([table, against, _own_split(sets, methods), _orders(sets, values)])


def _by_method(splits, wanted):
    known = [splits[split] for split in wanted]
    return {method: np.array([one[method]["f1"] for one in known]) for method in known[0]}


def _error(values):
    return values.std(ddof=1) / len(values) ** 0.5


def _own_split(sets, methods):
    own = {name: splits["LIBSVM"] for name, splits in sets.items() if "LIBSVM" in splits}
    show = lambda one: "" if one is None else f"{100 * one['f1']:.2f}"
    rows = [(method, *(show(one.get(method)) for one in own.values())) for method in methods]
    return "On LIBSVM's own split, as in the paper:\n\n" + markdown(("", *own), rows)


def _orders(sets, values):
    def behind(method, other):
        pairs = [(columns[method].mean(), columns[other].mean()) for columns in values.values()]
        return f"{sum(a < b for a, b in pairs)} of {len(pairs)}"

    useless = [name for name, splits in sets.items() if any(one["StructuralSVM"]["at_zero"] for one in splits.values())]
    at_zero = f" On {' and '.join(useless)} even the best C leaves the structural SVM at w = 0." if useless else ""
    tuned = "logistic, threshold"
    return (
        f"The structural SVM is behind the cost-sensitive grid on {behind('StructuralSVM', 'grid')} sets "
        f"and behind logistic regression with the exact threshold on {behind('StructuralSVM', tuned)}; "
        f"LR-ML$^E$ is behind that threshold on {behind('LR-ML^E', tuned)}.{at_zero}"
    )


def figures(results, folder):
    """Figure 2 of Cheng et al. re-made, and time against n."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    if (results / "fmeasure.json").exists():
        progress = json.loads((results / "fmeasure.json").read_text())["progress"]
        figure, axes = plt.subplots(
            1, len(progress), figsize=(3.1 * len(progress), 3), layout="constrained", squeeze=False
        )
        for ax, (name, lines) in zip(axes[0], progress.items(), strict=True):
            for label, values in lines.items():
                ax.plot(range(1, len(values) + 1), values, label=label, lw=1.2)
            ax.set(title=name, xlabel="round", yscale="log")
        axes[0][0].set_ylabel("objective")
        axes[0][0].legend()
        figure.savefig(folder / "bundle.svg")
        plt.close(figure)
    known = json.loads((results / "batch.json").read_text()) if (results / "batch.json").exists() else {}
    if "scaling" in known:
        figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
        for label, r in known["scaling"].items():
            ax.loglog(r["rows"], r["seconds"], "o-", label=f"{label} ($n^{{{r['exponent']:.2f}}}$)")
        ax.set(xlabel="rows", ylabel="seconds for nine cost pairs")
        ax.legend()
        figure.savefig(folder / "scaling.svg")
        plt.close(figure)
