"""What a file holds of the quantifiers: models with what held-out rows say of them, and of a stream its window."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..estimators._saved import SEEN, SEEN_BY_MODEL, estimator
from ..estimators._saved_parts import frozen
from ..files.kinds import COUNT, FLAG, Array, Each, Having, IfThere, Is, Labels, Maybe, Table, Text, fits
from ..statistics import drift, prevalence
from ._counting import METHODS, Judged
from ._crossfit import CrossFit, ScaledClassifier, ScoredBatch
from .quantifier import Quantifier
from .stream import CHECKS, StreamQuantifier

# What is divided by is not zero; weights are not negative; shares are from 0 to 1.
SPREAD = Array("f8", "q", low=1e-300)
WEIGHTS = Array("f8", "n", low=0)
SHARES = Array("f8", "k", low=0, high=1)


def _sound_means(means: prevalence.ClassMeans) -> None:
    for rows, weights in zip(means.rows, means.weights, strict=True):
        fits(rows.ndim == 2 and rows.shape == (len(weights), len(means.rows)), "the rows and weights of a class")


def _sound_judged(judged: Judged) -> None:
    held, likelihood, k = judged.held, judged.likelihood, len(judged.calls.rows)
    n, q = held.scores.shape
    fits(likelihood.centre.shape == (q,) and likelihood.weights.shape == (q + 1, k), "the scores and their likelihood")
    fits(judged.log_f.shape == (n, k) and likelihood.prevalence.shape == (k,), "the scores and their likelihood")
    fits(np.all(held.y < k) and np.all(held.called < k), "the labels and the classes")
    for model in held.models:
        fits(len(model.centre) == q and len(model.classes) == k, "the models and their scores")


# n rows, k classes, q scores a row, m models; a prevalence whose logarithm is taken is not zero.
PARTS = (
    frozen(
        ScaledClassifier,
        {"classifier": Having("predict", "classes_"), "classes": Labels("k"), "centre": Array("f8", "q"),
         "scale": SPREAD},
    ),
    frozen(
        CrossFit,
        {"models": Each(Is(ScaledClassifier)), "scores": Array("f8", "n", "q"), "called": Array("i8", "n", low=0),
         "y": Array("i8", "n", low=0), "weight": Maybe(WEIGHTS)},
    ),
    frozen(ScoredBatch, {"called": Array("i8", "m", "n", low=0), "scores": Array("f8", "m", "n", "q")}),
    frozen(
        prevalence.Likelihood,
        {"centre": Array("f8", "q"), "scale": SPREAD, "weights": Array("f8", "q1", "k"),
         "prevalence": Array("f8", "k", low=1e-300, high=1)},
    ),
    frozen(
        prevalence.ClassMeans,
        {"mean": Array("f8", "k", "k"), "rows": Each(Array("f8", "*", "k"), "k"),
         "weights": Each(Array("f8", "*"), "k")},
        _sound_means,
    ),
    frozen(
        Judged,
        {"held": Is(CrossFit), "likelihood": Is(prevalence.Likelihood), "log_f": Array("f8", "n", "k"),
         "calls": Is(prevalence.ClassMeans)},
        _sound_judged,
    ),
    frozen(
        drift.Tally,
        {"counts": Array("f8", "k", drift.BINS, low=0), "sums": Array("f8", "k", drift.BINS, low=0),
         "squares": Array("f8", "k", drift.BINS, low=0)},
    ),
)  # fmt: skip


def _sound_quantifier(model: Any) -> None:
    judged = model._judged
    fits(len(judged.calls.rows) == len(model.classes_), "the models and the classes")
    fits(len(judged.held.models) > 0, "the models and the scores")
    for one in judged.held.models:
        fits(np.array_equal(one.classes, model.classes_), "the models and the classes")


def _sound_stream(model: Any) -> None:
    k, d = len(model.classes_), model.n_features_in_
    for part in (*model._labelled, model._rows):
        fits(part is None or part.shape[1] == d, "the rows and their columns")
        fits(part is None or sp.issparse(part) == model._is_sparse, "dense and sparse rows")
    fits(model._is_sparse in (True, False) and len(model._labelled) == k, "the rows and the classes")
    inner = getattr(model, "_quantifier", None)
    later = ("_at", "_step", "_steps", "_before", "_scored")
    fits(all(hasattr(model, name) == (inner is not None) for name in later), "the models and the window")
    if inner is None:
        return
    fits(np.array_equal(inner.classes_, model.classes_), "the models and the classes")
    for tally in (model._step, *model._steps, model._before):
        fits(len(tally.counts) == k, "the tallies and the classes")
    if model._scored is not None:
        held, scored = inner._judged.held, model._scored
        shape = (len(held.models), model._rows.shape[0], held.scores.shape[1])
        fits(scored.scores.shape == shape and np.all(scored.called < k), "the window and its scores")


_STREAM = {
    **SEEN, "classes_": Labels("k"), "_labelled": Each(Maybe(Table("*")), "k", list), "_n_new": COUNT,
    "_fitted_on": COUNT, "n_seen_": COUNT, "n_alarms_": COUNT, "alarms_": Each(COUNT, type=list),
    "_rows": Maybe(Table("n")), "_rng": Is(np.random.RandomState), "_is_sparse": FLAG,
    "_quantifier": IfThere(Is(Quantifier)), "_at": IfThere(SHARES), "_scored": IfThere(Maybe(Is(ScoredBatch))),
    "_step": IfThere(Is(drift.Tally)), "_steps": IfThere(Each(Is(drift.Tally), CHECKS, list)),
    "_before": IfThere(Is(drift.Tally)),
}  # fmt: skip
DESCRIPTIONS = (
    *PARTS,
    estimator(
        Quantifier,
        {**SEEN_BY_MODEL, "method_": Text(METHODS), "classes_": Labels("k"), "prevalence_": SHARES,
         "_judged": Is(Judged), "informative_": FLAG},
        _sound_quantifier,
    ),
    estimator(StreamQuantifier, _STREAM, _sound_stream),
)  # fmt: skip
