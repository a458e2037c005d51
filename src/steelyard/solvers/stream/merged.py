"""Learners that each saw a part of the rows, merged into one: what a stream in partitions leaves behind.

Given learners of one problem (`Learner`), each after its own rows, comes back one that stands for all rows:

    weights      their mean, by rows: for concave measures the mean of models is at least as good as a model in the mean
    duals        class masses and tallies add up; class weights, multiplier and level are means by rows
    reservoirs   one sample of each class: of each part in proportion to its mass, as large as one stream would keep

The offset is then the exact best threshold of the mean model on the joint sample, as for one stream. What a merge costs
against one stream over the same rows is in docs/scale.md. `merged` is a sum: it goes up a tree, and its draws depend on
the seed and the part's number alone, so that the same tree gives the same bits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...files.values import from_bytes, to_bytes
from ...rows import Rows
from ...statistics import frontier
from . import rare_class
from .learner import Learner, LinearModel, learning_curve
from .problem import IN_ORDER, Pass, Problem
from .second_reading import Sample
from .settings import SAMPLE
from .threshold import choose

Array = NDArray[np.float64]
KIND = "state"


@dataclass(frozen=True, eq=False)
class Side:
    """The kept rows of one class: values, the weight each stands for, and of how many rows they are a sample."""

    X: Any
    weight: Array
    offered: int

    def part(self, count: int, seed: tuple[int, ...]) -> Side:
        """So many of them, each standing for more."""
        if count >= len(self.weight):
            return self
        which = np.sort(np.random.default_rng(seed).permutation(len(self.weight))[:count])
        weight = self.weight[which]
        return Side(self.X[which], weight * (self.weight.sum() / max(weight.sum(), 1e-300)), self.offered)


@dataclass(frozen=True, eq=False)
class Merged:
    """What is left of some learners; `number` is that of the first part."""

    number: int
    n_rows: int
    w: Array
    intercept: float
    mass: Array  # of both classes
    sides: tuple[Side, Side]
    mark: Array  # the last one of the history: rows, tallies (4), class weights, multiplier and level
    spread: float

    @classmethod
    def of(cls, learner: Learner, number: int) -> Merged:
        core, problem = learner._core, learner.problem
        sample = Sample.of(core, problem, learner.n_features)
        sides = []
        for side, sign in enumerate((-1, 1)):
            which = np.flatnonzero(sample.signs == sign)
            sides.append(Side(sample.rows.source[which], sample.weight[which], int(core.reservoir_offered[side])))
        marks = np.asarray(core.history())
        mark = marks[-1] if len(marks) else np.zeros(9)
        w, intercept = learner._coefficients(), float(core.intercept(problem.average))
        mass = np.asarray(core.class_mass) * (core.rows_once / max(core.rows, 1.0))
        return cls(number, int(core.rows_once), w, intercept, mass, (sides[0], sides[1]), mark, learner.spread)


def merged(parts: Sequence[Merged], problem: Problem) -> Merged:
    """All of them in one, in their order."""
    rows = np.array([part.n_rows for part in parts], dtype=np.float64)
    share = rows / rows.sum()
    capacity = SAMPLE.capacity(problem, len(parts[0].w))
    seed = problem.seed, parts[0].number
    sides = [_joined([part.sides[k] for part in parts], capacity[k], (*seed, k)) for k in (0, 1)]
    marks = np.stack([part.mark for part in parts])
    mark = np.concatenate([marks[:, :5].sum(0), share @ marks[:, 5:]])
    return Merged(
        parts[0].number, int(rows.sum()), share @ np.stack([part.w for part in parts]),
        float(share @ np.array([part.intercept for part in parts])), np.sum([part.mass for part in parts], axis=0),
        (sides[0], sides[1]), mark, max(part.spread for part in parts),
    )  # fmt: skip


def _joined(sides: Sequence[Side], capacity: int, seed: tuple[int, ...]) -> Side:
    held = np.array([len(side.weight) for side in sides])
    mass = np.array([side.weight.sum() for side in sides])
    if held.sum() > capacity:
        wanted = np.minimum(held, np.ceil(capacity * mass / max(mass.sum(), 1e-300))).astype(int)
        sides = [side.part(int(count), (*seed, k)) for k, (side, count) in enumerate(zip(sides, wanted, strict=True))]
    tables = [side.X for side in sides]
    sparse = any(sp.issparse(X) for X in tables)
    X = sp.csr_matrix(sp.vstack([sp.csr_matrix(X) for X in tables])) if sparse else np.concatenate(tables)
    return Side(X, np.concatenate([side.weight for side in sides]), sum(side.offered for side in sides))


class MergedLearner:
    """A learner like `Learner`, of parts that were merged; more rows are learned by one more part."""

    def __init__(self, problem: Problem, n_features: int, now: Merged | None = None) -> None:
        self.problem, self.n_features, self.now = problem, n_features, now
        self._model: LinearModel | None = None

    def learn(self, X: Any, y: NDArray[np.int8], weight: Array | None = None, run: Pass = IN_ORDER) -> None:
        """Learn from rows with labels -1 and +1, as one more part."""
        learner = Learner(self.problem, self.n_features)
        learner.learn(X, y, weight, dataclasses.replace(run, disposable=True))
        number = 1 if self.now is None else self.now.number + 1
        new = Merged.of(learner, number)
        self.now, self._model = new if self.now is None else merged([self.now, new], self.problem), None

    def model(self) -> LinearModel:
        if self._model is None:
            self._model = self._find()
        return self._model

    @property
    def settles(self) -> bool:
        return self.problem.constraint is not None

    def direction(self) -> Array:
        return self._now.w

    @property
    def n_rows(self) -> int:
        return self._now.n_rows

    @property
    def spread(self) -> float:
        return self._now.spread

    def curve(self) -> dict[str, Array]:
        """One mark: rates of all parts together, on rows that were scored before they were learned from."""
        negative, positive = self._now.mass
        return learning_curve(self._now.mark[None, :], self.problem.measure, float(positive / (negative + positive)))

    @property
    def _now(self) -> Merged:
        assert self.now is not None
        return self.now

    def _find(self) -> LinearModel:
        now = self._now
        if not (self.problem.guard and self.problem.fit_intercept) or not all(len(side.weight) for side in now.sides):
            return LinearModel(now.w, now.intercept)
        found = self._with_offset(now.w)
        if self.problem.constraint is None and rare_class.asks_for_no_skill(self.problem.measure):
            kept = (len(now.sides[0].weight), len(now.sides[1].weight))
            if rare_class.applies(kept, (now.sides[0].offered, now.sides[1].offered), self.n_features):
                rows, is_positive, weight = self._sample()
                other = rare_class.direction(rows.source, is_positive, weight)
                found = rare_class.better(found, self._with_offset(other))
        return found

    def _sample(self) -> tuple[Rows, NDArray[np.bool_], Array]:
        sides = self._now.sides
        whole = _joined(sides, sum(len(side.weight) for side in sides), (0,))
        is_positive = np.repeat([False, True], [len(side.weight) for side in sides])
        return Rows.of(whole.X, check=False), is_positive, whole.weight

    def _with_offset(self, w: Array) -> LinearModel:
        rows, is_positive, weight = self._sample()
        points = frontier.scan(rows.scores(w), is_positive, weight)
        points = dataclasses.replace(points, n_rows=max(self.n_rows, 1))
        sizes = [float(side.weight.sum() ** 2 / max((side.weight**2).sum(), 1e-300)) for side in self._now.sides]
        choice, status = choose(points, self.problem, (sizes[0], sizes[1]))
        return LinearModel(w, -choice.threshold, choice.tpr, choice.tnr, choice.value, status)

    # -- copies and bytes ---------------------------------------------------------------------------------------
    def copy(self) -> MergedLearner:
        return MergedLearner(self.problem, self.n_features, self.now)  # what is merged never changes

    def save(self) -> bytes:
        now = self._now
        plain = {one.name: getattr(now, one.name) for one in dataclasses.fields(now) if one.name != "sides"}
        sides = [(side.X, side.weight, side.offered) for side in now.sides]
        return to_bytes(KIND, {**plain, "sides": sides})

    def load(self, state: bytes) -> None:
        """Raises ValueError, and changes nothing, if the bytes are not the state of such a learner."""
        found = from_bytes(KIND, state)
        try:
            sides = tuple(Side(X, weight, int(offered)) for X, weight, offered in found.pop("sides"))
            now = Merged(sides=(sides[0], sides[1]), **found)
            fits = now.w.shape == (self.n_features,) and now.mass.shape == (2,) and now.mark.shape == (9,)
            for side in now.sides:
                fits = fits and side.X.shape == (len(side.weight), self.n_features)
                fits = fits and bool((side.weight >= 0.0).all()) and bool(np.isfinite(side.weight).all())
            Rows.of(_joined(now.sides, 2**62, (0,)).X)
        except (TypeError, AttributeError, KeyError, IndexError) as error:
            raise ValueError(f"it is not the state of merged learners: {error}") from error
        if not (fits and np.isfinite(now.w).all()):
            raise ValueError("it is not the state of merged learners of this problem")
        self.now, self._model = now, None

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "n_features": self.n_features, "state": self.save()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["problem"], saved["n_features"])  # type: ignore[misc]
        self.load(saved["state"])
