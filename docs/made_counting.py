"""Tables and the figure of the page on counting, from results of `quantification.py`, `intervals.py` and `drift.py`."""

import json

import numpy as np
from made_tables import markdown
from scipy.stats import chi2


def _values(found, protocol, error):
    """Methods, and an array (sets, methods); NaN where a method failed."""
    sets = found["sets"].values()
    names = list(next(iter(sets))["methods"])
    return names, np.array([[s["methods"][who].get(protocol, {}).get(error, np.nan) for who in names] for s in sets])


def mean_ranks(values):
    """Mean ranks over the sets; methods that tie share the mean of their ranks."""
    smaller = (values[:, None, :] < values[:, :, None]).sum(axis=2)
    same = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    return (smaller + (same + 1) / 2).mean(axis=0)


def comparison(protocol):
    def table(found):
        names, ae = _values(found, protocol, "ae")
        complete = np.isfinite(ae).all(axis=1)  # a set on which one failed would favour or hide it
        ae = ae[complete]
        ranks = mean_ranks(ae)
        rae, kld = (_values(found, protocol, error)[1][complete].mean(axis=0) for error in ("rae", "kld"))
        kept = [one for one, ran in zip(found["sets"].values(), complete, strict=True) if ran]
        times = [[np.mean([s["methods"][who][key] for s in kept]) for who in names] for key in ("fit_s", "predict_s")]
        rows = [
            (
                f"**{names[k]}**" if names[k].startswith("Quantifier") else names[k],
                f"{ranks[k]:.2f}",
                f"{ae[:, k].mean():.4f}",
                f"{rae[k]:.3f}",
                f"{kld[k]:.4f}",
                f"{times[0][k]:.2f} s",
                f"{1000 * times[1][k]:.1f} ms",
            )
            for k in np.argsort(ranks)
        ]
        header = ("", "mean rank", "absolute error", "relative error", "KLD", "fit", "one batch")
        words = f"Means over the {len(ae)} sets on which all ran, ordered by the mean rank of the absolute error."
        for name, one in found["sets"].items():
            failed = [who for who, row in one["methods"].items() if "failed" in row]
            if failed:
                words += f" On {name} these failed: {', '.join(failed)}."
        return words + "\n\n" + markdown(header, rows)

    return table


def by_set(found):
    who = (
        "Quantifier auto",
        "Quantifier auto, BAKLD",
        "QuaPy EMQ",
        "QuaPy KDEy",
        "QuaPy DyS",
        "mlquantify DyS",
        "QuaPy CC",
    )
    rows, behind = [], 0
    names, ae = _values(found, "shifted", "ae")
    others = [k for k, name in enumerate(names) if not name.startswith("Quantifier")]
    for line, (name, one) in zip(ae, found["sets"].items(), strict=True):
        best = min(others, key=lambda k: np.inf if np.isnan(line[k]) else line[k])
        behind += line[best] < line[names.index("Quantifier auto")]
        values = [line[names.index(w)] for w in who]
        cells = ["failed" if np.isnan(v) else f"**{v:.4f}**" if v == np.nanmin(values) else f"{v:.4f}" for v in values]
        rows.append((name, one["train"], f"{one['prevalence']:.1%}", *cells, f"{names[best]}, {line[best]:.4f}"))
    words = f"The best of the others, picked in hindsight, is ahead of our default on **{behind} of {len(rows)}** sets."
    return markdown(("", "rows", "positives", *who, "best of the others"), rows) + "\n\n" + words


def intervals(found):
    rows, sets = [], found["sets"]
    for name, one in sets.items():
        by = one["by_division"]
        scatter = f"{min(by):.1%} to {max(by):.1%}"
        shares = (f"{np.mean(by):.1%}", scatter, f"{one['inside']:.1%}", f"{one['ends']:.1%}")
        rows.append((name, one["train"], f"{one['positives']:.1%}", *shares, f"{one['width']:.2f}"))
    means = np.array([np.mean(one["by_division"]) for one in sets.values()])
    inside, ends = (np.mean([one[key] for one in sets.values()]) for key in ("inside", "ends"))
    within, above, below = ((means >= 0.93) & (means <= 0.97)).sum(), (means > 0.97).sum(), (means < 0.93).sum()
    words = (
        f"Over all sets **{means.mean():.1%}**: {inside:.1%} at prevalences from 0.05 to 0.95, {ends:.1%} at 0 and 1. "
        f"{within} of {len(means)} sets lie within 93 to 97 %, {above} above and {below} below."
    )
    header = ("", "labelled rows", "positives", "covered", "by training set", "inside", "at 0 and 1", "mean width")
    return markdown(header, rows) + "\n\n" + words


def choice(found):
    sets = found["sets"]
    names = list(next(iter(sets.values())))
    values = np.array([[row[name] for name in names] for row in sets.values()])
    ranks = mean_ranks(values)
    rows = [(f"`{names[k]}`", f"{ranks[k]:.2f}", f"{values[:, k].mean():.4f}") for k in np.argsort(ranks)]
    return markdown((f"{len(values)} sets and classifiers", "mean rank", "absolute error"), rows)


def drift(found):
    rows = []
    late = (found["before"] + 2 * found["window"]) // found["chunk"]
    for name, one in found["sets"].items():
        for factor, run in one["factors"].items():
            delays = sorted(d for d in run["delays"] if d is not None)
            told = f"{np.median(delays):.0f} ({delays[0]} to {delays[-1]})" if delays else ""
            told += f", {len(run['delays']) - len(delays)} never" if len(delays) < len(run["delays"]) else ""
            tracked = [
                f"{np.mean(run['error'][who][late:]):.3f}" for who in ("StreamQuantifier", "counting predictions")
            ]
            rows.append((name, f"{one['start']:g} to {one['start'] * float(factor):g}", *tracked, told, run["early"]))
    header = ("", "prevalence", "error after the move", "counting predictions", "rows to the alarm", "alarms before")
    streams = len(next(iter(next(iter(found["sets"].values()))["factors"].values()))["delays"])
    words = (
        f"{streams} streams each; rows to the alarm: median, least and most. Alarms before the move were false, in "
        f"{streams * found['before']:,} rows."
    )
    return markdown(header, rows) + "\n\n" + words


def alarms(found):
    if not found.get("alarms"):
        return "*No results yet: run `python benchmarks/drift.py alarms`.*"
    rows = []
    for one in sorted(found["alarms"].values(), key=lambda one: (one["set"], one["model"], one["window"], one["p"])):
        # The interval of a Poisson mean
        low, high = chi2.ppf(0.025, 2 * one["alarms"]) / 2, chi2.ppf(0.975, 2 * one["alarms"] + 2) / 2
        share = f"{one['alarms'] / one['allowed']:.2f} ({np.nan_to_num(low) / one['allowed']:.2f} to "
        share += f"{high / one['allowed']:.2f})"
        what = (one["set"], one["model"], f"{one['p']:g}", one["window"], f"{one['rate']:g}", f"{one['rows']:,}")
        rows.append((*what, f"{one['allowed']:.0f}", one["alarms"], share))
    header = ("", "classifier", "prevalence", "window", "stated in 10,000", "rows", "allowed", "raised", "share (95 %)")
    most = max(one["alarms"] / one["allowed"] for one in found["alarms"].values())
    return markdown(header, rows) + f"\n\nAt most {most:.2f} times what is stated."


def stream(found):
    one = found["large"]
    resident, peak = np.array(one["resident_kib"]) / 1024, np.array(one["peak_kib"]) / 1024
    return (
        f"A stream of {one['rows']:,} simulated rows, 10 features: {one['update_s']:.0f} s of processor time "
        f"for all updates, mean error {one['error']:.3f} while the prevalence swings from 0.1 to 0.5. The pickled "
        f"state has {one['state_bytes'][0]:,} bytes after a million rows and {one['state_bytes'][-1]:,} at the end. "
        f"Looked at after every million rows, the process held between {resident.min():.0f} and {resident.max():.0f} "
        f"MiB, {resident[0]:.0f} after the first and {resident[-1]:.0f} after the last: it swings with the arrays that "
        f"a batch of 100,000 rows needs, and does not grow with the rows seen. Its peak rose by "
        f"{peak[-1] - peak[0]:.1f} MiB after the first million rows, {peak[-1] - peak[1]:.1f} of them after the second."
    )


def figures(results, folder):
    path = results / "drift.json"
    if not path.exists():
        return
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = json.loads(path.read_text())
    sets = found["sets"]
    figure, axes = plt.subplots(1, len(sets), figsize=(3.2 * len(sets), 3.2), layout="constrained", sharey=True)
    for ax, (name, one) in zip(np.atleast_1d(axes), sets.items(), strict=True):
        for (factor, run), style in zip(one["factors"].items(), ("-", "--"), strict=True):
            for who, colour in (("StreamQuantifier", "#1f4e79"), ("counting predictions", "#c1440e")):
                error = run["error"][who]
                rows = found["chunk"] * (np.arange(len(error)) + 1) / 1000
                ax.plot(rows, error, style, color=colour, linewidth=1.3, label=f"{who}, x {factor}")
        ax.axvline(found["before"] / 1000, color="0.6", linewidth=0.8)
        ax.set(title=name, xlabel="thousand rows")
    np.atleast_1d(axes)[0].set_ylabel("absolute error of the prevalence")
    np.atleast_1d(axes)[0].legend(fontsize="x-small")
    figure.savefig(folder / "drift.svg")
    plt.close(figure)


TABLES = {
    "counting_shifted": comparison("shifted"),
    "counting_natural": comparison("natural"),
    "counting_sets": by_set,
    "counting_intervals": intervals,
    "counting_choice": choice,
    "drift": drift,
    "drift_alarms": alarms,
    "drift_stream": stream,
}
FROM = dict.fromkeys(("counting_shifted", "counting_natural", "counting_sets"), "counting")
FROM |= {"counting_intervals": "intervals", "drift_alarms": "drift", "drift_stream": "drift"}
