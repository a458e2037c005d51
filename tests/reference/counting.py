"""Counting, slowly and plainly: loops, grids and the bootstrap."""

import numpy as np
from scipy.optimize import minimize


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


def calibrated(z, y, k, pull, ridge):
    """Softmax regression of labels on scores (n, K): W = t I + D, with pull on D; row by row, gradients by differences."""

    def unpack(flat):
        return flat[0] * np.eye(k) + flat[1 : 1 + k * k].reshape(k, k), flat[1 + k * k :]

    def loss(flat):
        W, b = unpack(flat)
        total = 0.5 * ridge * flat[0] ** 2 + 0.5 * pull * (flat[1 : 1 + k * k] ** 2).sum()
        for row, label in zip(z, y, strict=True):
            logits = row @ W + b
            total += np.log(np.exp(logits).sum()) - logits[label]
        return total

    return unpack(minimize(loss, np.zeros(1 + k * k + k), method="BFGS", options={"gtol": 1e-3}).x)


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
