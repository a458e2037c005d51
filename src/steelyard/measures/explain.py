"""A measure as a tree to read: at each node its range, how it moves with the rates, and its curvature.

Only what helps is shown: a named measure inside another one is one line, and an affine part is not taken apart.
"""

from __future__ import annotations

from .expression import Measure
from .rules import IS_AFFINE, smallest_offender

SIGNS = {1: "+", -1: "-", 0: "0", None: "?"}  # of a slope
WIDEST = 64  # characters of an expression, so that the whole table fits a terminal of 120


def explain(measure: Measure) -> str:
    rows: list[tuple[str, str, str, str]] = []
    _walk(measure, "", "", rows, is_root=True)
    wide, range_wide = (max(len(row[k]) for row in rows) for k in (0, 1))
    lines = [f"{'expression':{wide}}  {'range':{range_wide}}  tpr tnr  curvature"]
    lines += [f"{text:{wide}}  {span:{range_wide}}  {slopes}  {curvature}" for text, span, slopes, curvature in rows]
    lines.append("(+ non-decreasing, - non-increasing, 0 constant, ? either way; for every prevalence)")
    if not measure.is_monotone:
        lines.append(
            "Not known to be monotone: it may reward mistakes, so solvers keep the result skilful on their own account."
        )
    offender = smallest_offender(measure)
    if offender is not None:
        lines.append(
            f"The rules cannot tell the curvature of {offender!r}: a frontier search is used, which needs none."
        )
    return "\n".join(lines)


def _walk(node: Measure, lead: str, below: str, rows: list[tuple[str, str, str, str]], is_root: bool = False) -> None:
    slopes = f" {SIGNS[node.slope(0)]}   {SIGNS[node.slope(1)]} "
    text = repr(node)
    text = text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
    rows.append((lead + text, str(node.range), slopes, node.curvature))
    for last, arg in _parts(node, is_root):
        _walk(arg, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "), rows)


def _parts(node: Measure, is_root: bool) -> list[tuple[bool, Measure]]:
    while node.is_identity and is_root:
        node = node.args[0]
    if node.is_identity or node.curvature in IS_AFFINE:
        return []
    return [(k == len(node.args) - 1, arg) for k, arg in enumerate(node.args)]
