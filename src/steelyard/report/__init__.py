"""A page to look at: every operating point of a model on labelled rows, moved by hand, in one HTML file.

`Report(model, X, y).save("report.html")`. The page carries the rows' places in the order of the scores, so that every
point is computed exactly where it is looked at, by the formulas of `statistics.reporting` and the measures' tapes.
"""

from .report import OperatingPoint, Report

__all__ = ["OperatingPoint", "Report"]
