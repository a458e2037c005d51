"""
Groups that must be treated alike
=================================

A bank calls loans at risk. In one group of customers the score says less, so that at one
threshold for all a loan that will fail is found less often there. The gap in recall is to be
at most 10 points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m


def loans(n, rng):
    group = np.where(rng.random(n) < 0.3, "young", "old")
    fails = rng.random(n) < 0.2
    X = rng.normal(size=(n, 5))
    X[:, 0] += fails * np.where(
        group == "young", 1.0, 2.0
    )  # young customers have short records
    X[:, 1] += fails
    return X, fails, group


rng = np.random.default_rng(0)
X, y, group = loans(16_000, rng)
X_new, y_new, group_new = loans(50_000, rng)
limit = m.gap(m.tpr) <= 0.1
one = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)).fit(X, y)
own = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1), subject_to=limit, per_group=True)
own.fit(X, y, slices=group)
sure = sy.ThresholdClassifier(
    LogisticRegression(),
    m.FBeta(1),
    subject_to=limit,
    per_group=True,
    delta=0.1,
    cv=0.5,
    random_state=0,
)
sure.fit(X, y, slices=group)

called = {
    "one threshold for F1": one.predict(X_new),
    "gap at most 0.1": own.predict(X_new, slices=group_new),
    "the same, promised": sure.predict(X_new, slices=group_new),
}
recall = {}
print(f"{'on 50,000 new loans':22} {'F1':>6} {'found, old':>11} {'found, young':>13}")
for name, labels in called.items():
    recall[name] = [labels[(group_new == g) & y_new].mean() for g in ("old", "young")]
    f1, (old, young) = m.FBeta(1).score(y_new, labels), recall[name]
    print(f"{name:22} {f1:6.3f} {old:11.1%} {young:13.1%}")
print(
    "thresholds:",
    {
        str(g): round(float(t), 3)
        for g, t in zip(own.groups_, own.best_thresholds_, strict=True)
    },
)

# %%
# Each group has a threshold of its own, nothing is drawn at random, and with ``delta`` the
# gap is promised for customers who have not come yet.

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
places = np.arange(len(recall))
for k, g in enumerate(("old", "young")):
    ax.bar(places + 0.35 * k, [values[k] for values in recall.values()], width=0.33, label=g)
ax.set_xticks(places + 0.175, list(recall))
ax.set(ylabel="failing loans found", ylim=(0, 0.95), title="Recall by group, on new customers")
ax.legend(ncols=2)
plt.show()
