"""The best offset of one class by trying them all: the argmax anew for every cut between two moves."""

import numpy as np


def cuts(scores, offsets, k):
    """Every offset of class k that makes a difference, in the middle between two moves."""
    others = scores + offsets
    others[:, k] = -np.inf
    moves = np.unique((others.max(axis=1) - scores[:, k]).round(9))  # what rounding keeps apart is one move
    return np.r_[moves[0] - 1.0, (moves[:-1] + moves[1:]) / 2.0, moves[-1] + 1.0]


def best_of(scores, y, classes, offsets, k, value_of):
    """``(offset, value)`` with the largest ``value_of(y, called)``."""
    found = []
    for cut in cuts(scores, offsets, k):
        tried = offsets.copy()
        tried[k] = cut
        found.append((value_of(y, np.asarray(classes)[(scores + tried).argmax(axis=1)]), cut))
    return max(found)[::-1]
