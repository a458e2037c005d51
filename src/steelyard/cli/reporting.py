"""``steelyard report``: a table to a page that shows every operating point of a model on rows that it has not seen."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from .. import saving
from ..comparison.contenders import HELD_OUT, Task, automatic
from ..comparison.judging import few_threads
from ..comparison.preparing import preparation
from ..estimators._progress import Steps
from ..estimators._users import part_of
from ..files import replace
from ..measures import measure_of
from ..report import Report
from .commands import subject_to_of
from .data import Source
from .errors import USAGE, CommandError, note
from .tables import Labelled, labelled, positive_of, rows_for, with_reader
from .training import cost_path, fitted, plain

BESIDE = ("logistic regression", "logistic regression, balanced", "boosted trees")  # what most people would do


def report(given: Namespace) -> int:
    replace.check_place(given.out)
    block = Source(given.data, given.format, given.delimiter).whole()
    groups = block.column(given.groups) if given.groups else None
    table = labelled(block, given.target)
    if given.source is not None:
        model = saving.load(given.source, trusted=given.trusted)
        rows, y = rows_for(model, block), table.y
        baselines: dict[str, Any] = {}
    else:
        train, test = _split(table.y, given.seed)
        with Steps(not given.quiet, total=1 + len(BESIDE)) as steps:
            model, baselines = _models(given, table, train, steps)
        rows = part_of(table.X if table.reader is None else block.take(tuple(table.reader.names)), test)
        y, groups = table.y[test], None if groups is None else groups[test]
        if given.save_model is not None:
            saving.save(model, given.save_model)
            model = given.save_model
    made = Report(
        model, rows, y, measure=given.measure, subject_to=subject_to_of(given), slices=groups, baselines=baselines,
        pos_label=positive_of(given.pos_label, np.unique(table.y)),
    )  # fmt: skip
    made.save(given.out)
    return _said(given, made)


def _split(y: Any, seed: int) -> tuple[Any, Any]:
    """Rows to fit on, and the others."""
    try:
        train, test = train_test_split(np.arange(len(y)), test_size=HELD_OUT, stratify=y, random_state=seed)
    except ValueError as error:
        raise CommandError(f"the rows cannot be split into some to fit on and others to report on: {error}") from None
    return train, test


def _models(given: Namespace, table: Labelled, train: Any, steps: Steps) -> tuple[Any, dict[str, Any]]:
    """The model, and what stands beside it, all fitted on the same rows."""
    measure, constraints = measure_of(given.measure or "f1"), subject_to_of(given)
    if measure.is_lifted:
        raise CommandError(f"a report is about two classes; {measure!r} is of several", USAGE)
    positive = positive_of(given.pos_label, np.unique(table.y))
    part = Labelled(part_of(table.X, train), table.y[train], table.reader)
    prepare = preparation(part.X, impute=True)
    goal: dict[str, Any] = {"subject_to": constraints, "random_state": given.seed, "pos_label": positive}
    if given.delta is not None:
        goal |= {"delta": given.delta, "cv": HELD_OUT}
    steps.say(given.model)
    if given.model in ("path", "kernel") and given.delta is None:
        model = make_pipeline(prepare, cost_path(given, goal).fit(prepare.fit_transform(part.X), part.y))
    else:
        model = fitted(given, measure, goal, prepare, part)
    beside = automatic(Task(measure, random_state=given.seed, pos_label=positive), preparation(part.X, impute=True))
    with few_threads(len(part.y)):
        models = {"model": model}
        for name in BESIDE:
            steps.step(name)
            models[name] = beside[name].fit(part.X, part.y)
    steps.step("all fitted")
    whole = {name: with_reader(table.reader, one) for name, one in models.items()}
    return whole.pop("model"), whole


def _said(given: Namespace, made: Report) -> int:
    point = made.recommended_
    if given.json:
        figures = {name: [one.value, one.low, one.high] for name, one in point.figures.items()}
        found = {"report": str(given.out), "rows": sum(point.counts), "threshold": plain(point.threshold)}
        print(json.dumps(found | {"figures": figures}))
        return 0
    if not given.quiet:
        note(repr(made))
    print(f"{given.out}: {sum(point.counts):,} rows that the model has not seen; open it in a browser")
    return 0
