"""``steelyard predict`` and ``steelyard quantify``: a model from a file on new rows, a chunk at a time."""

from __future__ import annotations

import csv
import json
import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .. import saving
from ..estimators._progress import Progress
from .data import Block, Source
from .errors import CommandError, note
from .tables import rows_for


def predict(given: Namespace) -> int:
    model = saving.load(given.model, trusted=given.trusted)
    if not hasattr(model, "classes_"):
        raise CommandError(f"{given.model} holds no fitted classifier")
    if _is_quantifier(model):
        raise CommandError(f"{given.model} counts rows and labels none: steelyard quantify")
    # Progress only where the labels go elsewhere than the screen.
    shown = not given.quiet and (given.out is not None or not sys.stdout.isatty()) and sys.stderr.isatty()
    with _output(given.out) as out, Progress(shown) as progress:
        writer = None if given.json else csv.writer(out, lineterminator="\n")
        head = [["prediction", *(["score"] if given.scores else [])]]  # after the first rows are read, or not at all
        for block in _blocks(given, model):
            X = rows_for(model, block)
            called = model.predict(X).tolist()
            columns = [called, _scores(model, X).tolist()] if given.scores else [called]
            if writer is not None:
                writer.writerows([*head, *zip(*columns, strict=True)])
                head = []
            else:
                names = ("prediction", "score")[: len(columns)]
                out.writelines(
                    json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in zip(*columns, strict=True)
                )
            progress.update(len(called))
        if writer is not None:
            writer.writerows(head)
    return 0


def quantify(given: Namespace) -> int:
    model = saving.load(given.model, trusted=given.trusted)
    if not hasattr(model, "classes_"):
        raise CommandError(f"{given.model} holds no fitted classifier")
    if _is_quantifier(model):
        source = Source(given.data, given.format, given.delimiter)
        X = rows_for(model, source.whole(getattr(model, "n_features_in_", None)))
        counter = _last(model)
        for _, step in model.steps[:-1] if counter is not model else ():
            X = step.transform(X)
        shares, ends = counter.predict(X), counter.predict_interval(X, given.confidence)
        found = {
            str(label): {"share": float(share), "low": float(low), "high": float(high)}
            for label, share, low, high in zip(counter.classes_.tolist(), shares, *ends, strict=True)
        }
        n = len(X) if not hasattr(X, "shape") else X.shape[0]
    else:
        note("labels are counted as they are predicted, which miscounts when the balance has moved; fit --model count")
        counts: Counter[Any] = Counter()
        for block in _blocks(given, model):
            counts.update(model.predict(rows_for(model, block)).tolist())
        n = sum(counts.values())
        found = {str(label): {"share": counts[label] / max(n, 1)} for label in model.classes_.tolist()}
    if given.json:
        print(json.dumps({"rows": n, "classes": found}))
        return 0
    for label, one in found.items():
        ends_said = f"  [{one['low']:.4f}, {one['high']:.4f}]" if "low" in one else ""
        print(f"{label}  {one['share']:.4f}{ends_said}  {one['share'] * n:,.0f} of {n:,} rows")
    return 0


def _blocks(given: Namespace, model: Any) -> Iterator[Block]:
    source = Source(given.data, given.format, given.delimiter)
    return source.blocks(n_features=getattr(model, "n_features_in_", None))


def _scores(model: Any, X: Any) -> Any:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, -1]
    raise CommandError("--scores: this model has neither scores nor probabilities")


def _last(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _is_quantifier(model: Any) -> bool:
    return hasattr(_last(model), "predict_interval")


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that is there only when it is whole."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
