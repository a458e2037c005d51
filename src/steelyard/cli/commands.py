"""The commands that look: `demo`, `measures` and `compare`."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from typing import Any

from .data import Source
from .errors import USAGE, CommandError, note
from .tables import labelled, positive_of, prepared_by, with_reader


def demo(given: Namespace) -> int:
    from .. import demo as shown

    with shown.quietly():
        return _demo(given, shown)


def _demo(given: Namespace, shown: Any) -> int:
    start = time.perf_counter()
    print("Find the eights among scikit-learn's 1,797 digits, with at most 1 % false alarms.\n")
    print('1. Which model?   sy.compare(X, y, "recall", "fpr <= 0.01", delta=0.1, cv=3)\n', flush=True)
    print(shown.comparison_table(shown.compared()), flush=True)
    outcomes = list(shown.limits())
    print(f"\n2. Does a limit hold on new rows?   Logistic regression on {shown.SPLITS} halves, judged on the others\n")
    print(shown.limits_table(outcomes), flush=True)
    print(f"\n3. How many are there, where their share has moved?   Batches of {shown.BATCH} rows\n")
    print(shown.batches_table(list(shown.batches())))
    try:
        given.svg.write_text(shown.picture(outcomes, shown.mean_frontier()), encoding="utf-8")
    except OSError as error:
        print(f"\nThe picture could not be written to {given.svg}: {error.strerror}. Give another place with --svg.")
        return 1
    print(f"\nThe second table as a picture: {given.svg}    [{time.perf_counter() - start:.0f} s]")
    return 0


def measures(given: Namespace) -> int:
    from ..measures import measure_of
    from ..measures.parsing import named_measures

    if given.expression is None:
        first = {name: (kind.__doc__ or "").strip().splitlines()[0] for name, kind in named_measures().items()}
        wide = max(map(len, first))
        print(json.dumps(first, indent=1) if given.json else "\n".join(f"{n:<{wide}}  {d}" for n, d in first.items()))
        return 0
    measure = measure_of(given.expression)
    if given.json:
        known = {"curvature": measure.curvature, "monotonicity": measure.monotonicity, "range": list(measure.range)}
        print(json.dumps({"measure": repr(measure), **({} if measure.is_lifted else known)}, default=str))
    else:
        print(repr(measure) if measure.is_lifted else measure.explain())
    return 0


def compare(given: Namespace) -> int:
    import numpy as np

    from .. import saving
    from ..comparison import compare as judge

    constraints = subject_to_of(given)
    table = labelled(Source(given.data, given.format, given.delimiter).whole(), given.target)
    found = judge(
        table.X, table.y, given.measure, constraints, given.delta, cv=given.folds, n_jobs=given.jobs,
        pos_label=positive_of(given.pos_label, np.unique(table.y)), random_state=given.seed, verbose=not given.quiet,
    )  # fmt: skip
    if given.out is not None:
        saving.save(with_reader(table.reader, found.best_), given.out)
    if given.json:
        print(json.dumps(_as_json(found, given), default=str))
        return 0
    if not given.quiet:
        note(prepared_by(table, found.preparation_) + "\n")
    print(found)
    if given.out is not None:
        print(f"\nThe model: {given.out}")
    return 0


def subject_to_of(given: Namespace) -> Any:
    """The constraints, which a classifier may keep or break, and what is to be promised of them."""
    from ..measures import parse_constraints

    found = [one for text in given.subject_to or () for one in parse_constraints(text)]
    for one in found:
        low, high = one.body.range.low, one.body.range.high
        if low >= 0.0 or high < 0.0:
            always = "holds for any classifier" if low >= 0.0 else "holds for no classifier"
            raise CommandError(f"--subject-to {str(one)!r} {always}; shares are numbers up to 1: 5 % is 0.05", USAGE)
    if given.delta is not None and not 0.0 < given.delta < 1.0:
        raise CommandError(
            f"--delta is a probability, such as 0.05, that the promise fails; got {given.delta:g}", USAGE
        )
    if given.delta is not None and not found:
        raise CommandError("--delta promises a constraint: say which with --subject-to, such as 'fpr <= 0.05'", USAGE)
    return found or None


def _as_json(found: Any, given: Namespace) -> dict[str, Any]:
    standings = [
        {
            "contender": one.name, "value": one.value.value, "low": one.value.low, "high": one.value.high,
            "difference": one.difference, "standard_error": one.error, "noise": one.is_noise, "kept": one.kept or None,
            "promised": one.promised, "limits": [limit.value for limit in one.limits], "seconds": one.seconds,
        }
        for one in found.standings_
    ]  # fmt: skip
    return {
        "measure": given.measure, "best": found.best_name_, "recommendation": found.recommendation_,
        "contenders": standings, "failures": found.failures_, "model": given.out,
    }  # fmt: skip
