"""Solvers declare what they can; one `choose` reads it."""

import pytest

from steelyard.solvers.abilities import Abilities, Wanted, choose
from steelyard.solvers.linear.cost_sensitive import SOLVERS, choose_solver
from steelyard.solvers.path.problem import SOLVERS as PATH_SOLVERS

PLAIN = Abilities("plain", losses=("hinge",), weights=False, sparse=False)
WIDE = Abilities("wide", losses=("hinge", "logistic"), kernels=("linear", "rbf"), passes_only=True)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ({}, "plain"),
        ({"weights": True}, "wide"),
        ({"sparse": True}, "wide"),
        ({"loss": "logistic"}, "wide"),
        ({"kernel": "rbf"}, "wide"),
        ({"passes_only": True}, "wide"),
    ],
)
def test_the_first_that_can(wanted, name):
    assert choose([PLAIN, WIDE], Wanted(10, 2, **wanted)).name == name


def test_what_is_lacking_is_said():
    with pytest.raises(
        ValueError, match="'plain' has not the loss 'huber', sample weights; 'wide' has not the loss 'huber'"
    ):
        choose([PLAIN, WIDE], Wanted(10, 2, loss="huber", weights=True))
    with pytest.raises(ValueError, match="'plain' has not sparse rows"):
        choose([PLAIN, WIDE], Wanted(10, 2, sparse=True), name="plain")
    with pytest.raises(ValueError, match="solver must be one of"):
        choose([PLAIN, WIDE], Wanted(10, 2), name="magic")


@pytest.mark.parametrize(
    ("shape", "kernel", "name"),
    [
        ((20_000, 1_000), "linear", "exact"),
        ((500, 100_000), "linear", "exact"),
        ((20_001, 5), "linear", "approximate"),
        ((5_000, 1_001), "linear", "approximate"),
        ((5_000, 1_001), "rbf", "exact"),
    ],
)
def test_the_path_is_exact_where_that_takes_seconds(shape, kernel, name):
    assert choose(PATH_SOLVERS, Wanted(*shape, kernel=kernel)).name == name
    assert choose(PATH_SOLVERS, Wanted(*shape, kernel=kernel), "approximate").name == "approximate"


def test_the_linear_solvers():
    assert choose_solver("hinge", 9_000, 16) == "newton_first"
    assert choose_solver("hinge", 9_000, 54) == "newton_first"
    assert choose_solver("hinge", 9_000, 123) == "coordinate_first"
    assert choose_solver("squared_hinge", 900, 256) == "coordinate_first"
    assert choose_solver("logistic", 9_000, 256) == "newton_first"
    assert choose_solver("logistic", 9_000, 301) == "coordinate"
    assert choose_solver("logistic", 1_700, 301, sparse=True) == "newton_first"
    assert choose_solver("hinge", 9_000, 301, sparse=True) == "coordinate"
    assert choose_solver("logistic", 9_000, 5_000) == "coordinate"
    assert choose(SOLVERS, Wanted(9_000, 16, "hinge", passes_only=True)).name == "bundle"
