"""The table of the page on reports: how large the page is, and how long it takes to make, to open and to move."""

from made_tables import markdown


def size_table(found):
    rows = []
    for name, said in (("plain", "all rows together"), ("groups", "in four groups")):
        one = found[name]
        cells = (
            f"{one['bytes'] / 1e6:.2f} MB",
            *(f"{one[key]:.2f} s" for key in ("make_s", "open_median_s", "move_median_s")),
        )
        rows.append((said, f"{one['points']:,}", *cells))
    head = (f"{found['rows']:,} rows", "operating points", "file", "made in", "opened in", "a slider moved in")
    return markdown(head, rows)
