"""
Does the promise still hold?
============================

A false-alarm rate of at most 5 % was promised. After 8,000 rows the world changes. `Watch`
bets against the promise with every labelled row: while it holds an alarm is ever raised with
a probability of at most 1 %, however long one watches. And `StreamQuantifier` sees a moving
balance of classes without any label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m


def rows(n, rng, positive=0.2, moved=0.0):
    y = rng.random(n) < positive
    X = rng.normal(size=(n, 4)) + np.outer(y, [1.5, 1.0, 0.5, 0.0])
    X[~y, 0] += moved  # the negatives come nearer
    return X, y


rng = np.random.default_rng(0)
X, y = rows(3_000, rng)
model = sy.ThresholdClassifier(
    LogisticRegression(),
    m.Recall(),
    subject_to=m.fpr <= 0.05,
    delta=0.05,
    cv=0.5,
    random_state=0,
).fit(X, y)
watch = sy.Watch(model, level=0.01)
fortune, rate = [], []
for chunk in range(80):
    X_new, y_new = rows(200, rng, moved=0.0 if chunk < 40 else 0.4)
    called = model.predict(X_new)
    watch.update(y_new, called)
    fortune.append(max(watch.e_values().values()))
    rate.append(called[~y_new].mean())
print(f"false alarms before {np.mean(rate[:40]):.1%}, after {np.mean(rate[40:]):.1%}")
print(watch.alarm)

# %%
# Without labels: the balance of classes moves from 20 % to 35 % positive after 8,000 rows.

counter = sy.StreamQuantifier(window=2000, false_alarms=0.01).partial_fit(
    X, y, classes=[False, True]
)
for chunk in range(80):
    counter.update(rows(200, rng, positive=0.2 if chunk < 40 else 0.35)[0])
(low, high), now = counter.interval()[:, 1], counter.prevalence_[1]
print(f"alarms after rows {[int(n) for n in counter.alarms_]};", end=" ")
print(f"now {now:.0%} positive ({low:.0%} to {high:.0%})")

# %%
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
seen = 200 * np.arange(1, 81)
ax.semilogy(seen, np.maximum(fortune, 1e-3))
ax.axhline(100, color="black", linestyle="--")
ax.annotate("alarm: 1 / level", (0, 100), xytext=(0, 4), textcoords="offset points")
ax.axvline(8_000, color="C1")
ax.annotate(
    "the world changes",
    (8_000, 0.85),
    xycoords=("data", "axes fraction"),
    xytext=(-4, 0),
    textcoords="offset points",
    ha="right",
    color="C1",
)
ax.set(
    xlabel="labelled rows seen",
    ylabel="fortune against the promise",
    title="A bet against the promise",
)
plt.show()
