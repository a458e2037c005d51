"""What is asked of a learner on a stream: the measure, perhaps a constraint, the solver and its options, all frozen.

`choose_solver` reads the curvature of the measure: concave -> NEMSIS, a ratio -> SCAN, a constraint -> stochastic
Neyman-Pearson, none known -> the frontier search with a learned direction. `check_problem` refuses what none can do,
and says what can be done instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ...measures import Constraint, Measure
from ...measures.rules import IS_CONCAVE, PSEUDO_CONCAVE, PSEUDO_LINEAR, smallest_offender

REWARDS = ("hinge", "logistic", "sigmoid", "ramp", "arctan", "erf")  # in the order of Reward in stream/rewards.hpp


@dataclass(frozen=True)
class Nemsis:
    """Nested primal-dual updates (Kar et al., Algorithm 1)."""


@dataclass(frozen=True)
class Spade:
    """NEMSIS with a forgetting dual: a mirror-descent step of length 1/sqrt(t) in place of the mean over all rows."""


@dataclass(frozen=True)
class Scan:
    """Ratios (Kar et al., Algorithm 3). To the letter (``guard=False``) epochs of `epoch` (or 1000) rows, growing by
    `growth`, alternate between learning and estimating the level (Theorem 6: epochs that grow by a factor). With the
    guard there are none: at the level of the running rates the gradient of numerator - level * denominator is the
    ratio's own, times the denominator, so the level is that of the moment and no row is spent on estimating it."""

    epoch: int | None = None
    growth: float = 2.0

    @property
    def first_epoch(self) -> int:
        """A round number: a rate on a thousand rows has a standard error of at most 0.016, and epochs double anyway."""
        return 1000 if self.epoch is None else self.epoch


@dataclass(frozen=True)
class NeymanPearson:
    """Stochastic Neyman-Pearson (Gasso et al., Algorithm 4): `gain` of the multiplier, `width` of a nonconvex reward.
    `balanced` (``guard=False`` only) is the paper's balanced sampling: `fit` picks rows of each class with equal
    probability, with replacement, and their coefficients are 1 and the multiplier; chunks of `partial_fit` are taken
    to be picked like that already."""

    gain: float | None = None
    width: float = 1.0
    balanced: bool = False

    def gain_for(self, guard: bool) -> float:
        """Under the guard a gain of 1 is divided by the root of the rows of the class, so that the multiplier settles
        (by the score of benchmarks/stream_caps.py, over ten sets and three caps: 0.019 for 0.5, 0.021 for 1 and 0.018
        for 2; covertype's rarest class at 1 % wants more than 0.5, spambase less than 2); to the letter it is one rate
        for all rows, 0.01 so that a row moves the multiplier by a percent at most."""
        return self.gain if self.gain is not None else 1.0 if guard else 0.01


@dataclass(frozen=True)
class FrontierSearch:
    """No curvature to go by: the direction follows the gradient at the running rates, the threshold is exact."""


@dataclass(frozen=True)
class OnePassMiniBatch:
    """The structural SVM on buffers (`solvers.stream.mini_batch`): `buffer` rows, `passes` steps on each."""

    buffer: int = 500
    passes: int = 25


Solver = Nemsis | Spade | Scan | NeymanPearson | FrontierSearch | OnePassMiniBatch
BY_NAME: dict[str, type[Solver]] = {
    "nemsis": Nemsis, "spade": Spade, "scan": Scan, "neyman-pearson": NeymanPearson, "frontier": FrontierSearch,
    "1pmb": OnePassMiniBatch,
}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """What to maximise, and how: `counts` says that the weights follow the rates themselves, not means of the reward;
    `eta0` None is a step for each coordinate that needs no tuning."""

    measure: Measure
    constraint: Constraint | None = None
    solver: Solver = Nemsis()
    reward: str = "hinge"
    counts: bool = True
    guard: bool = True
    eta0: float | None = None
    alpha: float = 0.0
    radius: float | None = None
    average: bool = True
    refresh: int = 16
    fit_intercept: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Pass:
    """One time over the rows of a chunk. `number` > 0 sees again the rows of pass 0; `disposable` says that the learner
    is dropped if it fails, so that no copy of its state need be kept."""

    shuffle: bool = False
    number: int = 0
    disposable: bool = False


IN_ORDER = Pass()


@lru_cache(maxsize=256)
def _curvature(measure: Measure) -> str:
    """Kept for equal measures, since its analysis takes longer than learning from ten thousand rows."""
    return measure.curvature


def choose_solver(measure: Measure, constraint: Constraint | None, guard: bool) -> Solver:
    """The solver that the measure's curvature allows; a refusal names the smallest offending subexpression."""
    if constraint is not None:
        return NeymanPearson()
    curvature = _curvature(measure)
    if curvature in IS_CONCAVE:
        return Nemsis()
    if curvature in (PSEUDO_LINEAR, PSEUDO_CONCAVE):
        return Scan()
    if guard:
        return FrontierSearch()
    raise ValueError(
        f"{measure!r} is neither concave nor a ratio that SCAN can take, because of "
        f"{smallest_offender(measure) or measure!r}; "
        "guard=True takes any measure"
    )


def check_problem(problem: Problem) -> None:
    """Refuse what no solver here can do, and say what can be done instead."""
    solver, reward = problem.solver, problem.reward
    if reward not in REWARDS:
        raise ValueError(f"reward is one of {REWARDS}; got {reward!r}")
    if reward not in REWARDS[:2] and not isinstance(solver, NeymanPearson):
        raise ValueError(
            f"reward={reward!r} is not concave: it is for a constraint (neyman-pearson); use 'hinge' or 'logistic'"
        )
    if isinstance(solver, NeymanPearson) != (problem.constraint is not None):
        raise ValueError(
            f"{problem.constraint!r} needs solver='neyman-pearson' (or 'auto')" if problem.constraint is not None
            else "solver='neyman-pearson' needs a constraint, such as subject_to=fpr <= 0.01"
        )  # fmt: skip
    if problem.constraint is not None and not problem.constraint.is_linear:
        raise ValueError(
            f"{problem.constraint!r} is not linear in the rates; use a cap on fpr, or a floor of precision or recall"
        )
    if problem.guard and isinstance(solver, NeymanPearson) and solver.balanced:
        raise ValueError(
            "balanced=True picks rows more than once, and the guard's threshold needs rows that were not learned from: "
            "use guard=False, or balanced=False, which weighs the classes alike instead"
        )
    if problem.guard and isinstance(solver, Scan) and solver.epoch is not None:
        raise ValueError(
            f"epoch={solver.epoch!r} is for guard=False: with the guard the level follows the running rates, "
            "and there are no epochs"
        )
    if isinstance(solver, FrontierSearch) and not problem.guard:
        raise ValueError("solver='frontier' is the guard's: it needs guard=True")
    if isinstance(solver, Scan) and problem.measure.ratio() is None and not problem.guard:
        raise ValueError(f"SCAN needs a ratio of two measures; {problem.measure!r} is none: use solver='nemsis'")
