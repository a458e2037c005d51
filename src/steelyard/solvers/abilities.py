"""What each solver can do, declared once beside it, and one `choose` that reads the declarations.

A solver says which losses and kernels it has, whether it takes sample weights and sparse rows, and whether it needs
nothing of the data but passes over them (then they may be anywhere: on a GPU, on a cluster). `suits` says when it is
the one to take; a room lists its solvers with the most particular first.

The linear room and the path have several solvers for one problem, and declare them. The other rooms have nothing that
`choose` could choose between: on a stream the measure's curvature decides (`stream.problem.choose_solver`), a kernel
machine's and the decoys' methods solve different problems and are named by the user, and the structural room has one
solver, whose search follows from the loss (`structural.confusion.resolve`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    """What a problem needs of its solver."""

    n_rows: int
    n_cols: int
    loss: str = "hinge"
    kernel: str = "linear"
    weights: bool = False
    sparse: bool = False
    passes_only: bool = False


def always(wanted: Wanted) -> bool:
    return True


@dataclass(frozen=True)
class Abilities:
    """What a solver can do, and when it is the one to take.

    >>> slow = Abilities("slow", losses=("hinge", "logistic"))
    >>> fast = Abilities("fast", losses=("hinge",), suits=lambda wanted: wanted.n_rows > 100)
    >>> [choose([fast, slow], Wanted(n_rows, 2, loss)).name for n_rows, loss in [(9, "hinge"), (900, "hinge")]]
    ['slow', 'fast']
    >>> choose([fast, slow], Wanted(900, 2, "logistic")).name
    'slow'
    """

    name: str
    losses: tuple[str, ...]
    kernels: tuple[str, ...] = ("linear",)
    weights: bool = True
    sparse: bool = True
    passes_only: bool = False
    suits: Callable[[Wanted], bool] = always

    def missing(self, wanted: Wanted) -> str:
        """What it lacks for this problem, in words; "" if nothing."""
        lacks = {
            f"the loss {wanted.loss!r}": wanted.loss not in self.losses,
            f"the kernel {wanted.kernel!r}": wanted.kernel not in self.kernels,
            "sample weights": wanted.weights and not self.weights,
            "sparse rows": wanted.sparse and not self.sparse,
            "rows that can only be passed over": wanted.passes_only and not self.passes_only,
        }
        return ", ".join(what for what, lacking in lacks.items() if lacking)


def choose(solvers: Sequence[Abilities], wanted: Wanted, name: str = "auto") -> Abilities:
    """The solver called `name`, or with "auto" the first that can do what is wanted and suits it."""
    named = [one for one in solvers if name in ("auto", one.name)]
    if not named:
        raise ValueError(f"solver must be one of {('auto', *(one.name for one in solvers))}; got {name!r}")
    lacks = [one.missing(wanted) for one in named]
    able = [one for one, lack in zip(named, lacks, strict=True) if not lack]
    if not able:
        reasons = "; ".join(f"{one.name!r} has not {lack}" for one, lack in zip(named, lacks, strict=True))
        raise ValueError(f"no solver can do this: {reasons}")
    return next((one for one in able if one.suits(wanted)), able[-1])
