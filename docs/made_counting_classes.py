"""Tables on counting several classes, from results of `counting_classes.py`."""

import numpy as np
from made_counting import choice as chosen
from made_counting import mean_ranks
from made_tables import markdown


def _values(found, setting, key):
    """Methods, an array (runs, methods) of the runs in which none failed, and the set of each run."""
    runs = [(name, split[setting]) for name, one in found["sets"].items() for split in one["splits"]]
    complete = [(name, run) for name, run in runs if not any("failed" in row for row in run.values())]
    names = list(complete[0][1])
    return names, np.array([[run[who][key] for who in names] for _, run in complete]), [name for name, _ in complete]


def _failures(found, setting):
    failed = [
        f"{who} on {name}"
        for name, one in found["sets"].items()
        for split in one["splits"]
        for who, row in split[setting].items()
        if "failed" in row
    ]
    return f" Without the runs in which one failed: {', '.join(failed)}." if failed else ""


def _bold(name):
    return f"**{name}**" if name.startswith("Quantifier") else name


def comparison(setting, protocol):
    """Mean ranks over sets and splits."""

    def table(found):
        names, ae, of = _values(found, setting, protocol)
        rae, batch_s = (_values(found, setting, key)[1] for key in (f"{protocol}_rae", "batch_s"))
        rank = mean_ranks(ae)
        by_set = np.array([ae[np.array(of) == name].mean(axis=0) for name in dict.fromkeys(of)])
        rows = [
            (
                _bold(names[k]),
                f"{rank[k]:.2f}",
                f"{ae[..., k].mean():.4f}",
                f"{np.exp(np.log(by_set[:, k]).mean()):.4f}",
                f"{rae[..., k].mean():.2f}",
                f"{1000 * batch_s[..., k].mean():.1f} ms",
            )
            for k in np.argsort(rank)
        ]
        header = ("", "mean rank", "absolute error", "its geometric mean over sets", "relative error", "one batch")
        words = f"Over {len(ae)} splits of {len(by_set)} sets. {_alone(names, ae)}{_failures(found, setting)}"
        return markdown(header, rows) + "\n\n" + words

    return table


def _alone(names, ae):
    """Mean ranks without our other methods, which would push down whoever is behind them."""
    kept = [k for k, name in enumerate(names) if name == "Quantifier auto" or not name.startswith("Quantifier")]
    rank = dict(zip([names[k] for k in kept], mean_ranks(ae[:, kept]), strict=True))
    ours = rank.pop("Quantifier auto")
    best = min(rank, key=rank.get)
    theirs = f"{rank[best]:.2f} ({best})"
    return f"The default among QuaPy's methods alone: mean rank **{ours:.2f}**, the best of theirs {theirs}."


def by_set(found):
    rows = []
    for setting, protocol in (("given", "upp"), ("own", "upp")):
        names, ae, of = _values(found, setting, protocol)
        others = [k for k, name in enumerate(names) if not name.startswith("Quantifier")]
        ours = names.index("Quantifier auto")
        for name, about in found["sets"].items():
            one = ae[np.array(of) == name]
            best = min(others, key=lambda k: one[:, k].mean())
            gap = one[:, ours] - one[:, best]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            other = f"{names[best]}, {one[:, best].mean():.4f}"
            told = f"{gap.mean():+.4f} ± {error:.4f}"
            rows.append((name, about["classes"], about["labelled"], setting, f"{one[:, ours].mean():.4f}", other, told))
    behind = sum(row[-1].startswith("+") for row in rows)
    header = (
        "",
        "classes",
        "labelled",
        "probabilities",
        "Quantifier auto",
        "best of QuaPy, in hindsight",
        "difference",
    )
    words = f"The default is behind QuaPy's best, picked in hindsight, in **{behind} of {len(rows)}** rows."
    return markdown(header, rows) + "\n\n" + words


def coverage(found):
    if not found.get("coverage"):
        return "*No results yet: run `python benchmarks/counting_classes.py coverage`.*"
    rows = []
    for name, one in found["coverage"].items():
        shares = [_with_error(one["interval"])] + [
            f"{np.mean(one[key]):.1%}" for key in ("region", "all_intervals", "interval_again", "region_again")
        ]
        width = f"{np.mean(one['width']):.2f}"
        rows.append((name, one["classes"], len(one["interval"]), one["smallest_pool"], shares[0], width, *shares[1:]))
    means = {key: np.array([np.mean(one[key]) for one in found["coverage"].values()]) for key in ("interval", "region")}
    words = "; ".join(
        f"{what} cover {value.mean():.1%} over all sets, {((value >= 0.93) & (value <= 0.97)).sum()} of {len(value)} "
        "sets within 93 to 97 %"
        for what, value in (("intervals", means["interval"]), ("regions", means["region"]))
    )
    header = (
        "", "classes", "divisions", "smallest class of the pool, rows", "an interval holds its class", "mean width",
        "the region holds all", "all intervals hold", "rows drawn again: an interval", "the region",
    )  # fmt: skip
    return markdown(header, rows) + "\n\n" + words[0].upper() + words[1:] + "."


def _with_error(shares):
    return f"{np.mean(shares):.1%} ± {np.std(shares, ddof=1) / np.sqrt(len(shares)):.1%}"


def known_truth(found):
    if not found.get("known_truth"):
        return "*No results yet: run `python benchmarks/counting_classes.py coverage`.*"
    one = found["known_truth"]
    rows = [
        (words, *(_with_error(one[how][key]) for key in ("interval", "region")), f"{np.mean(one[how]['width']):.2f}")
        for how, words in (("fresh", "fresh from the population"), ("again", "drawn again from the pool"))
    ]
    sizes = ", ".join(str(n) for n in one["pool"])
    words = (
        f"{len(one['fresh']['interval'])} sets of labelled rows, {one['draws']} batches each; pools of {sizes} rows."
    )
    header = ("the batch's rows", "an interval holds its class", "the region holds all", "mean width")
    return markdown(header, rows) + "\n\n" + words


def choice(protocol):
    def table(found):
        if not found.get("choice"):
            return "*No results yet: run `python benchmarks/counting_classes.py choose`.*"
        return chosen({"sets": found["choice"][f"methods_{protocol}"]})

    return table


def priors(found):
    """Errors of the default by the calibration's priors, as shares of those without one on offsets."""
    if not found.get("choice"):
        return "*No results yet: run `python benchmarks/counting_classes.py choose`.*"
    runs = [(kind, one) for kinds in found["choice"]["priors"].values() for kind, one in kinds.items()]
    kinds, names = list(dict.fromkeys(kind for kind, _ in runs)), list(runs[0][1])
    rows = []
    for name in names:
        cells = []
        for kind in kinds:
            # 1e-4 is a fiftieth of a row: smaller errors are level.
            ratio = [np.maximum(one[name], 1e-4) / np.maximum(one[names[0]], 1e-4) for k, one in runs if k == kind]
            cells.append(" / ".join(f"{r:.2f}" for r in np.exp(np.log(ratio).mean(axis=0))))
        rows.append((name, *cells))
    return markdown(("pull, offset", *kinds), rows)


TABLES = {
    "counting_classes": comparison("given", "upp"),
    "counting_classes_app": comparison("given", "app"),
    "counting_classes_own": comparison("own", "upp"),
    "counting_classes_sets": by_set,
    "counting_classes_coverage": coverage,
    "counting_classes_known_truth": known_truth,
    "counting_classes_choice": choice("upp"),
    "counting_classes_choice_app": choice("app"),
    "counting_classes_priors": priors,
}
FROM = dict.fromkeys(TABLES, "counting_classes")
