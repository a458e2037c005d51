"""
Counting opinions after a shift
===============================

What share of today's reviews is bad? The classifier was trained when half were. On a day when
nine in ten are good it still calls too many bad, and the other way round: a count of
predictions is pulled to the training balance. `Quantifier` undoes that, and says how sure it
is.

The reviews are made up: forty words each from a vocabulary of 800, good and bad ones with
different habits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import steelyard as sy

rng = np.random.default_rng(0)
words = rng.dirichlet(np.ones(800))
habits = [words * rng.lognormal(sigma=0.25, size=800) for _ in range(2)]


def reviews(bad):
    return np.array(
        [rng.multinomial(40, habits[int(b)] / habits[int(b)].sum()) for b in bad], dtype=float
    )


y = rng.random(1_500) < 0.5
X = reviews(y)
counter = sy.Quantifier(LogisticRegression(C=0.1), random_state=0).fit(X, y)
plain = LogisticRegression(C=0.1).fit(X, y)

days = np.repeat(np.linspace(0.05, 0.95, 10), 3)
counted, estimated, ends = [], [], []
for share in days:
    today = reviews(rng.random(400) < share)
    counted.append(plain.predict(today).mean())
    estimated.append(counter.predict(today)[1])
    ends.append(counter.predict_interval(today)[:, 1])
counted, estimated, (low, high) = np.array(counted), np.array(estimated), np.array(ends).T
print(f"accuracy at the training balance: {plain.score(reviews(y), y):.1%}")
print(f"mean error, predictions counted:  {np.abs(counted - days).mean():.3f}")
print(f"mean error, Quantifier:           {np.abs(estimated - days).mean():.3f}")
held = np.sum((low <= days) & (days <= high))
print(f"95 % intervals that hold the truth: {held} of {len(days)}")

# %%
figure, ax = plt.subplots(figsize=(6, 4.8), layout="constrained")
ax.plot([0, 1], [0, 1], color="grey", linewidth=1)
ax.plot(days, counted, "x", color="C1", label="predictions counted")
ax.errorbar(
    days,
    estimated,
    [estimated - low, high - estimated],
    fmt="o",
    color="C0",
    label="Quantifier, 95 % interval",
)
ax.set(
    xlabel="true share of bad reviews",
    ylabel="reported",
    title="Thirty days, each with another share",
)
ax.legend()
plt.show()
