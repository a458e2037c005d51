"""The slow obvious search: every threshold that separates two scores, each outcome counted anew."""

import numpy as np


def operating_points(scores, is_positive, weight=None):
    """(tpr, tnr) of ``score > t`` for t below all scores and at each distinct score."""
    weight = np.ones(len(scores)) if weight is None else weight
    points = []
    for t in [-np.inf, *np.unique(scores)]:
        called = scores > t
        tpr = weight[is_positive & called].sum() / weight[is_positive].sum()
        tnr = weight[~is_positive & ~called].sum() / weight[~is_positive].sum()
        points.append((tpr, tnr))
    return np.array(points)
