"""Tables and figures of the cost path as its users see it: probabilities, Table 2 of the paper, quantiles, pictures.

Tables are made from ``benchmarks/results/{calibration,cost_path,quantiles,path}.json``; the pictures are drawn
here from data that comes with scikit-learn, and the reliability diagrams from the calibration results.
"""

import json

import numpy as np
from made_tables import markdown

METHODS = {"path": "cost path", "Platt": "Platt", "isotonic": "isotonic", "logistic": "logistic regression"}
FIGURES = {"log_loss": "log loss", "brier": "Brier score", "ece": "calibration error"}
COLOURS = {"path": "#c1440e", "Platt": "#1f4e79", "isotonic": "#6aa84f", "logistic": "#555555"}


def calibration_table(found):
    """Mean log loss of each set, and for each figure how often each method is ahead of logistic regression."""
    sets = found["sets"]
    marks = {(row["set"], row["method"]): row for row in found["verdicts"]["log_loss"]}
    rows = []
    for name, one in sets.items():
        cells = []
        values = {method: float(np.mean(one["methods"][method]["log_loss"])) for method in METHODS}
        for method in METHODS:
            text = f"{values[method]:.4f}"
            row = marks.get((name, method))
            if row is not None and row["significant"]:
                text += " ▲" if row["difference"] < 0 else " ▼"
            cells.append(f"**{text}**" if values[method] == min(values.values()) else text)
        rows.append((name.removeprefix("small/"), f"{one['rows']:,} x {one['columns']}", *cells))
    return (
        "\n\n".join([_calibration_summary(found), "Mean log loss of each set:"])
        + "\n\n"
        + markdown(("", "rows x columns", *METHODS.values()), rows)
        + "\n\nBold: the least. ▲ and ▼: better and worse than logistic regression beyond chance. "
        + _extremes([row for row in found["verdicts"]["log_loss"] if row["method"] == "path"])
    )


def _extremes(rows, count=4):
    rows = sorted(rows, key=lambda row: row["difference"])
    show = lambda part: ", ".join(f"{row['set'].removeprefix('small/')} ({row['difference']:+.3f})" for row in part)
    return (
        f"The path's log loss less that of logistic regression is lowest on {show(rows[:count])} and highest on "
        f"{show(rows[: -count - 1 : -1])}."
    )


def _calibration_summary(found):
    rows = []
    for method, name in METHODS.items():
        cells = []
        for figure in FIGURES:
            mean = np.mean([np.mean(one["methods"][method][figure]) for one in found["sets"].values()])
            mine = [row for row in found["verdicts"][figure] if row["method"] == method]
            better = [row for row in mine if row["difference"] < 0]
            won, lost = (
                sum(row["significant"] for row in part) for part in (better, [r for r in mine if r not in better])
            )
            cells += [f"{mean:.4f}", f"{len(better)} of {len(mine)} (▲ {won}, ▼ {lost})" if mine else ""]
        rows.append((name, *cells))
    header = [cell for label in FIGURES.values() for cell in (f"mean {label}", "better than logistic regression on")]
    return markdown(("", *header), rows)


def recrossing_line(found):
    """How many training rows cross zero more than once, over the calibration sets."""
    shares = [float(np.mean(one["methods"]["path"]["recrossing"])) for one in found["sets"].values()]
    return (
        f"On the {len(shares)} sets of the calibration benchmark below, with C tuned, {min(shares):.1%} to "
        f"{max(shares):.1%} of the training rows cross more than once (median {np.median(shares):.1%})."
    )


def shortfalls(found):
    """Where the exact path misses its aims: 1e-8 in the optimality conditions, and so many fits of LIBLINEAR."""
    sets, audited = found["sets"], found["optimality"]
    loose = [f"{name} ({one['kkt']:.1e})" for name, one in audited.items() if one["kkt"] > 1e-8]
    aims = {name: one for name, one in sets.items() if one["at_most"] is not None}
    slow = [f"{name} ({one['fits']:.0f})" for name, one in aims.items() if one["fits"] > one["at_most"]]
    parts = [
        f"The conditions hold to $10^{{-8}}$ at every kink on {len(audited) - len(loose)} of {len(audited)} problems"
        + (f"; **not on** {', '.join(loose)}." if loose else "."),
        f"The path costs at most as many fits as it may on {len(aims) - len(slow)} of {len(aims)}"
        + (f"; **more on** {', '.join(slow)}." if slow else "."),
    ]
    return " ".join(parts)


def cost_path_table(found):
    def row(name, one):
        cells = (one["recover_s"], one["liblinear_s"], one["lbfgsb_s"], one["dpf_s"])
        shown = ("" if cell is None else f"{cell:.5f}" if cell < 1e-3 else f"{cell:.3f}" for cell in cells)
        fits, kinks = one["dpf_s"] / one["liblinear_s"], one["kinks"]
        share = kinks / (one["rows"] * np.log(one["rows"]))
        return (
            name,
            f"{one['rows']:,} x {one['columns']:,}",
            *shown,
            f"{kinks:,}",
            f"{fits:,.{0 if fits > 100 else 1}f}",
            f"{share:.2f}",
        )

    rows = []
    for name, one in found["sets"].items():
        rows.append(row(f"**{name}**", one))
        paper = found["paper"][name]
        rows.append(row(f"*{paper['set']}, as printed*", paper))
    header = (
        "", "rows x columns", "Recover", "LIBLINEAR", "LBFGSB", "DPF", "kinks", "DPF in LIBLINEAR fits",
        "kinks over n log n",
    )  # fmt: skip
    loose = max(one["excess"]["lbfgsb"] for one in found["sets"].values())
    return markdown(header, rows) + (
        f"\n\nSeconds. L-BFGS-B ends with an objective up to {loose:.1%} above the path's, LIBLINEAR with up to "
        f"{max(one['excess']['liblinear'] for one in found['sets'].values()):.1%}."
    )


def quantiles_table(found):
    rows = []
    for name, one in found["sets"].items():
        if not {"seconds", "pinball"} <= set(one):  # measured in part only
            continue
        loss = one["pinball"]
        rows.append((
            name, f"{one['rows']:,} x {one['columns']}", f"{one['seconds']['path'] * 1e3:.0f} ms",
            f"{one['seconds']['QuantileRegressor']:.2f} s", f"**{one['times_faster']:.0f}**",
            f"{loss['path']:.4f} ({loss['path, rearranged']:.4f})",
            f"{loss['QuantileRegressor']:.4f} ({loss['QuantileRegressor, rearranged']:.4f})",
            f"{one['difference']:+.4f} ± {one['standard_error']:.4f}",
            f"{one['crossing_pairs']['path']:.1%}, {one['crossing_pairs']['QuantileRegressor']:.1%}",
        ))  # fmt: skip
    header = (
        "", "rows x columns", "path", "99 fits", "times faster", "pinball loss: path (rearranged)",
        "QuantileRegressor (rearranged)", "difference", "neighbours that cross: path, QuantileRegressor",
    )  # fmt: skip
    return markdown(header, rows)


def everything(results, folder):
    import matplotlib as mpl

    mpl.use("Agg")
    boundary_figure(folder / "path_boundary.svg")
    rates_figure(folder / "path_rates.svg")
    quantile_figure(folder / "quantile_path.svg")
    for name, benchmark, line in (("recrossing", "calibration", recrossing_line), ("shortfalls", "path", shortfalls)):
        known = results / f"{benchmark}.json"
        missing = f"*No results yet: run `python benchmarks/{benchmark}.py`.*"
        (folder / f"{name}.md").write_text((line(json.loads(known.read_text())) if known.exists() else missing) + "\n")
    known = results / "calibration.json"
    reliability_figure(json.loads(known.read_text())["sets"] if known.exists() else {}, folder / "calibration.svg")


def boundary_figure(path):
    """Figure 1: the decision boundary at three costs, linear and with a kernel."""
    import matplotlib.pyplot as plt

    import steelyard as sy

    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 120)
    X = np.c_[3.0 * y + rng.normal(size=240), rng.normal(size=240)] + rng.normal(scale=0.4, size=(240, 1))
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, kernel in zip(axes, ("linear", "rbf"), strict=True):
        path_ = sy.CostPath(C=1.0, kernel=kernel, gamma=0.3).fit(X, y)
        sy.CostPathDisplay.from_estimator(path_, X, y, kind="boundary", tau=(0.05, 0.5, 0.95), ax=ax)
        ax.set_title(f'kernel="{kernel}"')
    figure.savefig(path)
    plt.close(figure)


def rates_figure(path):
    """Figure 2 and the coefficients, on held-out rows."""
    import matplotlib.pyplot as plt
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import steelyard as sy
    import steelyard.measures as m

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, 1 - y, test_size=0.5, stratify=y, random_state=0)
    model = make_pipeline(StandardScaler(), sy.CostPath(C=0.01)).fit(X_train, y_train)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    sy.CostPathDisplay.from_estimator(model, X_test, y_test, measure=m.FBeta(1), ax=axes[0])
    sy.CostPathDisplay.from_estimator(model, kind="coefficients", n_labels=5, ax=axes[1])
    figure.savefig(path)
    plt.close(figure)


def quantile_figure(path):
    """Noise that grows with x: quantiles by a line, and by a kernel."""
    import matplotlib.pyplot as plt

    import steelyard as sy

    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 4, 400))[:, None]
    y = np.sin(1.5 * x[:, 0]) + (0.1 + 0.25 * x[:, 0]) * rng.normal(size=400)
    tau = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained", sharey=True)
    for ax, how in zip(axes, ({}, {"kernel": "rbf", "gamma": 1.0}), strict=True):
        quantiles = sy.QuantilePath(C=1.0, **how).fit(x, y).predict(x, tau)
        ax.plot(x, y, ".", color="#999999", markersize=3)
        for t, q in zip(tau, quantiles.T, strict=True):
            ax.plot(x, q, color=plt.colormaps["viridis"](0.9 * t), label=f"tau = {t:g}")
        ax.set(title=f'kernel="{how.get("kernel", "linear")}"', xlabel="x")
    axes[0].legend(fontsize="small")
    figure.savefig(path)
    plt.close(figure)


def reliability_figure(sets, path):
    """Of the rows given a probability near p, the share that is positive; the diagonal is perfect."""
    import matplotlib.pyplot as plt

    across = 5
    down = max(1, -(-len(sets) // across))
    figure, axes = plt.subplots(down, across, figsize=(2.4 * across, 2.4 * down), layout="constrained", squeeze=False)
    for ax in axes.ravel()[len(sets) :]:
        ax.set_axis_off()
    for ax, (name, one) in zip(axes.ravel(), sets.items(), strict=False):
        ax.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8)
        for method, label in METHODS.items():
            rows, mass, positives = np.array(one["methods"][method]["bins"])
            seen = rows >= 30  # of all splits together; fewer rows show noise only
            ax.plot(mass[seen] / rows[seen], positives[seen] / rows[seen], ".-", color=COLOURS[method], linewidth=1.0,
                    markersize=4, label=label)  # fmt: skip
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        ax.set_title(name.removeprefix("small/"), fontsize="medium")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(METHODS))
    figure.supxlabel("probability given")
    figure.supylabel("share positive")
    figure.savefig(path)
    plt.close(figure)
