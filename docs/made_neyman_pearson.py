"""Tables and figures of the Neyman-Pearson page, from ``benchmarks/results/{neyman_pearson,promise_kernels}.json``."""

import json

from made_tables import markdown


def pm(mean, sd):
    return f"{mean:.2f} ± {sd:.2f}"


def speed(found):
    rows = [
        (
            name,
            f"{one['libsvm_s']:.2f} s",
            f"**{one['smo_over_libsvm']:.2f}**",
            f"**{one['annealed_over_libsvm']:.2f}**",
            f"{one['objective_difference']:.0e}",
        )
        for name, one in found["smo"].items()
    ]
    return markdown(
        ("ijcnn1, 10,000 rows", "`SVC`", "our SMO, in `SVC` fits", "whole annealed run", "objective, relative"), rows
    )


def with_median(ratio):
    return f"{ratio['median']:.2f} ({pm(ratio['mean'], ratio['sd'])})"


def annealing(found):
    parts = []
    for part, title in (("table 2", "Two Gaussians"), ("table 3", "spambase")):
        if part not in found:
            continue
        rows = [
            (
                cap,
                with_median(one["speed-up, small steps"]),
                with_median(one["speed-up"]),
                with_median(one["ours against the paper's Uzawa"]),
                *(f"{1e3 * one['speed-up'][k][0]:+.1f} ± {1e3 * one['speed-up'][k][1]:.1f}" for k in ("P_fa", "P_nd")),
            )
            for cap, one in found[part].items()
        ]
        header = (
            f"{title}: cap", "the paper's steps", "our steps", "our annealed against the paper's Uzawa",
            "false alarms, difference in 1/1000", "misses, the same",
        )  # fmt: skip
        parts.append(markdown(header, rows))
    return "\n\n".join(parts) + "\n\nMedian, and in brackets mean ± standard deviation, over the pairs of C and gamma."


def settling(found):
    return " ".join(
        f"Of {one['runs']} runs of `{name}` on overlapping classes {one['unsettled']} did not settle: "
        f"{one['within the cap']} of these ended within the cap, {one['settled at C / 10']} settled with a tenth of C."
        for name, one in found["settling"].items()
    )


def contenders(found):
    sets = found["figure 4"]
    rows = []
    for name, one in sets.items():
        for cap, by in one["caps"].items():
            best = min(r["cost"] for r in by.values())
            cells = []
            for r in by.values():
                rates = f"{r['P_fa']:.3f} / {r['P_nd']:.3f} ± {r['P_nd_se']:.3f}"
                cells.append((f"**{rates}**" if r["cost"] == best else rates) + f" ({r['seconds']:.1f} s)")
            rows.append((name, cap, *cells))
    every = [by for one in sets.values() for by in one["caps"].values()]
    ahead = {
        who: sum(by["annealed"]["cost"] <= by[who]["cost"] for by in every) for who in every[0] if who != "annealed"
    }
    sizes = "; ".join(
        f"{name}: {one['sizes']['train']:,} rows to train on, {one['sizes']['negatives']} of them negative, and "
        f"{one['sizes']['test']:,} to test on"
        for name, one in sets.items()
    )
    return (
        markdown(("", "cap", *every[0]), rows)
        + "\n\nFalse alarms / misses ± standard error on test rows, and processor time with the search; bold: the "
        + "smallest `misses + max(0, false alarms - cap) / cap`. By that the annealed machine is at or ahead of "
        + ", ".join(f"{who} in **{n} of {len(every)}** rows" for who, n in ahead.items())
        + f". {sizes}."
    )


def text(found):
    rows = [
        (cap, *(f"{r['P_fa']:.4f} / {r['P_nd']:.3f} ({r['seconds']:.1f} s)" for r in one.values()))
        for cap, one in found["table 4"].items()
    ]
    return markdown(("20 newsgroups: cap", *next(iter(found["table 4"].values()))), rows)


def promise(found):
    rows = []
    for setting, rules in found["settings"].items():
        cells = [
            f"{r['violations']:.3f}{'' if r['violations'] <= r['allowed'] else ' **broken**'} / {r['tpr']:.3f}"
            for r in rules.values()
        ]
        rows.append((setting, *cells))
    return (
        markdown(("", *next(iter(found["settings"].values()))), rows)
        + f"\n\nShare of {found['runs']:,} data sets above the cap / true positive rate."
    )


def part(make, *names):
    """The table of these parts of the JSON, or what to run where there is none of them yet."""

    def table(found):
        missing = f"*No results yet: run `python benchmarks/papers/neyman_pearson.py '{names[0]}'`.*"
        return make(found) if any(name in found for name in names) else missing

    return table


TABLES = {
    "np_speed": part(speed, "smo"),
    "np_annealing": part(annealing, "table 2", "table 3"),
    "np_settling": part(settling, "settling"),
    "np_contenders": part(contenders, "figure 4"),
    "np_text": part(text, "table 4"),
    "promise_kernels": promise,
}
FROM = dict.fromkeys(("np_speed", "np_annealing", "np_settling", "np_contenders", "np_text"), "neyman_pearson")


def figures(results, folder):
    """The display on a small problem, and Figures 3 and 4 of Gasso et al. re-made."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from sklearn.datasets import make_moons

    import steelyard as sy

    X, y = make_moons(3000, noise=0.35, random_state=1)
    model = sy.NeymanPearsonClassifier(max_fpr=0.05, delta=0.1, random_state=0).fit(X[:1000], y[:1000])
    display = sy.NeymanPearsonDisplay.from_estimator(model, X[1000:], y[1000:])
    display.figure_.savefig(folder / "neyman_pearson.svg")
    plt.close(display.figure_)
    path = results / "neyman_pearson.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    for part, draw, name in (("figure 3", starts, "np_starts"), ("figure 4", over_caps, "np_over_caps")):
        if part in known:
            figure = draw(known[part], plt)
            figure.savefig(folder / f"{name}.svg")
            plt.close(figure)


def starts(known, plt):
    figure, axes = plt.subplots(1, len(known), figsize=(3.2 * len(known), 3.2), layout="constrained", squeeze=False)
    for ax, (name, points) in zip(axes[0], known.items(), strict=True):
        ax.plot(*zip(*points["random"], strict=True), "s", color="#d9a441", label="24 random starts")
        ax.plot(*points["zero"], "*", color="#c1440e", markersize=14, label="start at zero")
        ax.set(title=name, xlabel="false alarms on the training rows")
    axes[0][0].set_ylabel("misses on the training rows")
    axes[0][0].legend(fontsize="small")
    return figure


STYLES = {
    "annealed": ("#c1440e", "o"), "cost grid": ("#1f4e79", "s"), "minimax": ("#7a9e7e", "^"),
    "logistic regression": ("#555555", "x"),
}  # fmt: skip


def over_caps(known, plt):
    """A column a set: misses above, false alarms over the cap below."""
    figure, axes = plt.subplots(2, len(known), figsize=(3.4 * len(known), 5.4), layout="constrained", squeeze=False)
    for (above, below), (name, one) in zip(axes.T, known.items(), strict=True):
        caps = [float(cap) for cap in one["caps"]]
        for who, (color, marker) in STYLES.items():
            runs = [by[who] for by in one["caps"].values()]
            style = {"color": color, "marker": marker, "markersize": 5, "linewidth": 1, "capsize": 2, "label": who}
            above.errorbar(caps, [r["P_nd"] for r in runs], [r["P_nd_se"] for r in runs], **style)
            relative = [(r["P_fa"] / cap, r["P_fa_se"] / cap) for r, cap in zip(runs, caps, strict=True)]
            below.errorbar(caps, *zip(*relative, strict=True), **style)
        below.axhline(1.0, color="black", linestyle="--", linewidth=0.8)
        above.set(title=name, xscale="log", xticks=[], ylim=(0, None))
        below.set(xlabel="cap", xscale="log", ylim=(0, None))
        for ax in (above, below):
            ax.set_xticks(caps, [f"{cap:g}" for cap in caps])
            ax.minorticks_off()
    axes[0][0].set_ylabel("misses")
    axes[1][0].set_ylabel("false alarms / cap")
    axes[0][0].legend(fontsize="small")
    return figure
