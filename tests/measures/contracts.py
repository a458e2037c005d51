"""What every measure must satisfy, each as a function that raises AssertionError: samples against claims.

The tests run them over lists of measures; the mutation tests run them over broken rules and expect them to raise.
"""

import numpy as np

N = 2000
SAMPLE_SIZE = 50


def sample(seed=0, n=N, edge=0.2):
    """Random rates and prevalences, with a share of them on the boundary."""
    rng = np.random.default_rng(seed)
    x = rng.random((3, n))
    flip = rng.random((3, n)) < edge
    return np.where(flip, np.round(x), x)


def values(measure, tpr, tnr, p):
    return measure(tpr, tnr, p, sample_size=SAMPLE_SIZE)


def slack(x):
    return 1e-9 * (1 + np.where(np.isfinite(x), np.abs(x), 0))


def range_holds(measure):
    v = values(measure, *sample())
    v = v[~np.isnan(v)]
    low, high = measure.range
    assert (v >= low - slack(v)).all(), f"{measure!r} fell to {v.min()} below its range {measure.range}"
    assert (v <= high + slack(v)).all(), f"{measure!r} rose to {v.max()} above its range {measure.range}"


def monotonicity_holds(measure):
    tpr, tnr, p = sample(1)
    other = sample(2)[0]
    for axis in (0, 1):
        slope = measure.slope(axis)
        if slope is None:
            continue
        a = (np.minimum(tpr, other), tnr) if axis == 0 else (tpr, np.minimum(tnr, other))
        b = (np.maximum(tpr, other), tnr) if axis == 0 else (tpr, np.maximum(tnr, other))
        with np.errstate(invalid="ignore"):
            step = values(measure, *b, p) - values(measure, *a, p)
        step = step[~np.isnan(step)]
        assert slope < 0 or (step >= -slack(step)).all(), f"{measure!r} falls along axis {axis}"
        assert slope > 0 or (step <= slack(step)).all(), f"{measure!r} rises along axis {axis}"


def curvature_holds(measure):
    (P0, N0, p), (P1, N1, _) = sample(3), sample(4)
    share = np.random.default_rng(5).random(N)
    a, b = values(measure, P0, N0, p), values(measure, P1, N1, p)
    middle = values(measure, (1 - share) * P0 + share * P1, (1 - share) * N0 + share * N1, p)
    # 0/0 = 0 may tear a ratio at the very corner where its denominator vanishes: there no claim is made.
    ok = np.isfinite(a) & np.isfinite(b) & np.isfinite(middle)
    if measure.ratio() is not None:
        bottom = measure.ratio()[1]
        ok &= (values(bottom, P0, N0, p) != 0) & (values(bottom, P1, N1, p) != 0)
    a, b, middle, share = a[ok], b[ok], middle[ok], share[ok]
    chord = (1 - share) * a + share * b
    low, high = np.minimum(a, b), np.maximum(a, b)
    tol = slack(np.abs(a) + np.abs(b))
    claim = measure.curvature
    above, below = (middle >= chord - tol).all(), (middle <= chord + tol).all()
    held = {
        "constant": above and below and np.allclose(a, b),
        "affine": above and below,
        "concave": above,
        "convex": below,
        "pseudo-linear": (middle >= low - tol).all() and (middle <= high + tol).all(),
        "pseudo-concave": (middle >= low - tol).all(),
        "unknown": True,
    }[claim]
    assert held, f"{measure!r} is claimed {claim}; random midpoints refute it"


def first_order_holds(measure):
    """Pseudo-concavity itself: f(b) > f(a) implies grad f(a).(b - a) > 0, so ascent never stalls below a better point."""
    if not measure.curvature.startswith("pseudo"):
        return
    (P0, N0, p), (P1, N1, _) = sample(6, edge=0) * 0.98 + 0.01, sample(7, edge=0) * 0.98 + 0.01
    g = measure.gradient(P0, N0, p, sample_size=SAMPLE_SIZE)
    rise = g.tpr * (P1 - P0) + g.tnr * (N1 - N0)
    gain = values(measure, P1, N1, p) - values(measure, P0, N0, p)
    assert (rise[gain > 1e-9] > 0).all(), f"{measure!r}: a better point behind a falling gradient"


def gradient_holds(measure, h=1e-6):
    tpr, tnr, p = 0.02 + 0.96 * sample(8, 500, edge=0)
    g = measure.gradient(tpr, tnr, p, sample_size=SAMPLE_SIZE)
    f = lambda dP, dN: values(measure, tpr + dP, tnr + dN, p)
    for axis, (dP, dN) in enumerate(((h, 0), (0, h))):
        right, left = (f(dP, dN) - f(0, 0)) / h, (f(0, 0) - f(-dP, -dN)) / h
        both = (f(dP, dN) - f(-dP, -dN)) / (2 * h)
        smooth = np.isfinite(both) & (np.abs(right - left) < 1e-3 * (1 + np.abs(both)))
        error = np.abs(g[axis] - both) / (1 + np.abs(both))
        assert (error[smooth] < 1e-4).all(), f"{measure!r}: gradient off by {error[smooth].max():.1e}"


def tape_holds(measure):
    tpr, tnr, p = sample(9, 500)
    points = np.column_stack([tpr, tnr, p, np.full_like(p, 0.5 / SAMPLE_SIZE)])
    value, gradient = measure.tape().evaluate(points)
    tree = values(measure, tpr, tnr, p)
    # Outside its domain (a root of a negative number) a measure has no value, and near a pole no digits, to agree on.
    finite = np.isfinite(tree) & (np.abs(tree) < 1e4)
    np.testing.assert_allclose(value[finite], tree[finite], rtol=1e-10, atol=1e-12, err_msg=repr(measure))
    slopes = measure.gradient(tpr, tnr, p, sample_size=SAMPLE_SIZE)
    # At the corners a kink has several gradients.
    inside = finite & ((points[:, :3] > 0) & (points[:, :3] < 1)).all(axis=1)
    for axis in (0, 1):
        expected = np.broadcast_to(slopes[axis], p.shape)
        np.testing.assert_allclose(
            gradient[inside, axis], expected[inside], rtol=1e-8, atol=1e-8, err_msg=repr(measure)
        )


ALL = [range_holds, monotonicity_holds, curvature_holds, first_order_holds, gradient_holds, tape_holds]
