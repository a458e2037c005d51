"""Tables and figures of structural SVMs, from ``benchmarks/results/{structural,neyman_pearson_linear}.json``."""

import json
from math import log

from made_tables import markdown


def structural_table(found):
    fit, growth = found["fit"], found["growth"]
    fits = [
        (name, f"{fit['seconds'][key]:.3f} s", fit["cuts"][key], f"{fit['objective'][key]:.4f}")
        for name, key in (("one pass over sorted scores", "one pass"), ("table, losses looked up", "table"))
    ]
    searches = [
        (f"`{loss}`", *(_time(row[how]) if how in row else "" for how in ("bounds", "divide", "table")))
        for loss, row in found["searches"].items()
    ]
    sizes = [
        (f"{r['rows']:,}", f"{r['seconds']:.3f} s", r["cuts"], f"{r['extra_bytes_per_row']:.0f}", f"{r['neg_kld']:.4f}")
        for r in growth
    ]
    faster = (
        f"**{fit['times_faster']:.0f} times** faster. One search of the table with the loss computed in each cell: "
        f"{fit['textbook_cut_s']:.1f} s."
    )
    labels = ", ".join(f"{s:.2f} s for {int(n):,}" for n, s in found["expected_fbeta_s"].items())
    return "\n\n".join(
        [
            f"KLD, {fit['rows']:,} rows x {fit['features']} features, {fit['positives']:,} positives:",
            markdown(("search", "whole fit", "cuts", "objective"), fits),
            faster,
            "One search at the solution of other losses, same data:",
            markdown(("loss", "bounds", "divide and conquer", "table"), searches),
            '`StructuralSVM("kld", C=10)` against the number of rows, 54 features. Bytes a row: what a fit adds to X.',
            markdown(("rows", "fit", "cuts", "bytes a row", "NegKLD on the rows"), sizes),
            f"Time grows as $n^{{{_exponent(growth):.2f}}}$ from {growth[0]['rows']:,} to {growth[-1]['rows']:,} rows.",
            f"`expected_fbeta_labels`: {labels} rows.",
        ]
    )


def _time(seconds):
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"


def _exponent(growth):
    first, last = growth[0], growth[-1]
    return log(last["seconds"] / first["seconds"]) / log(last["rows"] / first["rows"])


def optimum_table(found):
    """Is a miscount that is left the solver's or the bound's?"""
    draws = found["optimum"]["draws"]
    names = {
        "tol 1e-3": "default gap, 0.001",
        "tol 1e-6": "gap 0.000001",
        "free intercept": "the same, intercept hardly regularised",
        "C 1000": "C = 1000, gap 0.00001",
    }
    rows = [(label, *(f"{draw[key]['kld']:.5f}" for draw in draws)) for key, label in names.items()]
    header = (f"KLD on the training rows, C = {found['optimum']['C']:g}", *(f"draw {k + 1}" for k in range(len(draws))))
    return markdown(header, rows)


def quality_table(found):
    rows, behind, useless = [], {"f1": 0, "kld": 0}, []
    for name, row in found["quality"].items():
        f1, kld = row["f1"], row["kld"]
        f1_scores = (f"{f1[k]['score']:.3f}" for k in ("structural", "threshold", "expected"))
        kld_scores = (f"{-kld[k]['score']:.5f}" for k in ("structural", "threshold"))
        rows.append((name, f"{row['positives']:.1%}", *f1_scores, *kld_scores))
        for loss in behind:
            behind[loss] += row[loss]["structural"]["score"] < row[loss]["threshold"]["score"]
        if f1["structural"]["score"] == 0.0:
            useless.append(name)
    header = ("data", "positives", "F1: structural", "threshold", "expected", "KLD: structural", "threshold")
    words = (
        f"The structural SVM is behind logistic regression with a threshold on **{behind['f1']} of {len(rows)}** "
        f"classes for F1 and on **{behind['kld']} of {len(rows)}** for KLD."
    )
    if useless:
        words += f" It calls no held-out row positive on {'; '.join(useless)}."
    return markdown(header, rows) + "\n\n" + words


def neyman_pearson_table(found):
    sets = found["sets"]
    whos = [who for who in next(iter(sets.values()))["caps"][0] if who != "cap"]
    rates = [
        (
            name if k == 0 else "",
            f"{row['cap']:g}",
            *(f"{_percent(row[w], 'false_alarms')}\u00a0/\u00a0{_percent(row[w], 'missed')}" for w in whos),
        )
        for name, one in sets.items()
        for k, row in enumerate(one["caps"])
    ]
    seconds = [
        (f"{name}, {one['rows']:,} rows", *(f"{_mean(one['caps'], w, 'seconds'):.1f} s" for w in whos))
        for name, one in sets.items()
    ]
    fits = found["fits_of_structural"]
    return "\n\n".join(
        [
            markdown(("false alarms / misses in %", "cap", *whos), rates),
            f"Training, all models to choose from ({fits} for the structural SVM), mean over the caps:",
            markdown(("", *whos), seconds),
            "J is the misses plus the relative excess over the cap. Beyond one standard error of the difference:",
            _verdicts(sets),
            _large_fit(sets),
        ]
    )


def _verdicts(sets):
    """How often J is better and worse beyond one standard error."""
    rows = []
    for who in ("structural SVM", "structural SVM + threshold"):
        for other in ("online", "logistic regression + threshold"):
            cells = []
            for one in sets.values():
                off = [row[who][f"J_less_{other}"] for row in one["caps"]]
                cells.append(f"{sum(d < -e for d, e in off)} / {sum(d > e for d, e in off)}")
            rows.append((f"{who} against {other}", *cells))
    return markdown(("caps where J is better / worse", *sets), rows)


def _large_fit(sets):
    fits = {name: one["one_fit_on_half_of_all"] for name, one in sets.items() if "one_fit_on_half_of_all" in one}
    return "\n".join(
        f"One fit of `prec@K` on half of all rows of {name}, {fit['rows']:,}: {fit['seconds']:.1f} s."
        for name, fit in fits.items()
    )


def _percent(row, key):
    return f"{100 * row[key]:.1f}"


def _mean(caps, who, key):
    return sum(row[who][key] for row in caps) / len(caps)


def figures(results, folder):
    """Figures 5 and 6 of Gasso et al. re-made."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    if not (results / "neyman_pearson_linear.json").exists():
        return
    sets = json.loads((results / "neyman_pearson_linear.json").read_text())["sets"]
    panels = {
        "false alarms / cap": lambda row, cap: row["false_alarms"] / cap,
        "misses": lambda row, cap: row["missed"],
        "training, s": lambda row, cap: row["seconds"],
    }
    figure, axes = plt.subplots(
        len(sets), len(panels), figsize=(9.4, 2.6 * len(sets)), layout="constrained", squeeze=False
    )
    for line, (name, one) in zip(axes, sets.items(), strict=True):
        caps = [row["cap"] for row in one["caps"]]
        for ax, (title, value) in zip(line, panels.items(), strict=True):
            for who, style in STYLES.items():
                ax.plot(caps, [value(row[who], row["cap"]) for row in one["caps"]], label=who, **style)
            ax.set_title(f"{name}: {title}", fontsize="medium")
            ax.set(xlabel="cap", xscale="log", xticks=caps, xticklabels=caps)
            ax.minorticks_off()
        line[0].axhline(1, color="0.6", lw=0.8, ls="--")
        line[2].set_yscale("log")
        line[2].yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
        line[2].yaxis.set_major_formatter("{x:g}")
        line[2].yaxis.set_minor_locator(mpl.ticker.NullLocator())
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(folder / "neyman_pearson_linear.svg")
    plt.close(figure)


STYLES = {
    "structural SVM": {"color": "C3", "ls": "--", "marker": "o", "ms": 3.5},
    "structural SVM + threshold": {"color": "C3", "marker": "o", "ms": 3.5},
    "online": {"color": "C0", "marker": "s", "ms": 3.5},
    "cost-sensitive SVM": {"color": "C2", "ls": "--", "marker": "^", "ms": 3.5},
    "cost-sensitive SVM + threshold": {"color": "C2", "marker": "^", "ms": 3.5},
    "logistic regression + threshold": {"color": "0.25", "marker": "D", "ms": 3},
}
