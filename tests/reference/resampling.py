"""Judging thresholds by the bootstrap, one draw and one threshold at a time."""

import numpy as np


def judge(scores, positive, weight, draws, measure, cap, margin):
    """For each draw (how often every row is in it): best value inside, penalised value outside, threshold."""
    prevalence = weight[positive].sum() / weight.sum()
    distinct = np.unique(scores)
    cuts = np.r_[distinct[0] - 1.0, (distinct[1:] + distinct[:-1]) / 2, distinct[-1]]

    def rates(mass, cut):
        above = scores > cut
        shares = [
            mass[side & called].sum() / mass[side].sum() for side, called in ((positive, above), (~positive, ~above))
        ]
        return np.clip(shares, 0.0, 1.0)

    out = []
    for times in draws:
        points = []
        for cut in cuts:
            tpr, tnr = rates(weight * times, cut)
            meets = cap is None or 1.0 - tnr <= cap * (1.0 - margin) + 1e-12
            value = measure(tpr, tnr, prevalence, sample_size=len(scores)) if meets else -np.inf
            points.append((round(value, 12), round(tpr + tnr, 12)))
        first = last = points.index(max(points))
        while last + 1 < len(points) and points[last + 1] == points[first]:
            last += 1
        cut = cuts[(first + last) // 2]  # between two rows of the draw all thresholds are alike
        tpr, tnr = rates(weight * (times == 0), cut)
        excess = 0.0 if cap is None else min(1.0, max(0.0, 1.0 - tnr - cap) / cap)
        out.append((points[first][0], measure(tpr, tnr, prevalence, sample_size=len(scores)) - excess, cut))
    return np.array(out)
