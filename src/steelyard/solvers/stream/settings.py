"""From a frozen problem to what the compiled learner takes: its settings, its tapes, and the size of its sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ... import _core
from ...measures import Measure
from ...measures.stages import stages
from . import rare_class
from .problem import REWARDS, NeymanPearson, Problem, Scan, Spade

ADAPTIVE, ROOT, INVERSE = 0, 1, 2  # in the order of Steps in stream/state.hpp


@dataclass(frozen=True)
class SampleOptions:
    """The sample of the stream on which the guard finds the threshold: how many rows of each class, and how many of
    them the model may not learn from."""

    rows: int = 2048
    """A rate on so many rows has a standard error of at most 0.011."""
    rows_for_counting: int = 8192
    """0.0055, since counting measures are nothing but a threshold; and twice `rare_class.OPTIONS.rows`, so that a rare
    class is there whole and the other one at least as large."""
    rows_with_constraint: int = 16384
    """Of a class that is constrained: a false-alarm rate of 0.01 has a standard error of 0.0008. The mean difference to
    logistic regression under caps, over seven sets of more rows, is 0.011 for 8,192 and 0.018 for 16,384 and 32,768;
    and to copy 32,768 rows takes as long as to learn from 300,000."""
    rows_beside_it: int = 4096
    """Of one that is not: a rate with a standard error of 0.008; twice as many did the same."""
    values: int = 2**26
    """Numbers that each class may hold if its rows are dense: 512 MiB. It counts above 2,048 features only."""
    fewest_rows: int = 256
    """But so many rows in any case: a rate with a standard error of 0.03."""
    held_while_wide: float = 0.1
    """Of all rows while there are fewer than features (docs/online.md: on 20 newsgroups it took the KLD from 0.004 to
    0.0007). Under a constraint none: there `second_reading` leaves rows out in turn."""

    def capacity(self, problem: Problem, n_features: int) -> tuple[int, int]:
        """Of negatives and of positives."""
        if problem.constraint is not None:
            a, b, _ = problem.constraint.coefficients(0.5)
            wanted = [self.rows_with_constraint if slope != 0.0 else self.rows_beside_it for slope in (b, a)]
        else:
            wanted = [self.rows_for_counting if rare_class.asks_for_no_skill(problem.measure) else self.rows] * 2
        negatives, positives = (max(min(rows, self.values // n_features), self.fewest_rows) for rows in wanted)
        return negatives, positives


SAMPLE = SampleOptions()


def settings_of(problem: Problem, n_features: int) -> _core.LearnerSettings:
    solver, settings = problem.solver, _core.LearnerSettings()
    settings.duals = _dual_settings(problem)
    settings.reward = REWARDS.index(problem.reward)
    settings.eta0 = problem.eta0 or 0.0
    settings.alpha, settings.radius = problem.alpha, problem.radius or 0.0
    settings.refresh, settings.intercept, settings.seed = problem.refresh, problem.fit_intercept, problem.seed
    plain = ROOT
    if isinstance(solver, NeymanPearson):
        settings.width, plain = solver.width, INVERSE
    settings.steps = ADAPTIVE if problem.guard and problem.eta0 is None else plain
    settings.growth = 1.0 if problem.guard else 0.0
    if isinstance(solver, Scan) and not problem.guard:
        settings.epoch, settings.epoch_growth = float(solver.first_epoch), solver.growth
    if problem.guard and problem.fit_intercept:
        settings.capacity = SAMPLE.capacity(problem, n_features)
        settings.held_while_wide = SAMPLE.held_while_wide if problem.constraint is None else 0.0
    return settings


def _dual_settings(problem: Problem) -> _core.DualSettings:
    solver, duals = problem.solver, _core.DualSettings()
    duals.guard, duals.counts = problem.guard, problem.counts
    duals.forget = isinstance(solver, Spade)
    duals.scan = isinstance(solver, Scan)
    if isinstance(solver, NeymanPearson):
        duals.constrained, duals.balanced = True, solver.balanced
        duals.gain = solver.gain_for(problem.guard)
    return duals


def duals_of(problem: Problem) -> _core.Duals:
    """The tapes of the measure and the constraint, or the stages of the algorithm to the letter."""
    duals = _core.Duals()
    duals.set_measure(_tape(problem.measure))
    if problem.constraint is not None:
        duals.set_constraint(_tape(problem.constraint.cleared))
    elif not problem.guard:
        ratio = problem.measure.ratio() if isinstance(problem.solver, Scan) else None
        duals.set_objective(_stages(ratio[0] if ratio else problem.measure))
        if ratio:
            duals.set_denominator(_stages(ratio[1]))
    return duals


@lru_cache(maxsize=256)
def _tape(measure: Measure) -> _core.Tape:
    tape = measure.tape()
    return _core.Tape(tape.op, tape.left, tape.right, tape.number)


def _stages(measure: Measure) -> list[_core.Stage]:
    return [
        _core.Stage(_core.Tape(s.tape.op, s.tape.left, s.tape.right, s.tape.number), s.first, s.second, s.low, s.high)
        for s in stages(measure)
    ]
