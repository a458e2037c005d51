"""The table of the cost path, from ``benchmarks/results/path.json``."""

from made_tables import markdown


def path_table(found):
    rows = []
    for name, r in found["sets"].items():
        limit = "" if r["at_most"] is None else f" (at most {r['at_most']})"
        rows.append(
            (
                name,
                f"{r['rows']:,} x {r['columns']}",
                f"{r['kinks']:,}",
                f"{r['n_log_n']:,.0f}",
                f"{r['path_s'] * 1e3:.0f} ms",
                f"{r['fit_s'] * 1e3:.1f} ms",
                f"{r['fits']:.1f}{limit}",
                f"{r['recover_s'] * 1e3:.2f} ms",
                f"{r['kkt']:.1e}",
            )
        )
    header = ("", "rows x columns", "kinks", "n log n", "path", "one LIBLINEAR fit", "path in fits", "recover", "KKT")
    return markdown(header, rows)
