"""One threshold for each group, by trying all combinations."""

from itertools import product

import numpy as np


def best(scores, is_positive, groups, measure, constraints):
    """The largest value of the measure over all combinations that meet the constraints; None if none does."""
    names = np.unique(groups).tolist()
    cuts = [np.r_[-np.inf, np.unique(scores[groups == name])] for name in names]
    found = None
    for cut in product(*cuts):
        called = scores > np.array([cut[names.index(g)] for g in groups])
        rates = {g: at(called[groups == g], is_positive[groups == g]) for g in names}
        whole = at(called, is_positive)
        value = float(measure(*whole, sample_size=len(scores)))
        good = all(c.met(rates) if c.needs_groups else c.holds(*whole, sample_size=len(scores)) for c in constraints)
        if good and not np.isnan(value) and (found is None or value > found):
            found = value
    return found


def at(called, is_positive):
    return called[is_positive].mean(), (~called[~is_positive]).mean(), is_positive.mean()
