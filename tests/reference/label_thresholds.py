"""Thresholds of several labels by trying every combination of cuts."""

import itertools

import numpy as np


def cuts(scores):
    ordered = np.unique(scores)
    return np.r_[ordered[0] - 1.0, (ordered[:-1] + ordered[1:]) / 2.0, ordered[-1] + 1.0]


def best_of_all(scores, Y, value_of):
    """The largest ``value_of(Y, called)`` over all thresholds."""
    each = [cuts(column) for column in scores.T]
    return max(value_of(Y, (scores > np.array(t)).astype(int)) for t in itertools.product(*each))


def best_of_one(scores, Y, thresholds, j, value_of):
    """The same over the cuts of label j."""
    found = []
    for cut in cuts(scores[:, j]):
        tried = np.array(thresholds, dtype=float)
        tried[j] = cut
        found.append(value_of(Y, (scores > tried).astype(int)))
    return max(found)
