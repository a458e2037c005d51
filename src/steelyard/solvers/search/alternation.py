"""CAN with models: the oracle trains with the linearised costs of the valuation, until the valuation stops rising.

Given an exploration without candidates, losses and Cs. What the oracle of `can` maximises over is the models that it
has trained for a level, each at its exact threshold. The exploration ends with the model of the last level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ...measures import Measure
from ...statistics.frontier import Choice
from ...statistics.resampling import Goal
from .can import can
from .exploration import Candidate, Exploration
from .models import CostModel, costs_of_ratio, linearised_costs


@dataclass(frozen=True)
class Alternation:
    """How long one goes on."""

    tol: float = 1e-5  # on the level: less than a row's worth on any sample that can be scored
    steps: int = 3  # of linearised costs for one level; the level itself is raised up to fifty times
    levels: int = 5  # likely, for who watches: 2 to 5 on adult, covertype, ijcnn1, letter, satimage and spambase


ALTERNATION = Alternation()


class _Level(Exploration):
    """For one valuation, whose values are not those of the measure: who watches is told the levels."""

    def so_far(self) -> None:
        return None


def alternate(exploration: Exploration, losses: Sequence[str], Cs: Sequence[float]) -> NDArray[np.float64]:
    """The levels that it went through."""
    goal, effort, prevalence = exploration.goal, exploration.effort, exploration.sample.prevalence
    splits = exploration.sample.splits
    n = sum(len(test) for _, test in splits)
    a_level = ALTERNATION.steps * len(losses) * len(Cs) * sum(len(train) for train, _ in splits)
    ahead = (a_level * max(ALTERNATION.levels - k, 1.0) for k in count())

    def oracle(valuation: Measure, previous: Choice | None) -> tuple[Choice, Candidate]:
        search = _Level(exploration.sample, Goal(valuation, goal.constraints), effort)
        costs = None if previous is None else linearised_costs(valuation, previous, prevalence, n)
        costs = costs or costs_of_ratio(1.0, prevalence)
        best: Candidate | None = None
        if effort.work is not None:
            effort.work.expect(next(ahead))
        for _ in range(ALTERNATION.steps):
            for loss in losses:
                search.add(CostModel(loss, *costs, C) for C in Cs)
            if best is not None and search.best().point.value <= best.point.value:
                break
            best = search.best()
            costs = linearised_costs(valuation, best.point, prevalence, n) or costs
        best = search.best()
        if effort.work is not None:
            effort.work.did(0.0, "a level of CAN", (rate(goal.measure, best.point), best.model))
        return best.point, best

    def rate(measure: Measure, point: Choice) -> float:
        return float(measure(point.tpr, point.tnr, prevalence, sample_size=n))

    found = can(goal.measure, oracle, rate, tol=ALTERNATION.tol)
    exploration.add([found.payload.model])
    return np.array(found.levels)
