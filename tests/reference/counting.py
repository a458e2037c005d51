"""Counting, slowly and plainly: loops, grids and the bootstrap."""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import f as f_distribution


def acc(called, y, batch_called):
    tpr, fpr = called[y == 1].mean(), called[y == 0].mean()
    return min(1.0, max(0.0, (batch_called.mean() - fpr) / (tpr - fpr)))


def em(f, rounds=100_000):
    """Saerens et al. (2002), from densities (n, K)."""
    p = np.full(f.shape[1], 1 / f.shape[1])
    for _ in range(rounds):
        joint = p * f
        new = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(new - p).max() < 1e-13:
            break
        p = new
    return p


def median_sweep(scores, y, batch):
    found = []
    for t in np.unique(scores):
        tpr, fpr = (scores[y == 1] > t).mean(), (scores[y == 0] > t).mean()
        if tpr - fpr >= 0.25:
            found.append(min(1.0, max(0.0, ((batch > t).mean() - fpr) / (tpr - fpr))))
    return np.median(found)


def nearest_on_simplex(mean, M, white, steps=200):
    """Three classes: the best point of a fine grid."""
    best, at = np.inf, None
    for i in range(steps + 1):
        for j in range(steps + 1 - i):
            p = np.array([i, j, steps - i - j]) / steps
            value = np.sum((white @ (mean - M @ p)) ** 2)
            if value < best:
                best, at = value, p
    return at


def bootstrap_interval(t, y, batch, confidence, draws, rng):
    """Percentiles of the adjusted count over draws of the labelled rows, class by class, and of the batch."""
    pos, neg, found = t[y == 1], t[y == 0], []
    for _ in range(draws):
        high, low, mean = (rng.choice(part, len(part)).mean() for part in (pos, neg, batch))
        found.append(np.clip((mean - low) / (high - low), 0.0, 1.0))
    return np.quantile(found, [0.5 - confidence / 2, 0.5 + confidence / 2])


def calibrated(s, y, k, pull, offset, ridge):
    """Logits of softmax regression on scores (n, K), ``t s + g log(prevalence) + z D + b``, z the scores centred: with
    pull on D and offset on b; row by row, gradients by differences."""
    scale = np.sqrt(s.var(axis=0).mean())
    z, shares = (s - s.mean(axis=0)) / scale, np.bincount(y, minlength=k) / len(y)

    def logits(flat):
        D, b = flat[2 : 2 + k * k].reshape(k, k), flat[2 + k * k :]
        return np.array([flat[0] * a / scale + flat[1] * np.log(shares) + c @ D + b for a, c in zip(s, z, strict=True)])

    def loss(flat):
        total = 0.5 * ridge * (flat[:2] ** 2).sum() + 0.5 * pull * (flat[2 : 2 + k * k] ** 2).sum()
        total += 0.5 * offset * (flat[2 + k * k :] ** 2).sum()
        for row, label in zip(logits(flat), y, strict=True):
            total += np.log(np.exp(row).sum()) - row[label]
        return total

    return logits(minimize(loss, np.zeros(2 + k * k + k), method="BFGS", options={"gtol": 1e-3}).x)


def kernel_densities(rows, t, y, k, bandwidth):
    """One pair of rows at a time."""
    found = np.zeros((len(rows), k))
    for i, row in enumerate(rows):
        for j in range(k):
            found[i, j] = np.mean([np.exp(-np.sum((row - c) ** 2) / (2 * bandwidth**2)) for c in t[y == j]])
    return found


def energy_distance(p, t, y, batch):
    """By all pairs: twice between mixture and batch, less within the mixture, less within the batch."""

    def between(a, b):
        return np.mean([np.abs(row - other).sum() for row in a for other in b])

    parts = [t[y == j] for j in range(len(p))]
    across = sum(p[j] * between(part, batch) for j, part in enumerate(parts))
    within = sum(p[i] * p[j] * between(a, b) for i, a in enumerate(parts) for j, b in enumerate(parts))
    return 2 * across - within - between(batch, batch)


def hellinger(p, t, y, batch, bins):
    """Sum over the coordinates of the squared distance between histograms of mixture and batch."""
    total = 0.0
    for c in range(t.shape[1]):
        shares = [np.histogram(part[:, c], bins, (0, 1))[0] / len(part) for part in (t[y == j] for j in range(len(p)))]
        seen = np.histogram(batch[:, c], bins, (0, 1))[0] / len(batch)
        total += 1 - np.sqrt(seen * sum(share * h for share, h in zip(p, shares, strict=True))).sum()
    return total


def least_on_simplex(loss, k):
    """From several starts, by a general solver."""
    sums = {"type": "eq", "fun": lambda p: p.sum() - 1}
    starts = [np.full(k, 1 / k), *(np.full(k, 0.1 / k) + 0.9 * np.eye(k)[j] for j in range(k))]
    found = [minimize(loss, s, method="SLSQP", bounds=[(0, 1)] * k, constraints=sums, tol=1e-12) for s in starts]
    return min(found, key=lambda one: one.fun).x


def class_moments(t, y, k):
    """Means and covariances by class of all memberships but the last, with one more row that has another's mean."""
    d = k - 1
    parts = [t[y == j][:, :d] for j in range(k)]
    means = [part.mean(axis=0) for part in parts]
    covariances = []
    for j in range(k):
        total = sum(np.outer(row - means[j], row - means[j]) for row in parts[j]) / len(parts[j])
        for other in range(k):
            gap = means[other] - means[j]
            total = total + np.outer(gap, gap) / ((k - 1) * (len(parts[j]) + 2))
        covariances.append(total)
    return means, covariances, [len(part) for part in parts]


def against(p, t, y, mean):
    means, covariances, sizes = class_moments(t, y, len(p))
    off = mean[:-1] - sum(share * m for share, m in zip(p, means, strict=True))
    noise = sum(share**2 * v / n for share, v, n in zip(p, covariances, sizes, strict=True))
    return off @ np.linalg.solve(noise, off)


def region_p_value(p, t, y, batch):
    """Hotelling's test of a prevalence, one class and one row at a time; `batch` (models, n, K)."""
    k, n = len(p), batch.shape[1]
    d = k - 1
    means, covariances, sizes = class_moments(t, y, k)
    expected = sum(p[j] * means[j] for j in range(k))
    within = sum(p[j] * covariances[j] for j in range(k))
    between = sum(p[j] * np.outer(means[j] - expected, means[j] - expected) for j in range(k))
    shared = np.trace(np.cov(batch.mean(axis=0).T, bias=True)) / np.trace(np.cov(batch.reshape(-1, k).T, bias=True))
    total = shared * (within + between) / n + sum(p[j] ** 2 * covariances[j] / sizes[j] for j in range(k))
    off = batch.mean(axis=(0, 1))[:d] - expected
    t2 = off @ np.linalg.solve(total, off)
    doubt = 0.0
    for j in range(k):
        share = (shared * p[j] / n + p[j] ** 2 / sizes[j]) * np.linalg.solve(total, covariances[j])
        doubt += (np.trace(share @ share) + np.trace(share) ** 2) / (sizes[j] - 1)
    freedom = (d + d**2) / doubt
    return f_distribution.sf(t2 * (freedom - d + 1) / (freedom * d), d, freedom - d + 1)
