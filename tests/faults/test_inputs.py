"""Bad and odd input in processes of their own: the right answer or a clear error, no crash, no hang, nothing in silence.

The table is inputs.py's. By default a few estimators and a part of it, with ``STEELYARD_FAULTS=full`` everything.
"""

import re

import pytest

from faults import only_full
from faults.inputs import BAD, INPUTS, X, Y, ours, trials

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


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", OUR_OWN)
def test_values_of_any_size_are_learned_from_or_refused_and_numpy_has_nothing_to_say(name):
    y = X[:, 1] if name == "QuantilePath" else Y
    for size in (1e300, 1e160, 1e154, 1e-154, 1e-160, 1e-300):
        try:
            said = MAKE[name]().fit(size * X, y).predict(size * X)
        except ValueError as error:
            assert "scale the" in str(error)
        else:
            assert size < 1 or name.startswith("Online")
            assert len(said) == len(X)


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_the_table_has_what_it_should():
    wants = [given().want for given in INPUTS.values()]
    assert wants.count("refused") + wants.count("answered") >= 60
    assert wants.count("same") >= 40
