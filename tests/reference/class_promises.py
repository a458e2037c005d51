"""A cap on the misses of one class, tested the slow way: count the class's rows that are called otherwise, and sum the
binomial probabilities of so few misses at the cap."""

from math import comb

import numpy as np


def p_of_cap(scores, y, offsets, label, cap):
    of_class = y == label
    called = (scores + offsets).argmax(axis=1)
    misses, n = int((called[of_class] != label).sum()), int(of_class.sum())
    return sum(comb(n, j) * cap**j * (1 - cap) ** (n - j) for j in range(misses + 1))


def against_the_rest(y, called, label):
    """(tp, fp, fn, tn) by looking at every row."""
    found = np.zeros(4, dtype=int)
    for true, said in zip(y, called, strict=True):
        found[(0 if said == label else 2) if true == label else (1 if said == label else 3)] += 1
    return tuple(found.tolist())
