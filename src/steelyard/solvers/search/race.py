"""The search as a race: many models on few rows, few models on many.

On ten thousand rows a hundred models can be compared, on a million only a handful, and most of the hundred are out of
the question after the first thousand. So all models start on a small sample of the rows. After each round those are
dropped that will not win:

    value(leader) - value(model) > `doubt` standard errors of this difference,

the standard error by the bootstrap, the same draws for both (`resampling`), so that what both get wrong cancels; and
of a family that calls (nearly) the same rows positive only the most regularised goes on. Of what is left the best few
see `growth` times as many rows, so few that a round costs half of the one before. Anchors (plain models) and the
stream's learner are never dropped for lack of room. A model starts where that of the same fold was in the last round.
The race ends when one model is left, or at all rows; what is taken has won on as many rows as the choice needed.

Samples are nested, and keep at least `of_a_class` rows of each class, with weights that restore the shares. Rounds use
as many of the folds as give `tested` rows to compare on, the last one `settling` rows to set the threshold on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...rows import Rows
from ...statistics.frontier import InfeasibleError
from .exploration import Candidate, Exploration, Sample
from .models import CostModel, Labelled, Model, StreamModel
from .work import FINAL

Array = NDArray[np.float64]
RowNumbers = NDArray[np.intp]


@dataclass(frozen=True)
class Course:
    """How a race is run; `benchmarks/full_size.py` has the times and values behind the numbers.

    Up to `whole` rows there is no race: all models see all rows. `entrants` is about how many models a search starts
    with, `least` how many go on whatever the size. `of_a_class` rows of a class move a rate in steps of half a percent.
    Calls that differ on a share of `same` of the rows are one model. First rounds take so many `passes` at most
    (hinges of large C on w8a are not certified after a hundred, and serve the choice as well after thirty) and are
    `looser` by this factor; the last one is `tighter` where it has one fold: the exploration's tolerance is ten times
    that of the final fit. For who watches: about so many models are tried `near` the best, and go on `beside` the best
    few (two anchors and the stream's learner).
    """

    whole: int = 4_000
    first: int = 2_000
    growth: int = 4
    thrift: float = 2.0
    entrants: int = 80
    least: int = 3
    doubt: float = 2.0
    same: float = 1e-3
    of_a_class: int = 200
    folds: int = 3
    passes: int = 30
    looser: float = 3.0
    tighter: float = 0.1
    tested: int = 10_000
    settling: int = 30_000
    near: int = 11
    beside: int = 3
    contiguous: int = 2**22  # values of a sample that are copied to lie together, 32 MB: views wait for memory


COURSE = Course()


@dataclass(frozen=True)
class Won:
    """The model with its operating point, and the exploration that it was found in, its test rows among all rows."""

    chosen: Candidate
    exploration: Exploration


def race(whole: Exploration, enter: Callable[[Exploration], None], near: Callable[[Exploration, int], None]) -> Won:
    """`enter` adds the models that start, `near` those near the best so far; the last round is always on all rows."""
    field: list[Model] | None = None
    anchors: set[Model] = set()
    rounds = list(ladder(whole))
    for k, part in enumerate(rounds):
        last = k + 1 == len(rounds)
        if part.effort.work is not None:
            part.effort.work.expect(to_come(rounds[k:], COURSE.entrants if field is None else len(field), k))
        try:
            enter(part) if field is None else part.add(field, anchors)
            for step in steps_near(k, len(rounds)) if field is None or len(field) > 1 else ():
                near(part, step)
            anchors = set(part.anchors)
            if last:
                part.finalists = survivors(part, COURSE.least) if k > 0 else ()
                return Won(part.choose(part.finalists or None), part)
            rounds[k + 1].starts = part.weights()
            field = survivors(part, room(part, rounds[k + 1], len(part.candidates)))
        except InfeasibleError:
            if last:
                raise
            # On so few rows no threshold meets the constraints: that says nothing yet.
            field = list(part.candidates) or field
    raise AssertionError("the last round returns")


def to_come(rounds: list[Exploration], count: int, k: int) -> float:
    """Models times rows of the rounds from the k-th on, which `count` models enter, and of the fit on all rows."""
    work = FINAL * rounds[-1].sample.data.rows.n_rows
    for i, part in enumerate(rounds):
        count += COURSE.near * len(steps_near(k + i, k + len(rounds)))
        work += count * _training_rows(part)
        if i + 1 < len(rounds):
            count = room(part, rounds[i + 1], count) + COURSE.beside
    return work


def steps_near(k: int, rounds: int) -> tuple[int, ...]:
    """Which of the two looks near the best so far belong to round k: one to each of the first two, but none to the last
    of several, whose rows are many and its models few."""
    if rounds <= 2:
        return (0, 1) if k == 0 else ()
    return (k,) if k <= 1 else ()


def room(now: Exploration, then: Exploration, count: int) -> int:
    """How many models cost 1/`thrift` in the next round of what `count` did in this one."""
    grown = _training_rows(then) / max(_training_rows(now), 1)
    return max(COURSE.least, int(count / (grown * COURSE.thrift)))


def _training_rows(exploration: Exploration) -> int:
    return sum(len(train) for train, _ in exploration.sample.splits)


def survivors(part: Exploration, count: int) -> list[Model]:
    """Those who may still win, the best `count` of them and whoever has a right to go on."""
    part.best()  # or the reason why there is none
    ranked = part.short_list(len(part.candidates))
    calls = np.stack([part.calls(model) for model in ranked], axis=1)
    values, drawn = part.draws.values(calls, part.goal, part.sample.prevalence)
    leader = int(values.argmax())
    behind = values[leader] - values
    error = np.nan_to_num((drawn[leader] - drawn).std(axis=1, ddof=1))  # where a measure has no value there is no doubt
    kept: list[int] = []
    for k in np.lexsort((_strength(ranked), -values)):
        streams = isinstance(ranked[k], StreamModel)  # learns while rows come, and costs next to nothing
        if behind[k] > COURSE.doubt * error[k] and not streams:
            continue
        if any(_same(ranked[k], ranked[j], calls[:, k], calls[:, j]) for j in kept):
            continue
        if len(kept) < count or ranked[k] in part.anchors or streams:
            kept.append(int(k))
    return [ranked[k] for k in kept]


def _strength(ranked: list[Model]) -> Array:
    return np.array([model.C if isinstance(model, CostModel) else 0.0 for model in ranked])


def _same(one: Model, other: Model, called: NDArray[np.bool_], also: NDArray[np.bool_]) -> bool:
    """Two of one loss and one pair of costs that call the same rows differ in a C that no longer matters."""
    if not (isinstance(one, CostModel) and isinstance(other, CostModel)):
        return False
    if (one.loss, one.costs) != (other.loss, other.costs):
        return False
    return bool(np.count_nonzero(called != also) <= COURSE.same * len(called))


def ladder(whole: Exploration) -> Iterator[Exploration]:
    """The same exploration on nested samples of the rows, each `growth` times as large, the last on all rows."""
    n = whole.sample.data.rows.n_rows
    order = _shuffled_classes(whole)
    size = COURSE.first
    while n > COURSE.whole and size * 2 <= n:
        sample = _sample(whole.sample, order, size / n)
        if sample is not None:
            effort = replace(whole.effort, max_passes=COURSE.passes, tol=min(COURSE.looser * whole.effort.tol, 0.1))
            yield Exploration(_folds(sample, COURSE.tested, COURSE.folds), whole.goal, effort)
        size *= COURSE.growth
    last = _folds(whole.sample, COURSE.settling, n)
    # Of one fold, with many rows, the models are those that all rows would give: then they are solved as that will be.
    tol = whole.effort.tol * (COURSE.tighter if len(last.splits) == 1 < len(whole.sample.splits) else 1.0)
    yield replace(whole, sample=last, effort=replace(whole.effort, tol=tol))


def _shuffled_classes(whole: Exploration) -> list[RowNumbers]:
    rng = np.random.default_rng(whole.effort.seed)
    return [rng.permutation(np.flatnonzero(whole.sample.data.y == side)) for side in (-1.0, 1.0)]


def _sample(sample: Sample, order: list[RowNumbers], share: float) -> Sample | None:
    """`share` of the rows, or None where a fold would be left without a class."""
    data, n = sample.data, sample.data.rows.n_rows
    counts = [max(min(len(rows), COURSE.of_a_class), round(share * len(rows))) for rows in order]
    kept = np.sort(np.concatenate([rows[:count] for rows, count in zip(order, counts, strict=True)]))
    y, weight, thinning = data.y[kept], None if data.weight is None else data.weight[kept], n / len(kept)
    stands_for = [len(rows) / count / thinning for rows, count in zip(order, counts, strict=True)]
    if max(stands_for) > 1.05 * min(stands_for):  # less than that is the rounding of two counts
        weight = np.where(y > 0, stands_for[1], stands_for[0]) * (1.0 if weight is None else weight)
    position = np.full(n, -1)
    position[kept] = np.arange(len(kept))
    splits = [(_inside(position, train), _inside(position, test)) for train, test in sample.splits]
    numbers = [k for k, (train, test) in enumerate(splits) if len(np.unique(y[train])) == 2 and len(test)]
    splits = [splits[k] for k in numbers]
    tested = np.concatenate([test for _, test in splits]) if splits else kept[:0]
    if len(np.unique(y[tested])) < 2:
        return None
    return Sample(Labelled(_together(data.rows, kept), y, weight, data.thinning * thinning), splits, numbers)


def _inside(position: RowNumbers, rows: RowNumbers) -> RowNumbers:
    found = position[rows]
    return found[found >= 0]


def _together(rows: Rows, kept: RowNumbers) -> Rows:
    """These rows, copied to one place if they are few."""
    part = rows.take(kept)
    if part.n_entries > COURSE.contiguous:
        return part
    return Rows.of(rows.source[part.which], check=False).with_constant(rows.constant)


def _folds(sample: Sample, tested: int, most: int) -> Sample:
    """As many of the splits as have so many test rows."""
    rows = np.cumsum([len(test) for _, test in sample.splits])
    enough = int(np.searchsorted(rows, tested)) + 1
    some = min(enough, most)
    return Sample(sample.data, sample.splits[:some], None if sample.numbers is None else sample.numbers[:some])
