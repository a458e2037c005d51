"""The page of a report: its data as JSON, in one HTML file with its style and its script.

Nothing is loaded from elsewhere, and the page says so itself (its content security policy allows no request). Names of
columns, groups and labels are data: in HTML they are escaped, in JSON no "<" is left, and the script writes text only.
"""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..measures import Measure, Precision, fnr, fpr, tnr, tpr
from ..measures.arithmetic import Constant
from ..measures.constraints import TOLERANCE, Constraint
from ..measures.tape import OPS, flatten
from ..statistics.frontier import TIE
from ..statistics.reporting import GENERATOR, LEVELS, POINTS, bands, known_as
from .numbers import keys, packed_places, packed_rising
from .reading import promise_of

if TYPE_CHECKING:
    from .report import Report

SCRIPTS = ("numbers.js", "points.js", "chart.js", "page.js")
MOST_COLUMNS = 60  # named; a page that lists more is not read
# What the rates are called on the page, in the order in which they are shown.
TITLES = {
    "tpr": "Recall (TPR)",
    "fpr": "False-alarm rate (FPR)",
    "Precision()": "Precision",
    "fnr": "Miss rate (FNR)",
    "tnr": "Specificity (TNR)",
    "prevalence": "Prevalence",
}
THRESHOLD = {
    "predict_proba": "Threshold on the probability",
    "decision_function": "Threshold on the score",
    "tau": "Cost parameter tau of the path",
}


def page(report: Report) -> str:
    """The whole file."""
    data = json.dumps(data_of(report), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        "title": escape(title_of(report)),
        "style": _template("report.css"),
        "data": data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
        "script": "\n".join(_template(name) for name in SCRIPTS),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _template("report.html"))


def _template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


def title_of(report: Report) -> str:
    return report.title or f"Operating points of {_name(report)}"


def _name(report: Report) -> str:
    last = report._reading.last
    inner: Any = getattr(last, "estimator_", last)
    while hasattr(inner, "steps"):
        inner = inner.steps[-1][1]
    return type(inner).__name__


def columns_of(model: Any, X: Any) -> list[str]:
    """The names of the columns that the model reads, as far as anybody knows them."""
    first = model[0] if hasattr(model, "steps") else model
    for names in (
        getattr(X, "columns", None),
        getattr(first, "names", None),
        getattr(model, "feature_names_in_", None),
    ):
        if names is not None:
            return [str(name) for name in names]
    return []


def data_of(report: Report) -> dict[str, Any]:
    """All that the page knows."""
    reading = report._reading
    points, n = reading.points, len(reading.is_positive)
    imports, line = reading.line()
    number = keys(points.thresholds)
    return {
        "title": title_of(report),
        "facts": _facts(report),
        "about": _about(report),
        "confidence": report.confidence,
        "rows": n,
        "classes": [str(label) for label in reading.classes],
        "scale": {
            "title": THRESHOLD[reading.scale],
            "name": "tau" if reading.scale == "tau" else "threshold",
            "shift": reading.shift,
            "imports": imports,
            "line": line,
        },
        "points": {"start": int(number[0]), "n": len(points), "steps": packed_rising(number - number[0])},
        "exact": {str(k): value for k, value in points.exact.items()},
        "sets": _sets(report),
        "recommended": report._recommended,
        "chosenHere": not report._set_for or reading.own is None,
        "own": reading.own,
        "measure": {"name": repr(report.measure), "figure": known_as(report.measure), "tape": _tape(report.measure)},
        "figures": _figures(report),
        "quantities": _quantities(),
        "constraints": [_constraint(one) for one in report.constraints],
        "promise": _promise(report),
        "baselines": _baselines(report),
        "band": bands(points.frontier(), report.confidence),
        "lattice": {"points": POINTS, "generator": GENERATOR, "levels": LEVELS},
        "tolerance": TOLERANCE,
        "tie": TIE,
    }


def _facts(report: Report) -> str:
    """One line below the title."""
    reading = report._reading
    n, n_pos = len(reading.is_positive), reading.points.positives
    under = "".join(f", {one!r}" for one in report.constraints)
    return (
        f"{n:,} rows, {n_pos:,} of them “{reading.classes[1]}” ({100 * n_pos / n:.3g} %). Judged by {report.measure!r}"
        f"{under}."
    )


def _about(report: Report) -> list[tuple[str, str]]:
    last, columns = report._reading.last, report._columns
    shown = ", ".join(columns[:MOST_COLUMNS])
    if len(columns) > MOST_COLUMNS:
        shown += f" and {len(columns) - MOST_COLUMNS} more"
    promise = promise_of(last)
    found = [("Model", repr(report._reading.model))]
    found += [("Columns", shown)] if columns else []
    found += [("Promised", f"{promise!r}")] if promise is not None else []
    found += [("Asked within groups", ", ".join(map(repr, report._in_groups)))] if report._in_groups else []
    return [*found, ("Made by", f"steelyard {__version__}")]


def _sets(report: Report) -> list[dict[str, Any]]:
    """The rows of each group, or all of them: for each class, sorted, the point from which a row is not called."""
    points = report._reading.points
    turning = {one.row for one in points.turning}
    once = np.ones(len(points.until), dtype=np.bool_)
    once[list(turning)] = False
    found = []
    for name, inside in report._rows_of_groups() or [("", np.ones(len(once), dtype=np.bool_))]:
        part: dict[str, Any] = {"name": name}
        for side, is_class in (("positives", points.is_positive), ("negatives", ~points.is_positive)):
            places = np.sort(points.until[inside & once & is_class])
            odd = [one for one in points.turning if inside[one.row] and is_class[one.row]]
            part[side] = {"n": len(places), "places": packed_places(places)}
            part[side]["turning"] = [[int(one.at_start), *one.turns] for one in odd]
        found.append(part)
    return found


def _figures(report: Report) -> list[dict[str, Any]]:
    """The measure, what is bound, and every rate; those with a posterior of Beta by their name."""
    from .report import ALARMS

    rates: dict[str, Measure] = {repr(one): one for one in (tpr, fpr, Precision(), fnr, tnr)}
    others = {repr(one): one for one in report._measures() if known_as(one) not in rates}
    found = [{"name": name, "title": name, "tape": _tape(one)} for name, one in others.items()]
    found += [{"name": name, "title": TITLES[name], "tape": _tape(one)} for name, one in rates.items()]
    return [*found, {"name": "alarms", "title": "Alarms per 1,000 rows", "tape": _tape(ALARMS), "times": 1000}]


def _quantities() -> list[dict[str, Any]]:
    """What a constraint of one's own can bound, as a ratio."""
    from .report import ALARMS

    called = {"name": "alarms", "title": "Alarms per 1,000 rows", "times": 1000, "sense": "<=", "start": 50}
    found = []
    for measure, sense, start in ((fpr, "<=", 1), (Precision(), ">=", 80), (tpr, ">=", 90), (fnr, "<=", 5)):
        name = repr(measure)
        found.append({"name": name, "title": TITLES[name], "times": 100, "sense": sense, "start": start})
        top, below = measure.ratio() or (measure, Constant(1))
        found[-1] |= {"top": _tape(top), "below": _tape(below)}
    return [*found, called | {"top": _tape(ALARMS), "below": _tape(Constant(1))}]


def _constraint(one: Constraint) -> dict[str, Any]:
    below = None if one.below is None else _tape(one.below)
    linear = one.is_linear
    return {"text": repr(one), "cleared": _tape(one.cleared), "below": below, "body": _tape(one.body), "linear": linear}


def _promise(report: Report) -> dict[str, Any] | None:
    promise, where = promise_of(report._reading.last), report._promised
    if promise is None or where is None:
        return None
    words = " and ".join(map(repr, promise.constraints))
    said = f"{words} holds on unseen rows, but for a probability of {promise.delta:g}"
    found: dict[str, Any] = {"text": said, "rows": promise.n_rows}
    return found | ({"from": where[0], "to": where[1]} if isinstance(where, tuple) else {"points": where})


def _baselines(report: Report) -> list[dict[str, Any]]:
    """Others on the same rows: those given, the model as it came, and the two that look at nothing."""
    reading = report._reading
    n_pos, n_neg = reading.points.positives, reading.points.negatives
    found = dict(report._baselines)
    if reading.scale == "predict_proba" and reading.own is not None and reading.points.exact[reading.own] != 0.5:
        tp, fp = (int(part[reading.points.of_threshold(0.5)]) for part in report._counts)
        found["the model at 1/2"] = (tp, fp, n_pos - tp, n_neg - fp)
    found |= {"call every row": (n_pos, n_neg, 0, 0), "call no row": (0, 0, n_pos, n_neg)}
    return [{"name": name, "tp": counts[0], "fp": counts[1]} for name, counts in found.items()]


def _tape(measure: Measure) -> list[list[Any]]:
    tape = flatten(measure)
    rows = zip(tape.op.tolist(), tape.left.tolist(), tape.right.tolist(), tape.number.tolist(), strict=True)
    return [[OPS[op], left, right, number] for op, left, right, number in rows]
