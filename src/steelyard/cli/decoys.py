"""``steelyard decoys``: peptide-spectrum matches in, lists of spectra, peptides and proteins out, in mokapot's format.

Matches are scored by models learned without their fold (`solvers.decoys.rivals`), or, with ``--proof reset``, compete
first by one feature, and then half of the decoys train and the other half judges. A list has the columns of the file
that are no features, ``mokapot score``, ``mokapot q-value`` and ``mokapot PEP`` (one minus the chance of being right),
best first, the proteins last.
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.q_value import QValueClassifier
from ..solvers.decoys import rivals
from ..solvers.decoys.steps import Aim
from ..statistics.competition import winners
from ..statistics.target_decoy import chance_right, weighted_q_values
from ..streams.matches import PROTEINS, MatchTable, read_matches
from .errors import USAGE, CommandError, note

Rows = NDArray[np.intp]


def decoys(given: Namespace) -> int:
    _check_options(given)
    table = read_matches(*given.data)
    _check_decoys(table, given)
    kept, scores, per_target = _proven(table, given) if given.proof else _scored(table, given)
    counts, remarks, files = {}, {}, []
    given.out.mkdir(parents=True, exist_ok=True)
    for level, rows in _levels(table, kept, scores, given):
        target = table.is_target[rows]
        q = weighted_q_values(scores[rows], target, np.ones(len(rows)), per_target)
        wrong = 1.0 - chance_right(scores[rows], target, np.where(target, 1.0, 1.0 / per_target))
        counts[level] = int((target & (q <= given.max_q)).sum())
        remarks[level] = _shortest(int(target.sum()), given.max_q * per_target)
        for name, which in (("", target), ("decoy.", ~target))[: 1 + given.decoys]:
            path = given.out / f"steelyard.{name}{level}.txt"
            files.append(str(path))
            _write(path, table, rows[which], scores[rows][which], q[which], wrong[which])
    if given.json:
        print(json.dumps({"max_q": given.max_q, "proof": given.proof, "accepted": counts, "files": files}))
        return 0
    for level, count in counts.items():
        print(f"{count:,} {level} accepted at q <= {given.max_q:g}{remarks[level]}")
    if not given.quiet:
        note(f"lists: {', '.join(files)}")
    return 0


def _check_options(given: Namespace) -> None:
    for wrong, message in (
        (not 0.0 < given.max_q <= 1.0, f"--max-q is a rate above 0 and at most 1; got {given.max_q:g}"),
        (given.folds < 2, f"--folds is 2 or more, since each is scored by what the others teach; got {given.folds}"),
        (given.seed < 0, f"--seed is 0 or more; got {given.seed}"),
    ):
        if wrong:
            raise CommandError(message, USAGE)


def _check_decoys(table: MatchTable, given: Namespace) -> None:
    number, target = len(table.is_target), table.is_target
    if target.all() or not target.any():
        held, label, missing = ("targets", "1", "decoys") if target.all() else ("decoys", "-1 or 0", "targets")
        raise CommandError(
            f"{', '.join(given.data)}: all {number:,} matches are {held} (Label is {label}), and without {missing} "
            "nothing tells which are wrong: search the spectra with decoys, and keep the matches of both"
        )
    if given.decoy_prefix:
        of_decoys = [str(names) for names in table.column("proteins")[~target]]
        if not any(names.startswith(given.decoy_prefix) for names in of_decoys):
            raise CommandError(
                f"--decoy-prefix {given.decoy_prefix}: no decoy's protein begins so, and none would compete with its "
                f"own; the first decoy has {of_decoys[0].split(PROTEINS)[0]!r}",
                USAGE,
            )


def _shortest(targets: int, rate: float) -> str:
    """Why there can be no list: one without any decoy has 1 / T for its rate."""
    least = math.ceil(1.0 / rate - 1e-9)
    return f": at this rate a list has {least:,} or more, and there are {targets:,}" if targets < least else ""


def _scored(table: MatchTable, given: Namespace) -> tuple[Rows, NDArray[np.float64], float]:
    """All rows, their scores by models that did not see their spectrum, and one decoy for each wrong target."""
    X = _standardised(table.X)
    scores = rivals.left_out_scores(X, table.is_target, table.spectrum, Aim(given.max_q), given.folds, given.seed)
    return winners(scores, table.spectrum, seed=given.seed), scores, 1.0


def _proven(table: MatchTable, given: Namespace) -> tuple[Rows, NDArray[np.float64], float]:
    """The best match of each spectrum by a feature that was not learned, but for the decoys that trained."""
    if given.score not in table.names:
        raise CommandError(
            "--proof needs --score, the feature by which the matches of a spectrum compete before anything is learned; "
            f"got {given.score!r}, and there are {', '.join(table.names)}",
            USAGE,
        )
    best = winners(table.X[:, table.names.index(given.score)], table.spectrum, seed=given.seed)
    peptide = np.unique(table.column("peptide")[best], return_inverse=True)[1].ravel()
    best = best[winners(table.X[best, table.names.index(given.score)], peptide, seed=given.seed)]
    X, target = _standardised(table.X[best]), table.is_target[best]
    model = QValueClassifier(given.max_q, proof="reset", pos_label=True, random_state=given.seed).fit(X, target)
    scores = np.full(len(table.is_target), -np.inf)
    scores[best] = model.decision_function(X)
    return best[~model.training_decoys_], scores, 0.5


def _levels(table: MatchTable, kept: Rows, scores: NDArray[np.float64], given: Namespace) -> Iterator[tuple[str, Rows]]:
    """With a proof one level only, that of peptides, since it is of the rows that competed."""
    peptide = table.column("peptide")
    if not given.proof:
        yield "psms", kept
        kept = _best(kept, scores, np.unique(peptide[kept], return_inverse=True)[1].ravel(), given.seed)
    yield "peptides", kept
    if given.decoy_prefix and not given.proof:
        proteins = table.column("proteins")[kept]
        one = np.array([PROTEINS not in str(names) for names in proteins])  # others do not say which protein is there
        pair = np.array([str(names).removeprefix(given.decoy_prefix) for names in proteins[one]], dtype=object)
        yield "proteins", _best(kept[one], scores, np.unique(pair, return_inverse=True)[1].ravel(), given.seed)


def _best(rows: Rows, scores: NDArray[np.float64], groups: NDArray[Any], seed: int) -> Rows:
    return rows[winners(scores[rows], groups, seed=seed)]


def _standardised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12))


def _write(path: Path, table: MatchTable, rows: Rows, scores: Any, q: Any, wrong: Any) -> None:
    order = np.argsort(-scores, kind="stable")
    last = next(name for name in table.others if name.lower() == "proteins")
    first = [name for name in table.others if name != last]
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("\t".join([*first, "mokapot score", "mokapot q-value", "mokapot PEP", last]) + "\n")
        for k in order:
            held = [_text(table, name, rows[k]) for name in first]
            numbers = [f"{scores[k]:.10g}", f"{q[k]:.10g}", f"{wrong[k]:.10g}"]
            file.write("\t".join([*held, *numbers, str(table.others[last][rows[k]])]) + "\n")


def _text(table: MatchTable, name: str, row: int) -> str:
    return str(bool(table.is_target[row])) if name.lower() == "label" else str(table.others[name][row])
