"""What a notebook shows of an estimator: scikit-learn's diagram, and below it what is sought, as formulas.

maximise    FBeta(beta=1) = 2 p tpr / (...)      the measure, and what a named one is in the rates
subject to  fpr <= 0.01                          constraints, caps and the promise
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from sklearn.utils import estimator_html_repr

from ..measures import Measure
from ..measures.constraints import as_constraints
from ..measures.named import Named

STYLE = "font-family: monospace; font-size: 0.9em; margin: 0.4em 0 0 0.6em; white-space: pre-wrap"


def html_with_formula(estimator: Any) -> str:
    """The diagram of an estimator, and the lines of `sought`."""
    diagram: str = estimator_html_repr(estimator)
    lines = "\n".join(f"{name:<11} {text}" for name, text in sought(estimator))
    return f'{diagram}<div class="steelyard-sought" style="{STYLE}">{escape(lines)}</div>' if lines else diagram


def sought(estimator: Any) -> Iterator[tuple[str, str]]:
    """What an estimator is trained for: ``(what it is, formula)``.

    >>> from steelyard import ThresholdClassifier
    >>> from steelyard.measures import Recall, fpr
    >>> list(sought(ThresholdClassifier(measure=Recall(), subject_to=fpr <= 0.01)))
    [('maximise', 'Recall() = tpr'), ('subject to', 'fpr <= 0.01')]
    """
    parameters = estimator.get_params(deep=False)
    for measure in (parameters.get("measure"), parameters.get("loss")):  # a StructuralSVM's loss may be a measure
        if isinstance(measure, Measure):
            yield "maximise", f"{measure!r} = {measure.args[0]!r}" if isinstance(measure, Named) else repr(measure)
    try:
        limits = [repr(one) for one in as_constraints(parameters.get("subject_to"), groups=True)]
    except (TypeError, ValueError):  # `fit` will say what is wrong with it
        limits = []
    caps = (("max_fpr", "fpr"), ("max_q", "q-value"))
    limits += [f"{rate} <= {parameters[name]!r}" for name, rate in caps if name in parameters]
    if limits:
        yield "subject to", ", ".join(limits)
    if isinstance(delta := parameters.get("delta"), float):
        yield "promised", f"with probability {1.0 - delta:g} on unseen rows"
