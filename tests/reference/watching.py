"""A fortune, row by row: stakes from all rows before, the reserve paid out block by block, nothing vectorised."""

from math import comb

import numpy as np

HALF_LIVES, BLOCK, DOUBTS, BOLDEST = (100.0, 1000.0, 10_000.0), 256, 20.0, 0.5


def evidence(paid, most):
    """After every row."""
    return _run(paid, most)[0]


def at_end(paid, most):
    capital, reserve = _run(paid, most)[1:]
    return sum(capital) + reserve


def _run(paid, most):
    capital, reserve, found = [0.5 / 3] * 3, 0.5, []
    for i, x in enumerate(paid):
        for k, half_life in enumerate(HALF_LIVES):
            weights = [0.5 ** ((i - 1 - j) / half_life) for j in range(i)]
            total = sum(weights)
            mean = sum(w * v for w, v in zip(weights, paid, strict=False)) / (total + DOUBTS)
            square = sum(w * v * v for w, v in zip(weights, paid, strict=False)) / total if i else 1.0
            capital[k] *= 1 - min(max(-mean / square, 0.0), BOLDEST / most) * x
        found.append(sum(capital) + reserve)
        if (i + 1) % BLOCK == 0:
            block = (i + 1) // BLOCK
            out = 0.5 / (block * (block + 1))
            capital, reserve = [c + out / 3 for c in capital], reserve - out
    return found, capital, reserve


def robbins(good, n, level):
    """Shares against which the uniform mixture has not won 1 / level; its mean of r^s (1-r)^(n-s) is a beta integral."""
    grid = np.linspace(0, 1, 2001)
    mixture = 1 / ((n + 1) * comb(n, good))
    likelihood = np.exp(good * np.log(np.maximum(grid, 1e-300)) + (n - good) * np.log(np.maximum(1 - grid, 1e-300)))
    return grid[mixture < likelihood / level]
