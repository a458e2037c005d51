"""``steelyard fit``: a table, a measure and constraints to a model in a file."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from .. import saving
from ..comparison.contenders import HELD_OUT
from ..comparison.preparing import preparation
from ..estimators._progress import Progress
from ..estimators.cost_path import CostPath
from ..estimators.measure_classifier import MeasureClassifier
from ..estimators.online import OnlineClassifier
from ..estimators.threshold import ThresholdClassifier
from ..files import replace
from ..measures import measure_of
from .commands import subject_to_of
from .data import Source
from .errors import INTERRUPTED, USAGE, CommandError, note
from .tables import Labelled, labelled, positive_of, prepared_by, with_reader


def fit(given: Namespace) -> int:
    start = time.perf_counter()
    replace.check_place(given.out)
    measure, constraints = measure_of(given.measure), subject_to_of(given)
    source = Source(given.data, given.format, given.delimiter)
    goal: dict[str, Any] = {"subject_to": constraints, "random_state": given.seed, "verbose": not given.quiet}
    if given.model == "online":
        return _fit_online(given, source, OnlineClassifier(measure, **goal), start)
    table = labelled(source.whole(), given.target)
    prepare = preparation(table.X, impute=True)
    if not measure.is_lifted:
        goal["pos_label"] = positive_of(given.pos_label, np.unique(table.y))
    if not given.quiet:
        note(prepared_by(table, prepare))
    if given.delta is not None:
        goal |= {"delta": given.delta, "cv": HELD_OUT}
    model = fitted(given, measure, goal, prepare, table)
    return _written(given, with_reader(table.reader, model), len(table.y), measure, start)


def fitted(given: Namespace, measure: Any, goal: dict[str, Any], prepare: Any, table: Labelled) -> Any:
    if given.model == "threshold":
        model = ThresholdClassifier(make_pipeline(prepare, LogisticRegression(max_iter=1000)), measure, **goal)
        return model.fit(table.X, table.y)
    if given.model == "batch":
        return make_pipeline(prepare, MeasureClassifier(measure, **goal)).fit(table.X, table.y)
    if given.delta is not None:
        raise CommandError(f"--model {given.model} promises nothing; --delta is for threshold and batch", USAGE)
    if given.model == "count":
        from ..quantification import Quantifier

        counted = make_pipeline(prepare, LogisticRegression(max_iter=1000))
        return Quantifier(counted, random_state=given.seed, verbose=not given.quiet).fit(table.X, table.y)
    X, X_held, y, y_held = train_test_split(
        table.X, table.y, test_size=HELD_OUT, stratify=table.y, random_state=given.seed
    )
    path = cost_path(given, goal).fit(prepare.fit_transform(X), y)
    chosen = path.best(measure, prepare.transform(X_held), y_held, subject_to=goal["subject_to"])
    return make_pipeline(prepare, chosen)


def cost_path(given: Namespace, goal: dict[str, Any]) -> CostPath:
    kernel = "rbf" if given.model == "kernel" else "linear"
    told = goal.get("verbose", False)
    return CostPath(kernel=kernel, pos_label=goal.get("pos_label"), random_state=given.seed, verbose=told)


def _fit_online(given: Namespace, source: Source, model: OnlineClassifier, start: float) -> int:
    """A chunk at a time; the first one says how columns are read and scaled. Ctrl-C keeps what was learned."""
    if given.delta is not None:
        raise CommandError("--model online promises nothing; --delta is for threshold and batch", USAGE)
    if source.kind == "svmlight" and given.features is None:
        raise CommandError("an svmlight file does not say how many columns it has; --features does", USAGE)
    blocks = iter(source.blocks(n_features=given.features))
    first = next(blocks, None)
    if first is None:
        raise CommandError(f"{given.data}: there are no rows")
    begin = labelled(first, given.target)
    model.pos_label = positive_of(given.pos_label, np.unique(begin.y))
    prepare = preparation(begin.X, impute=True).fit(begin.X)
    if not given.quiet:
        note(f"of what the first block has: {prepared_by(begin, prepare)}")
    rows, ended = 0, 0

    def tables() -> Iterator[Labelled]:
        return chain([begin], (labelled(block, given.target, begin.reader) for block in blocks))

    try:
        with Progress(not given.quiet) as progress:
            for table in tables():
                model.partial_fit(prepare.transform(table.X), table.y)
                rows += len(table.y)
                progress.update(len(table.y), model._message(model._learner))
        model._settle()
    except KeyboardInterrupt:
        if not rows:
            raise
        note(f"interrupted after {rows:,} rows; the model of these rows is kept")
        ended = INTERRUPTED
    whole = with_reader(begin.reader, make_pipeline(prepare, model))
    return _written(given, whole, rows, model.measure, start) or ended


def _written(given: Namespace, model: Any, rows: int, measure: Any, start: float) -> int:
    saving.save(model, given.out)
    inner = model
    while hasattr(inner, "steps"):
        inner = inner.steps[-1][1]
    promise = getattr(inner, "promise_", None)
    said = {
        "model": str(given.out), "kind": given.model, "rows": rows, "measure": repr(measure),
        "classes": [plain(label) for label in inner.classes_], "pos_label": plain(getattr(inner, "pos_label_", None)),
        "value": plain(getattr(inner, "best_score_", None)), "promise": None if promise is None else str(promise),
        "seconds": round(time.perf_counter() - start, 3),
    }  # fmt: skip
    if given.json:
        print(json.dumps(said))
        return 0
    print(f"{said['model']}: {given.model}, {rows:,} rows, {said['seconds']:.1f} s")
    if said["value"] is not None:
        print(f"{said['measure']} {said['value']:.4f} on rows that were left out, at the point chosen on them")
    if said["pos_label"] is not None:
        print(f"positive class: {said['pos_label']!r}")
    if promise is not None:
        print(f"promised: {promise}")
    return 0


def plain(value: Any) -> Any:
    """A scalar of numpy as Python's own, for JSON."""
    return value.item() if isinstance(value, np.generic) else value
