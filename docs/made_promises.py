"""Tables of promises, from ``benchmarks/results/promises.json``."""

from made_tables import markdown


def settings(found):
    def show(one):
        if one is None:
            return ("", "", "")
        recall = f"{one['recall']:.3f} ± {one['recall_error']:.3f}"
        return f"{100 * one['violations']:.1f} %", f"{100 * one['refused']:.0f} %", recall

    body = [(name, *show(one["ours"]), *show(one["mapie"])) for name, one in found["settings"].items()]
    runs = sorted({one["ours"]["runs"] for one in found["settings"].values()})
    theirs = sorted({one["mapie"]["runs"] for one in found["settings"].values() if one["mapie"]})
    header = ("asked", "broken", "refused", "mean recall", "MAPIE: broken", "refused", "mean recall")
    note = (
        f"Simulated data sets ({runs[0]:,} each{f'; MAPIE {theirs[0]:,}' if theirs and theirs != runs else ''}), "
        f"`delta={found['delta']}`, a model that was fitted before; recall counts 0 where nothing was promised. A "
        f"promise of precision on 200,000 rows takes {found['seconds_200000_rows']:.2f} s beyond the scores."
    )
    return note + "\n\n" + markdown(header, body) + _watch(found.get("watch"))


def _watch(found):
    if found is None:
        return ""
    return (
        f"\n\nThe watch over a cap of 0.05 at level {found['level']}: {100 * found['false_alarms']:.1f} % false alarms "
        f"in {found['runs']:,} runs of {found['rows']:,} negatives exactly at the cap. A cap that is broken by a "
        f"factor of 1.5 is seen after {found['median_rows']:,.0f} negatives (median) if it is so from the beginning "
        f"(MAPIE's `RiskMonitoring` with the cap as its threshold: {found['mapie_median_rows']:,.0f}; looked at for "
        f"20,000), after {found['median_rows_after_50000_calm']:,.0f} if 50,000 calm ones came before."
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


TABLES = {"promises": settings, "promises_rows": rows_needed}
FROM = {"promises_rows": "promises"}
