"""Bounds over rectangles of rates hold every value inside, for every measure there is, and close in on it."""

import numpy as np
import pytest

from measures.zoo import ATOMS, COMPOSED, NAMED, PARAMETERS
from steelyard.measures.bounds import over

RNG = np.random.default_rng(0)
ENDS = np.sort(RNG.random((2, 40, 2)), axis=2)  # of TPR and TNR
ENDS[0, :5, 0], ENDS[1, :5, 1] = 0.0, 1.0  # some at the edges, where ratios and logarithms turn
ALL = [one for one in (*NAMED, *PARAMETERS, *ATOMS, *COMPOSED) if not one.is_lifted]


@pytest.mark.parametrize("measure", ALL, ids=repr)
def test_no_value_is_outside(measure):
    tpr, tnr = ((ends[:, 0], ends[:, 1]) for ends in ENDS)
    low, high = over(measure, tpr, tnr, 0.2, 500)
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    for share in RNG.random((30, 2)):
        inside = [ends[0] + s * (ends[1] - ends[0]) for ends, s in zip((tpr, tnr), share, strict=True)]
        values = np.asarray(measure(*inside, 0.2, sample_size=500), dtype=float)
        known = ~np.isnan(values)
        slack = 1e-12 * (1.0 + np.abs(values[known]))
        assert (values[known] <= high[known] + slack).all()
        assert (values[known] >= low[known] - slack).all()


def test_they_close_in():
    from steelyard.measures import BAKLD

    wide, narrow = (
        over(BAKLD(), (at, at + w), (at, at + w), 0.2, 500) for w in (0.1, 1e-4) for at in [np.full(1, 0.6)]
    )
    assert narrow[1] - narrow[0] < 1e-2 * (wide[1] - wide[0])
