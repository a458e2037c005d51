"""The papers' stream algorithms, transcribed in plain Python: one row, one line of the algorithm at a time.

Functions of two arguments come as ``f(a, b, p, e) -> (value, (d/da, d/db))`` with the prevalence p and the smoothing
e, written out by hand here, so that the library's expressions, tapes and stages are checked against another road.

Where the papers leave a choice: rewards are min(1, z); the share p is the running one, with the row at hand; rates and
means are clipped before a function sees them; the duals start at zero and the means q with the first values (NOTES).
"""

import math

import numpy as np

CLIP = 1e-4
EDGE = 1e-6


# -- functions -----------------------------------------------------------------------------------------------------
def balanced_accuracy(P, N, p, e):
    return (P + N) / 2, (0.5, 0.5)


def nss(P, N, p, e):
    n = 1 - p
    d, m = p * (1 - P) - n * (1 - N), max(p, n)
    return 1 - (d / m) ** 2, (2 * p * d / m**2, -2 * n * d / m**2)


def neg_kld(P, N, p, e):
    n, scale = 1 - p, 1 + 2 * e
    q = p * P + n * (1 - N)
    value = (p + e) / scale * math.log((q + e) / (p + e)) + (n + e) / scale * math.log((1 - q + e) / (n + e))
    d = ((p + e) / (q + e) - (n + e) / (1 - q + e)) / scale
    return value, (p * d, -n * d)


def g_mean(P, N, p, e):
    value = math.sqrt(P * N)
    return value, (N / (2 * value), P / (2 * value))


def first(a, b, p, e):
    return a, (1.0, 0.0)


def weighted_sum(c):
    return lambda a, b, p, e: (c * a + (1 - c) * b, (c, 1 - c))


def harmonic(beta):
    bb = beta**2

    def psi(a, b, p, e):
        bottom = bb * a + b
        return (1 + bb) * a * b / bottom, ((1 + bb) * b * b / bottom**2, (1 + bb) * bb * a * a / bottom**2)

    return psi


def reward(z, kind):
    """Value and slope of a reward."""
    if kind == "hinge":
        return min(1.0, z), 1.0 if z < 1 else 0.0
    return 1 - math.log(1 + math.exp(-z)), 1 / (1 + math.exp(z))


def loss(z, kind):
    """Value and slope of a loss of Gasso et al., with width 1."""
    if kind == "sigmoid":
        s = 1 / (1 + math.exp(z))
        return s, -s * (1 - s)
    if kind == "ramp":
        return min(max((1 - z) / 2, 0.0), 1.0), -0.5 if abs(z) < 1 else 0.0
    if kind == "arctan":
        return 0.5 - math.atan(z) / math.pi, -1 / (math.pi * (1 + z * z))
    return 0.5 - math.erf(z) / 2, -math.exp(-z * z) / math.sqrt(math.pi)


def inside(x, low=0.0, high=1.0, edge=CLIP):
    return min(max(x, low + edge), high - edge)


# -- Kar et al. ----------------------------------------------------------------------------------------------------
class Nemsis:
    """Algorithm 1 for Psi(zeta1, zeta2), one row at a time."""

    def __init__(self, d, psi, zeta1, zeta2, eta0, *, kind="hinge", counts=False, radius=None, ranges=((0, 1), (0, 1))):
        self.psi, self.zeta, self.eta0 = psi, (zeta1, zeta2), eta0
        self.kind, self.counts, self.radius, self.ranges = kind, counts, radius, ranges
        self.w, self.total_w = np.zeros(d), np.zeros(d)
        self.n = {+1: 0, -1: 0}  # rows of each class, from the start
        self.restart()

    def restart(self):
        self.t = 0
        self.seen, self.reward = {+1: 0, -1: 0}, {+1: 0.0, -1: 0.0}
        self.q_sum, self.duals, self.gamma = [0.0, 0.0], None, (0.0, 0.0)
        self.total_w = np.zeros_like(self.w)

    def weights(self):
        """The combined weights of r+ and r-."""
        if self.duals is None:
            return 0.0, 0.0
        (_, a, _), (_, b, _) = self.duals
        g1, g2 = self.gamma
        return g1 * a[0] + g2 * b[0], g1 * a[1] + g2 * b[1]

    def see(self, x, y):
        """Score and tally; the reward's slope comes back."""
        self.t += 1
        self.n[y] += 1
        z = y * float(self.w @ x)
        value, slope = reward(z, self.kind)
        credit = float(z > 0) if self.counts else value
        self.seen[y] += 1
        self.reward[y] += credit
        share = self.n[y] / (self.n[1] + self.n[-1])
        self.s = (credit / share, 0.0) if y > 0 else (0.0, credit / share)
        return slope, share

    def rates(self):
        return tuple(inside(self.reward[c] / self.seen[c] if self.seen[c] else 0.0) for c in (+1, -1))

    def step(self, x, y):
        slope, share = self.see(x, y)
        weight = self.weights()[0 if y > 0 else 1] / share
        self.w = self.w + self.eta0 / math.sqrt(self.t) * weight * slope * y * x  # lines 6 and 9
        norm = float(np.linalg.norm(self.w))
        if self.radius is not None and norm > self.radius:
            self.w = self.w * self.radius / norm
        self.total_w = self.total_w + self.w
        self.update_duals()

    def update_duals(self):
        total = self.n[1] + self.n[-1]
        p, e = self.n[1] / total, 0.5 / total
        if self.duals is not None:  # lines 7, 10, 13 with zeta*(a) = a.r - zeta(r)
            for k, (value, a, r) in enumerate(self.duals):
                self.q_sum[k] += value + a[0] * (self.s[0] - r[0]) + a[1] * (self.s[1] - r[1])
        r = self.rates()  # line 12
        fresh = self.duals is None
        self.duals = [(*zeta(*r, p, e), r) for zeta in self.zeta]  # lines 15 and 16
        if fresh:
            self.q_sum = [self.t * value for value, _, _ in self.duals]
        q = [inside(self.q_sum[k] / self.t, *self.ranges[k], edge=EDGE) for k in (0, 1)]
        self.gamma = self.psi(*q, p, e)[1]  # line 17

    def mean(self):
        return self.total_w / self.t


class Scan(Nemsis):
    """Algorithm 3 for numerator / denominator: NEMSIS on V = numerator - level * denominator, then the level, in turns."""

    def __init__(self, d, numerator, denominator, eta0, epoch, growth=2.0, **options):
        self.level, self.learning = 0.0, True
        self.length = self.left = epoch
        self.growth = growth
        super().__init__(d, lambda a, b, p, e: (a - self.level * b, (1.0, -self.level)), numerator, denominator, eta0,
                         ranges=((-9, 9), (-9, 9)), **options)  # fmt: skip
        self.model = None

    def step(self, x, y):
        if self.learning:
            super().step(x, y)
        else:
            self.see(x, y)
        self.left -= 1
        if self.left > 0:
            return
        if self.learning:
            self.model = self.w = self.mean()  # line 11, with the averaged result
        else:
            total = self.n[1] + self.n[-1]
            p, e = self.n[1] / total, 0.5 / total
            self.level = self.zeta[0](*self.rates(), p, e)[0] / self.zeta[1](*self.rates(), p, e)[0]  # line 19
            self.length *= self.growth
        self.learning, self.left = not self.learning, self.length
        self.restart()


class Spade(Nemsis):
    """NEMSIS whose duals look at rates that forget: a step of 1/sqrt(k) towards each reward in place of 1/k."""

    def restart(self):
        super().restart()
        self.rate = {+1: 0.0, -1: 0.0}

    def see(self, x, y):
        before = self.reward[y]
        found = super().see(x, y)
        self.rate[y] += (self.reward[y] - before - self.rate[y]) / math.sqrt(self.seen[y])
        return found

    def rates(self):
        return tuple(inside(self.rate[c]) for c in (+1, -1))


# -- Gasso et al. --------------------------------------------------------------------------------------------------
class NeymanPearson:
    """Algorithm 4: min P_nd s.t. P_fa <= rho; or, with q, s.t. P_fa <= q (1 - P_nd) (section 4), on the latest positive."""

    def __init__(self, d, rho=None, *, q=None, kind="sigmoid", gamma0=0.1, lam_c=0.0, nu=0.01, balanced=False):
        self.rho, self.q, self.kind, self.gamma0, self.lam_c, self.nu, self.balanced = (
            rho,
            q,
            kind,
            gamma0,
            lam_c,
            nu,
            balanced,
        )
        self.w, self.lam, self.t, self.n = np.zeros(d), 1.0, 0, {+1: 0, -1: 0}
        self.last_positive = 0.0  # 1 - loss of the latest positive row

    def step(self, x, y):
        self.n[y] += 1
        value, slope = loss(y * float(self.w @ x), self.kind)
        gamma = self.gamma0 / (1 + self.lam_c * self.t)
        self.t += 1
        a = 1.0 + (self.lam * self.q if self.q is not None else 0.0) if y > 0 else self.lam
        if not self.balanced:
            a *= self.t / self.n[y]
        self.w = (1 - gamma * self.lam_c) * self.w - gamma * a * slope * y * x  # (11a)
        if y > 0:
            self.last_positive = 1 - value
            return
        cap = self.rho if self.q is None else self.q * self.last_positive
        self.lam *= 1 + self.nu * (value - cap)  # (12)
