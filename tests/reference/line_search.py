"""Algorithm 2 of Cheng et al., corrected, as written: sort all kinks, walk along the slope until it passes zero."""

import numpy as np


def hinge_step(cost, m, s, wp, pp):
    z = 1.0 - m
    active = (z > 0.0) | ((z == 0.0) & (s < 0.0))
    slope = wp - (cost * s)[active].sum()
    if slope >= 0.0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = z / s
    crossed = np.isfinite(kinks) & (kinks > 0.0)
    at, jump = kinks[crossed], (cost * np.abs(s))[crossed]
    for k in np.argsort(at, kind="stable"):
        if slope + pp * at[k] >= 0.0:
            return -slope / pp
        slope += jump[k]
        if slope + pp * at[k] >= 0.0:
            return at[k]
    return -slope / pp
