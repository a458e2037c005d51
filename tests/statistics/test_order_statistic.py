"""The rank that keeps a cap, against the binomial distribution written out."""

from fractions import Fraction
from math import comb

import numpy as np
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


def exact_tail(k, n, cap):
    """``P(Bin(n, 1 - cap) >= k)`` in whole numbers, of the cap as the float that it is."""
    p = 1 - Fraction(cap)
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


@pytest.mark.parametrize("cap", [0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9])
def test_where_delta_is_just_what_all_rows_give_the_rank_is_exact_and_among_the_rows(cap):
    """``delta = (1 - cap)^n``, where rounding decides: a rank of n + 1 is no row at all."""
    slack = Fraction(1, 10**12)
    for n in (*range(1, 24), 40, 77):
        power = (1 - cap) ** n
        for delta in (power, np.nextafter(power, 0.0), np.nextafter(power, 1.0), power * 1.001):
            k = rank(n, cap, float(delta))
            assert k <= n
            assert exact_tail(k, n, cap) <= Fraction(float(delta)) * (1 + slack)
            assert k == 1 or exact_tail(k - 1, n, cap) > Fraction(float(delta)) * (1 - slack)
        assert needed(cap, float(power)) == n
        if power * 0.999 > 0:
            with pytest.raises(ValueError, match=f"needs {needed(cap, power * 0.999)} held-out rows; {n} were given"):
                rank(n, cap, power * 0.999)
