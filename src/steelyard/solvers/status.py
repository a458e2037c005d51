"""How a solver ended: solved, at a limit, stopped, in numerical trouble (and where), or infeasible.

Every result has a `status`, and the warning that a user sees quotes it. ``solved`` means that what was asked for is
certified; a certificate is never made from inf or NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Ended(IntEnum):
    """In the order of `Ended` in src/core/base/status.hpp."""

    SOLVED = 0
    LIMIT = 1
    STOPPED = 2
    TROUBLE = 3
    INFEASIBLE = 4


WORDS = {
    Ended.SOLVED: "solved",
    Ended.LIMIT: "limit reached",
    Ended.STOPPED: "stopped",
    Ended.TROUBLE: "numerical trouble",
    Ended.INFEASIBLE: "infeasible",
}


@dataclass(frozen=True)
class Status:
    """One way of ending, and the words for where or why.

    >>> str(Status(Ended.TROUBLE, "the Hessian is not positive definite"))
    'numerical trouble: the Hessian is not positive definite'
    """

    ended: Ended
    where: str = ""

    @property
    def solved(self) -> bool:
        return self.ended is Ended.SOLVED

    def __str__(self) -> str:
        return f"{WORDS[self.ended]}: {self.where}" if self.where else WORDS[self.ended]

    @classmethod
    def of(cls, code: int, where: str = "") -> Status:
        """From what the core returns."""
        return cls(Ended(code), where)


SOLVED = Status(Ended.SOLVED)
