"""
A measure of your own
=====================

Write it down, see what the library knows about it, and tune a model for it. A helpdesk routes
tickets: missing an urgent one costs as much as twenty needless escalations, and the daily
count of urgent tickets is reported upstairs, so it should be right too. The measure: cost,
minus a penalty on the miscount.
"""

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m

mine = m.NegCost(fp=1, fn=20) + 2 * m.NegAE()
print(mine.explain())

X, y = make_classification(
    6000, 20, n_informative=6, weights=[0.92], flip_y=0.03, random_state=0
)
plain = LogisticRegression().fit(X[:3000], y[:3000])
tuned = sy.ThresholdClassifier(LogisticRegression(), mine).fit(X[:3000], y[:3000])
print(f"\nthreshold 0.5: {mine.score(y[3000:], plain.predict(X[3000:])):.4f}")
print(f"tuned for it:  {mine.score(y[3000:], tuned.predict(X[3000:])):.4f}", end="   ")
print(f"(at {tuned.best_threshold_:.3f})")

# %%
# The measure at every threshold, on rows left out and on new ones: what was chosen, and
# what 0.5 would have been worth.

import matplotlib.pyplot as plt
import numpy as np

scores = tuned.estimator_.predict_proba(X[3000:])[:, 1]
thresholds = np.linspace(0.01, 0.6, 120)
figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
front = tuned.frontier_
ax.plot(
    front.thresholds,
    mine(front.tpr, front.tnr, front.prevalence, sample_size=3000),
    label="out-of-fold rows",
)
ax.plot(thresholds, [mine.score(y[3000:], scores > t) for t in thresholds], label="new rows")
ax.axvline(tuned.best_threshold_, color="black", linestyle="--", label="chosen")
ax.set(
    xlim=(0, 0.6),
    ylim=(-1.4, -0.5),
    xlabel="threshold",
    ylabel="cost and miscount",
    title="A measure of your own",
)
ax.legend()
plt.show()
