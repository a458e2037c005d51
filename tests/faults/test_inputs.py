"""Bad and odd input in processes of their own: the right answer or a clear error, no crash, no hang, nothing in silence.

The table is inputs.py's. By default a few estimators and a part of it, with ``STEELYARD_FAULTS=full`` everything.
"""

import math
import re

import pytest

from faults import only_full
from faults.inputs import BAD, INPUTS, STOPS_AT, Given, X, Y, call, ours, same, trials

MAKE = ours()
QUICK = (
    "Fortran order", "big-endian", "float32", "CSR", "CSC", "CSR, columns unsorted", "CSR, 64-bit indices",
    "CSR, columns named twice", "NaN", "infinity in CSR", "CSR, column -1", "CSR, row starts beyond the data",
    "CSR, fewer columns than values", "data frame, columns in another order", "labels too few", "weights below zero",
    "values times 1e300",
)  # fmt: skip
# What an error must speak of, so that the caller knows where to look.
ABOUT = re.compile(
    r"\b(X|y|sample_weight|weights?|labels?|class(es)?|rows?|samples?|features?|columns?|sparse|CSR|COO|indptr|indices|"
    r"index|indexes|array|input|float|number|data|names|unknown|argument)\b",
    re.IGNORECASE,
)


def check(name, keys=None):
    found = trials(name, MAKE[name], keys)
    assert found
    assert not [one for one in found if one[2] in BAD]
    assert not [one for one in found if one[2] == "refused" and not ABOUT.search(one[3])]


@pytest.mark.parametrize("name", ["OnlineClassifier", "CostPath"])
def test_part_of_the_table(name):
    check(name, QUICK)


@pytest.mark.slow
@only_full
@pytest.mark.parametrize("name", MAKE)
def test_the_whole_table(name):
    check(name)


OUR_OWN = [name for name, make in MAKE.items() if "LogisticRegression" not in repr(make().get_params())]


def ended(name, size):
    """How a fit of the table times `size` ends: None, or what was said."""
    y = X[:, 1] if name == "QuantilePath" else Y
    try:
        assert len(MAKE[name]().fit(size * X, y).predict(size * X)) == len(X)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", OUR_OWN)
def test_values_of_any_size_are_learned_from_or_refused_and_numpy_has_nothing_to_say(name):
    assert [ended(name, size) for size in (1e-300, 1e-160, 1e-154)] == [None] * 3
    large = [ended(name, size) for size in (1e154, 1e160, 1e300)]
    assert large == [None] * 3 if name.startswith("Online") else all("scale the" in said for said in large)


CLOTHES = (
    "Fortran order", "big-endian", "big-endian float32", "float32", "CSR", "CSR of float32", "CSC",
    "CSR, columns unsorted", "CSR, 64-bit indices", "CSR, big-endian", "CSR, columns named twice", "COO",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MAKE)
def test_the_same_table_in_other_clothes_is_the_same_model(name):
    wanted = call(name, MAKE[name](), "fit", Given())
    apart = math.sqrt(STOPS_AT.get(name, 0.0))
    for key in CLOTHES:
        given = INPUTS[key]()
        assert given.want == "same"
        found = call(name, MAKE[name](), "fit", given)
        assert same(wanted, found, max(given.tol, apart)), key


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_the_table_has_what_it_should():
    wants = [given().want for given in INPUTS.values()]
    assert wants.count("refused") + wants.count("answered") >= 60
    assert wants.count("same") >= 40
