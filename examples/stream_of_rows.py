"""
A stream of a billion rows
==========================

More rows than memory, and F1 to report: `OnlineClassifier` sees each row once, in chunks, and
keeps a few hundred kilobytes. Here a stream of one million rows is made up as it goes; a
billion take a thousand times as long and no more memory. Files come by
``steelyard.streams.from_csv``, ``from_parquet`` or ``from_svmlight``, with checkpoints.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import SGDClassifier

import steelyard as sy
import steelyard.measures as m

FEATURES = 20
direction = np.random.default_rng(0).normal(size=FEATURES)


def chunks(n, size=20_000, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(n // size):
        y = rng.random(size) < 0.03
        X = rng.normal(size=(size, FEATURES))
        X += np.outer(y, 0.6 * direction)
        yield X, y


X_new, y_new = next(chunks(100_000, size=100_000, seed=2))
learner = sy.OnlineClassifier(m.FBeta(1), random_state=0)
usual = SGDClassifier(loss="log_loss", average=True)
rows, f1, f1_usual, spent = [], [], [], 0.0
for k, (X, y) in enumerate(chunks(1_000_000), start=1):
    began = time.perf_counter()
    learner.partial_fit(X, y, classes=[False, True])
    spent += time.perf_counter() - began
    usual.partial_fit(X, y, classes=[False, True])
    if k in (1, 2, 5, 10, 20, 50):
        rows.append(k * 20_000)
        f1.append(m.FBeta(1).score(y_new, learner.predict(X_new)))
        f1_usual.append(m.FBeta(1).score(y_new, usual.predict(X_new)))
for n, ours, theirs in zip(rows, f1, f1_usual, strict=True):
    print(f"{n:>9,} rows: F1 {ours:.3f}; logistic regression by SGD, at 0.5: {theirs:.3f}")
rate = rows[-1] / spent
print(f"{rate / 1e6:.1f} million rows a second, reading not counted:", end=" ")
print(f"a billion in {1e9 / rate / 60:.0f} minutes")

# %%
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.semilogx(rows, f1, "o-", label="OnlineClassifier(FBeta(1))")
ax.semilogx(rows, f1_usual, "x--", label="SGDClassifier at 0.5")
ax.set(
    xlabel="rows seen",
    ylabel="F1 on 100,000 other rows",
    title="One pass over a stream, 3 % positive",
)
ax.legend()
plt.show()
