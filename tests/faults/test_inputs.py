"""Bad and odd input in processes of their own: the right answer or a clear error, no crash, no hang, nothing in silence.

The table is inputs.py's. By default a few estimators and a part of it, with ``STEELYARD_FAULTS=full`` everything.
"""

import re

import pytest

from faults import only_full
from faults.inputs import BAD, INPUTS, ours, trials

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


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_the_table_has_what_it_should():
    wants = [given().want for given in INPUTS.values()]
    assert wants.count("refused") + wants.count("answered") >= 60
    assert wants.count("same") >= 40
