"""The six figures as SVG files next to the JSON."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from _run import RESULTS

COLOURS = {
    "NEMSIS": "C0", "NEMSIS-NS": "C1", "SCAN": "C0", "SCAN-NS": "C1",
    "1PMB": "C3", "guarded": "C2", "structural SVM": "C4", "logistic regression": "0.3",
}  # fmt: skip


def draw(found):
    over_time(found["figure 1"], "NegKLD", "figure_1")
    trade_off(found["figure 2"])
    bars(found["figure 3"])
    drift(found["figure 4"])
    over_time(found["figure 5"], "Q-measure", "figure_5")
    over_time(found["figure 6"], "CQReward", "figure_6")


def _panels(n, title):
    figure, axes = plt.subplots(1, n, figsize=(3.4 * n, 3.0), layout="constrained", squeeze=False)
    figure.suptitle(title, fontsize=10)
    return figure, axes[0]


def _save(figure, name):
    figure.savefig(RESULTS / f"quantification_{name}.svg")
    plt.close(figure)


def over_time(panels, label, name):
    figure, axes = _panels(len(panels), f"{label} on the test part against seconds of training")
    for ax, (title, panel) in zip(axes, panels.items(), strict=True):
        values = []
        for who, curve in panel.items():
            if who == "logistic regression":
                ax.axhline(curve["value"], color=COLOURS[who], ls="--", lw=1, label=f"{who} ({curve['seconds']:.1f} s)")
                values.append(curve["value"])
            else:
                ax.plot(curve["seconds"], curve["value"], ".-", ms=3, lw=1, color=COLOURS[who], label=who)
                values.extend(curve["value"] if who != "structural SVM" else [max(curve["value"])])
        top = max(values)
        ax.set(xscale="log", title=title, xlabel="seconds", ylim=(max(min(values), top - 0.5), top + 0.02))
    axes[0].legend(fontsize=6)
    _save(figure, name)


def trade_off(panels):
    figure, axes = _panels(len(panels), "BAKLD: balanced accuracy (full) and KLD (dotted) over the weight")
    for ax, (title, rows) in zip(axes, panels.items(), strict=True):
        other = ax.twinx()
        weights = [row["weight"] for row in rows]
        for who in ("NEMSIS-NS", "guarded", "logistic regression"):
            ax.plot(weights, [row[who]["ba"] for row in rows], color=COLOURS[who], lw=1, label=who)
            other.plot(weights, [row[who]["kld"] for row in rows], ":", color=COLOURS[who], lw=1)
        ax.set(title=title, xlabel="weight of balanced accuracy")
    axes[0].legend(fontsize=6)
    _save(figure, "figure_2")


def bars(panel):
    figure, axes = _panels(1, "KLD on data sets of different class proportions")
    figure.set_size_inches(9, 3.2)
    names = sorted(panel, key=lambda name: panel[name]["prevalence"])
    whos = [who for who in panel[names[0]] if who != "prevalence"]
    for k, who in enumerate(whos):
        places = [i + 0.14 * (k - len(whos) / 2 + 0.5) for i in range(len(names))]
        axes[0].bar(places, [max(panel[name][who]["kld"], 1e-7) for name in names], 0.13, color=COLOURS[who], label=who)
    axes[0].set(yscale="log", ylabel="KLD")
    axes[0].set_xticks(range(len(names)), [f"{n}\n{100 * panel[n]['prevalence']:.2g} %" for n in names], fontsize=6)
    axes[0].legend(fontsize=6)
    _save(figure, "figure_3")


def drift(panels):
    figure, axes = _panels(len(panels), "KLD under drift of the test part")
    for ax, (title, rows) in zip(axes, panels.items(), strict=True):
        for who in rows[0]:
            if who != "change":
                ax.plot(
                    [100 * r["change"] for r in rows], [r[who] for r in rows], ".-", lw=1, color=COLOURS[who], label=who
                )
        ax.set(title=title, xlabel="change of the prevalence, %", ylabel="KLD", yscale="symlog")
        ax.set_yscale("symlog", linthresh=1e-3)
    axes[0].legend(fontsize=6)
    _save(figure, "figure_4")
