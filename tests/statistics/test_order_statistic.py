"""The rank that keeps a cap, against the binomial distribution written out."""

import pytest
from scipy.stats import binom

from steelyard.statistics.order_statistic import needed, rank


@pytest.mark.parametrize(
    ("n", "cap", "delta", "k"), [(1000, 0.05, 0.05, 962), (300, 0.01, 0.05, 300), (59, 0.05, 0.05, 59)]
)
def test_known_ranks(n, cap, delta, k):
    assert rank(n, cap, delta) == k


@pytest.mark.parametrize("cap", [0.01, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
def test_smallest_rank_by_definition(cap, delta):
    fewest = needed(cap, delta)
    assert (1 - cap) ** fewest <= delta < (1 - cap) ** (fewest - 1)
    for n in (fewest, fewest + 1, fewest + 137):
        k = rank(n, cap, delta)
        assert binom.sf(k - 1, n, 1 - cap) <= delta
        assert k == 1 or binom.sf(k - 2, n, 1 - cap) > delta
    if fewest > 1:
        with pytest.raises(ValueError, match=f"needs {fewest} held-out rows; {fewest - 1} were given"):
            rank(fewest - 1, cap, delta)


@pytest.mark.parametrize(("cap", "delta"), [(0.0, 0.1), (1.0, 0.1), (0.1, 0.0), (0.1, 1.0), (-0.1, 0.1)])
def test_limits_are_refused(cap, delta):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        rank(1000, cap, delta)
