"""Tables of promises, from ``benchmarks/results/promises*.json``."""

import numpy as np
from made_tables import markdown


def _shown(one):
    if one is None or "recall" not in one:
        return ("", "", "")
    recall = f"{one['recall']:.3f} ± {one['recall_error']:.3f}"
    return f"{100 * one['violations']:.1f} %", f"{100 * one['refused']:.0f} %", recall


def settings(found):
    body = [(name, *_shown(one["ours"]), *_shown(one["mapie"])) for name, one in found["settings"].items()]
    runs = sorted({one["ours"]["runs"] for one in found["settings"].values()})
    theirs = sorted({one["mapie"]["runs"] for one in found["settings"].values() if one["mapie"]})
    header = ("asked", "broken", "refused", "mean recall", "MAPIE: broken", "refused", "mean recall")
    note = (
        f"Simulated data sets ({runs[0]:,} each{f'; MAPIE {theirs[0]:,}' if theirs and theirs != runs else ''}), "
        f"`delta={found['delta']}`, a model that was fitted before; recall counts 0 where nothing was promised. "
        "MAPIE's `BinaryClassificationController` has the same rows, as calibrated probabilities but where the model "
        f"is too sure. A promise of precision on 200,000 rows takes {found['seconds_200000_rows']:.2f} s beyond the "
        "scores."
    )
    return note + "\n\n" + markdown(header, body) + _split(found) + _watch(found.get("watch"))


def _split(found):
    """MAPIE's other procedure, where it was run."""
    able = {n: one for n, one in found["settings"].items() if "recall" in (one.get("mapie_split") or {})}
    if not able:
        return ""
    runs = sorted({one["mapie_split"]["runs"] for one in able.values()})
    ahead = [n for n, one in able.items() if one["mapie_split"]["recall"] > one["mapie"]["recall"]]
    over = [n for n, one in able.items() if one["mapie_split"]["recall"] > one["ours"]["recall"]]
    worst = f"in {len(over)} of them above ours ({', '.join(over)})" if over else "in none above ours"
    return (
        f"\n\nMAPIE's `split_fixed_sequence`, with an order learned on a fifth of the rows ({runs[0]} sets of each of "
        f"{len(able)} settings, as it takes some 0.4 s a set), has more recall than its default in {len(ahead)}, "
        f"{worst}."
    )


def _spread(found):
    share = found["false_alarms"]
    return 100 * np.sqrt(share * (1 - share) / found["runs"])


def _watch(found):
    if found is None:
        return ""
    alarms = f"{100 * found['false_alarms']:.1f} ± {_spread(found):.1f} %"
    return (
        f"\n\nThe watch over a cap of 0.05 at level {found['level']}: {alarms} false alarms in {found['runs']:,} runs "
        f"of {found['rows']:,} negatives exactly at the cap, where the proof allows {100 * found['level']:g} %. A cap "
        f"that is broken by a factor of 1.5 is seen after {found['median_rows']:,.0f} negatives (median of 200 runs) "
        f"if it is so from the beginning (MAPIE's `RiskMonitoring` with the cap as its threshold, every 250 rows: "
        f"{found['mapie_median_rows']:,.0f}, {found['mapie_runs']} runs), after "
        f"{found['median_rows_after_50000_calm']:,.0f} if 50,000 calm ones came before."
    )


def rows_needed(found):
    cells = {}
    for one in found["rows_needed"]:
        cells.setdefault((one["asked"], one["truth"]), {})[one["delta"]] = one["rows"]
    body = [
        (f"`{asked}`", f"{truth:g}", f"{by[0.1]:,}", f"{by[0.05]:,}", "negatives" if "fpr" in asked else "rows called")
        for (asked, truth), by in cells.items()
    ]
    return markdown(("asked", "in truth", "delta = 0.1", "delta = 0.05", "counted in"), body)


def _mean(values):
    values = np.array(values)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.4f} ± {error:.4f}"


def groups(found):
    """Beside fairlearn: the measure and the gaps on rows kept apart."""
    body = []
    for name, splits in found["real"].items():
        for key in splits[0]:
            if key.startswith("promised"):
                continue
            goal, what, who = key.split("|")
            if who == "no constraint" and what != "called":
                continue
            rows = [split[key] for split in splits if key in split]
            body.append(
                (
                    name, goal, "" if who == "no constraint" else what, who, _mean([r["value"] for r in rows]),
                    *(f"{np.mean([r[gap] for r in rows]):.3f}" for gap in ("called_gap", "tpr_gap", "fpr_gap")),
                    f"{100 * np.mean([r['changed'] for r in rows]):.1f} %",
                )
            )  # fmt: skip
    header = ("data", "measure", "equal", "by", "value", "gap: called", "TPR", "FPR", "changed")
    n = max(len(splits) for splits in found["real"].values())
    note = (
        f"On rows kept apart, {n} splits; ours asks for a gap of at most {found['bound']}, fairlearn for none. "
        "*changed* are rows that have another label when `predict` is called again."
    )
    return note + "\n\n" + markdown(header, body) + _promised(found)


def _promised(found):
    parts = []
    for name, splits in found["real"].items():
        for key in (key for key in splits[0] if key.startswith("promised")):
            what, rows = key.split("|")[1], [split[key] for split in splits]
            kept = [row for row in rows if "value" in row]
            rate = "tpr_gap" if "tpr" in what else "fpr_gap"
            said = f"refused in {len(rows) - len(kept)} of {len(rows)}" if len(kept) < len(rows) else "made in all"
            if kept:
                said += (
                    f", accuracy {np.mean([r['value'] for r in kept]):.3f}, gap on rows kept apart at most "
                    f"{max(r[rate] for r in kept):.3f}"
                )
            parts.append(f"- {name}, `{what}`: {said}.")
    return f"\n\nPromised with `delta={found['delta']}`:\n\n" + "\n".join(parts)


def simulated(found):
    body = [(name, *_shown(one.get("one")), *_shown(one.get("each"))) for name, one in found["simulated"].items()]
    header = ("asked", "one threshold: broken", "refused", "mean recall", "one each: broken", "refused", "mean recall")
    runs = {part["runs"] for one in found["simulated"].values() for part in one.values()}
    return f"Simulated groups, {min(runs):,} data sets each, `delta={found['delta']}`:\n\n" + markdown(header, body)


def coverage(found):
    figures = [name for name in next(iter(found["coverage"].values())) if name not in ("positives", "mean")]
    body = [
        (name, f"{100 * one['positives']:.1f} %", *(f"{100 * one[f]:.1f}" for f in figures), f"{100 * one['mean']:.1f}")
        for name, one in found["coverage"].items()
    ]
    return markdown(("data", "positive", *(f"`{figure}`" for figure in figures), "mean"), body)


def ties(found):
    body = []
    for name, one in found["ties"].items():
        at = {who: np.array(rows) for who, rows in one.items()}
        body.append(
            (
                name, *(f"{100 * part[:, 0].mean():.2f} %" for part in at.values()),
                *(f"{part[:, 1].mean():.3f}" for part in at.values()),
                _mean((at["second score"] - at["forest"])[:, 1]),
            )
        )  # fmt: skip
    header = ("data", "false alarms: forest", "with a second score", "recall: forest", "with a second score", "gain")
    return markdown(header, body)


TABLES = {
    "promises": settings, "promises_rows": rows_needed, "promises_groups": groups, "promises_simulated": simulated,
    "promises_coverage": coverage, "promises_ties": ties,
}  # fmt: skip
FROM = {
    "promises_rows": "promises", "promises_simulated": "promises_groups", "promises_coverage": "promises_real",
    "promises_ties": "promises_real",
}  # fmt: skip
