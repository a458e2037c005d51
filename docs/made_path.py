"""The tables of the cost path's solvers, from ``benchmarks/results/path.json``."""

import numpy as np
from made_tables import markdown


def path_table(found):
    return "\n\n".join(make(found[part], found) for part, make in PARTS.items() if part in found)


def sets(found, all_parts):
    rows = []
    for name, r in found.items():
        limit = "" if r["at_most"] is None else f" ({r['at_most']})"
        kkt = all_parts.get("optimality", {}).get(name, {}).get("kkt")
        objective = all_parts.get("objectives", {}).get(name, {}).get("difference")
        rows.append(
            (
                name,
                f"{r['rows']:,} x {r['columns']}",
                f"{r['kinks']:,}",
                f"{r['path_s'] * 1e3:.0f} ms",
                f"{r['fit_s'] * 1e3:.1f} ms",
                f"{r['fits']:.1f}{limit}",
                f"{r['processor_fits']:.1f}" if "processor_fits" in r else "",
                f"{r['recover_s'] * 1e3:.2f} ms, {r['recover_times_faster']:,.0f}",
                "" if kkt is None else f"{kkt:.1e}",
                "" if objective is None else f"{objective:.1e}",
                f"{100 * r['class_tied']:.0f} %",
            )
        )
    header = (
        "", "rows x columns", "kinks", "path", "one fit", "path in fits (aim)", "in processor time",
        "one tau, times faster", "KKT", "objective", "a class tied",
    )  # fmt: skip
    return markdown(header, rows)


def optimality(found, all_parts):
    others = {name: r for name, r in found.items() if name not in all_parts["sets"]}
    told = "; ".join(f"{name}: {r['kkt']:.1e} over {r['kinks']:,} kinks" for name, r in others.items())
    return f"KKT on one-hot data as stored, with its duplicates, and on random rows that all have a near copy: {told}."


def objectives(found, _):
    taus = sum(r["taus"] for r in found.values())
    done = sum(r["converged"] for r in found.values())
    above = max(r["above"] for r in found.values())
    return (
        "*objective* is the largest relative difference to LIBLINEAR at tolerance 1e-10 over random tau; it converged "
        f"at {done} of {taus}. The path's objective is never more than {above:.1e} above LIBLINEAR's."
    )


def printed(found, _):
    rows = [
        (name, f"{r['kinks']:,}", f"{r['printed_kinks']:,}", f"{r['path_s'] * 1e3:.1f} ms", f"{r['printed_s']:.2f} s",
         f"{r['times_faster']:.0f}", f"{r['largest_difference']:.0e}",
         f"{r['largest_difference_from_an_exact_start']:.0e}")
        for name, r in found.items()
    ]  # fmt: skip
    header = (
        "", "kinks", "kinks of Algorithm 1", "path", "Algorithm 1", "times faster", "models differ by",
        "from an exact start",
    )  # fmt: skip
    return (
        "Against Algorithm 1 of the paper as printed, with conjugate gradients, vectorised (without the constant "
        "column: with it a whole class is tied at tau = 0, and the printed algorithm has no answer to ties):\n\n"
        + markdown(header, rows)
        + "\n\nThe models differ because of the printed algorithm's start: L-BFGS-B stops at a projected gradient of "
        "some 1e-6, and nothing later corrects it. With its rows on the margin solved for exactly at tau = 0 the two "
        "agree to what the perturbed targets allow (last column). Conjugate gradients have no part in it: a direct "
        "solution of every system gives the same models."
    )


def growth(found, _):
    sizes = sorted({n for r in found.values() for n in r["rows"]})
    rows = []
    for name, r in found.items():
        known = {n: f"{k:,} ({k / m:.2f})" for n, k, m in zip(r["rows"], r["kinks"], r["n_log_n"], strict=True)}
        rows.append((name, *(known.get(n, "") for n in sizes)))
    return "Kinks against the number of rows n (in brackets: over n log n):\n\n" + markdown(
        ("", *(f"{n:,}" for n in sizes)), rows
    )


def approximate(found, _):
    rows = [
        (name, f"{r['rows']:,} x {r['columns']}", f"{r['knots']:,}", f"{r['gap']:.1e}", f"{r['largest_gap_seen']:.1e}",
         f"{r['path_s']:.1f} s", f"{r['shared_cuts_s']:.0f} s")
        for name, r in found.items()
    ]  # fmt: skip
    header = (
        "",
        "rows x columns",
        "knots",
        "certified gap",
        "gap seen at 50 random tau",
        "path",
        "the knots by shared cuts",
    )
    return (
        "The approximate path with tol = 1e-3. The gap seen is against a bound certified at that tau alone. Its knots "
        "are solved one from the other; for comparison the same knots, given in advance, by the bundle method with one "
        "pool of cuts:\n\n"
    ) + markdown(header, rows)


def kernel(found, _):
    rows = [
        (name, f"{r['rows']:,}", f"{r['rank']:,}", r["members"], f"{r['kinks']:,}", f"{r['rows_computed']:,}",
         f"{r['dual_s']:.2f} s", f"{r['factor_s']:.2f} + {r['features_s']:.2f} s", f"{r['times_faster']:.1f}",
         f"{r['svc_s'] * 1e3:.0f} ms", f"{r['recover_s'] * 1e3:.1f} ms")
        for name, r in found.items()
    ]  # fmt: skip
    header = (
        "", "rows", "rank", "most rows on the margin", "kinks", "kernel rows computed", "path", "factor + path on it",
        "times faster", "one SVC", "recover one tau",
    )  # fmt: skip
    return (
        "Kernels (C = 1): the path in the dual form against the linear path on a factor of the kernel matrix:\n\n"
    ) + markdown(header, rows)


def kernel_optimality(found, _):
    rows = [
        (name, f"{r['kinks']:,}", f"{r['kkt']:.1e}", f"{r['features_kkt']:.1e}", f"{r['factor_off']:.0e}",
         f"{r['objective_below']:+.0e} to {r['objective_above']:+.0e}" if "taus" in r else "")
        for name, r in found.items()
    ]  # fmt: skip
    header = ("", "kinks", "KKT", "KKT on the factor", "the factor's error in k", "objective against SMO")
    return (
        "KKT at every kink, that of the factor's path for the kernel that the factor has; and the path's objective "
        "over that of SMO (tolerance 1e-6, its equality constraint taken up by a free row) less 1, at 20 random "
        "tau:\n\n"
    ) + markdown(header, rows)


PARTS = {
    "sets": sets, "optimality": optimality, "objectives": objectives, "printed": printed, "growth": growth,
    "approximate": approximate, "kernel": kernel, "kernel_optimality": kernel_optimality,
}  # fmt: skip


def sweep_table(found):
    """One row for each way of preparing the columns, over all sets, rows and C."""
    paths = {}
    for cases in found["sets"].values():
        for key, r in cases.items():
            paths.setdefault(key.split(", ")[1], []).append(r)
    rows = []
    for how, cases in paths.items():
        exact = [r for r in cases if r["ended"] == "solved" and r["method"] == "exact"]
        going_on = [r for r in cases if r["ended"] == "solved" and r["method"] == "approximate"]
        warned = going_on + [r for r in cases if r["ended"].startswith(("numerical", "limit"))]
        kkt = np.array([r["kkt"] for r in exact])
        rows.append(
            (
                how, f"{len(cases):,}", f"{len(exact):,}", f"{len(warned):,}",
                f"{len(cases) - len(exact) - len(warned):,}",
                f"{np.median(kkt):.1e}", f"{kkt.max():.1e}", f"{max(r['seconds'] for r in exact):.1f} s",
            )
        )  # fmt: skip
    header = (
        "columns", "paths", "exact", "warned or approximate", "raised or stalled", "KKT, median", "largest", "slowest",
    )  # fmt: skip
    sets = ", ".join(found["sets"])
    note = f"*Warned or approximate*: digits were lost, or the path went on approximately. {sets}."
    return f"{markdown(header, rows)}\n\n{note}"
