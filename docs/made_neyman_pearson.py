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


def annealing(found):
    parts = []
    for part, title in (("table 2", "Two Gaussians"), ("table 3", "spambase")):
        if part not in found:
            continue
        rows = []
        for cap, one in found[part].items():
            ours, letter = one["speed-up"], one["speed-up, small steps"]
            rows.append(
                (
                    cap,
                    pm(letter["mean"], letter["sd"]),
                    pm(ours["mean"], ours["sd"]),
                    pm(*(one["ours against the paper's Uzawa"][k] for k in ("mean", "sd"))),
                    *(f"{1e3 * ours[k][0]:+.1f} ± {1e3 * ours[k][1]:.1f}" for k in ("P_fa", "P_nd")),
                )
            )
        header = (
            f"{title}: cap", "the paper's steps", "our steps", "our annealed against the paper's Uzawa",
            "P_fa, difference in 1/1000", "P_nd",
        )  # fmt: skip
        parts.append(markdown(header, rows))
    return "\n\n".join(parts)


def contenders(found):
    rows = []
    for name, caps in found["figure 4"].items():
        for cap, one in caps.items():
            best = min(r["cost"] for r in one.values())
            cells = [
                ("**{}**" if r["cost"] == best else "{}").format(f"{r['P_fa']:.3f} / {r['P_nd']:.3f}")
                + f" ({r['seconds']:.1f} s)"
                for r in one.values()
            ]
            rows.append((name, cap, *cells))
    who = list(next(iter(next(iter(found["figure 4"].values())).values())))
    ahead = sum(
        one["annealed"]["cost"] <= one["logistic regression"]["cost"]
        for caps in found["figure 4"].values()
        for one in caps.values()
    )
    return (
        markdown(("", "cap", *who), rows)
        + "\n\nFalse alarms / misses on test rows, and processor time with the search; bold: the smallest "
        + "`P_nd + max(0, P_fa - cap) / cap`. "
        + f"The annealed machine is at or ahead of logistic regression in **{ahead} of {len(rows)}** rows."
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
    "np_contenders": part(contenders, "figure 4"),
    "np_text": part(text, "table 4"),
    "promise_kernels": promise,
}
FROM = dict.fromkeys(("np_speed", "np_annealing", "np_contenders", "np_text"), "neyman_pearson")


def figures(results, folder):
    """The display on a small problem, and Figure 3 of 002 re-made."""
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
    known = json.loads(path.read_text()).get("figure 3", {}) if path.exists() else {}
    if known:
        figure, axes = plt.subplots(1, len(known), figsize=(4 * len(known), 3.4), layout="constrained", squeeze=False)
        for ax, (name, points) in zip(axes[0], known.items(), strict=True):
            ax.plot(*zip(*points["random"], strict=True), "s", color="#d9a441", label="24 random starts")
            ax.plot(*points["zero"], "*", color="#c1440e", markersize=14, label="start at zero")
            ax.set(title=name, xlabel="false alarms on the training rows")
        axes[0][0].set_ylabel("misses on the training rows")
        axes[0][0].legend(fontsize="small")
        figure.savefig(folder / "np_starts.svg")
        plt.close(figure)
