"""The table of the page on `compare`: what was recommended, and what would have been best on fresh rows."""

from made_tables import markdown


def comparing_table(found):
    rows, right, near = [], 0, 0
    for one in found["sets"]:
        right += one["behind"] <= one["error"]
        near += one["behind"] <= one["errors"][one["best"]]
        behind = "" if one["behind"] == 0 else f"{one['behind']:.4f} ± {one['error']:.4f}"
        ratio = f"{one['seconds'] / one['slowest']:.1f}"
        value = f"{one['values'][one['recommended']]:.4f}"
        rows.append((one["set"], one["recommended"], value, one["best"], behind, ratio))
    head = ("set", "recommended", "F1 on fresh rows", "best there", "behind it", "time / slowest")
    n = len(found["sets"])
    said = (
        f"Best, or behind by no more than the standard error on the fresh rows: {right} of {n}; by no more than the "
        f"standard error that the comparison itself had for the pair: {near} of {n}."
    )
    return markdown(head, rows) + "\n\n" + said
