"""
Boosting with a promise
=======================

A gradient boosting machine that is sent out to say "positive" only where it is right nine
times in ten, on rows that nobody has seen. The floor on precision is promised together with a
cap on false alarms.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

import steelyard as sy
import steelyard.measures as m

X, y = make_classification(
    48_000,
    15,
    n_informative=8,
    n_clusters_per_class=3,
    weights=[0.8],
    flip_y=0.06,
    class_sep=0.8,
    random_state=0,
)
train, rest = slice(0, 8_000), slice(8_000, None)
boosting = HistGradientBoostingClassifier(max_iter=60, random_state=0)


def show(name, called):
    precision, recall = m.Precision().score(y[rest], called), m.Recall().score(y[rest], called)
    print(f"{name} precision {precision:.3f}, recall {recall:.3f}")


plain = boosting.fit(X[train], y[train]).predict(X[rest])
show("at 0.5:  ", plain)

limits = [m.Precision() >= 0.9, m.fpr <= 0.03]
promised = sy.ThresholdClassifier(
    boosting, m.Recall(), subject_to=limits, delta=0.1, cv=0.5, random_state=0
)
called = promised.fit(X[train], y[train]).predict(X[rest])
show("promised:", called)
print(promised.promise_)

# %%
# Beside the promise, `report` gives every rate on new labelled rows with its interval, and
# the picture a band that holds the whole true curve at once. Any scikit-learn classifier
# will do, and so will XGBoost's and LightGBM's.

print(promised.report(X[rest][:1000], y[rest][:1000]))
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
display = sy.FrontierDisplay.from_estimator(
    promised, X[rest][:3000], y[rest][:3000], plot=False
)
display.plot(ax=ax, confidence=0.95)
ax.set(
    xlim=(-0.005, 0.2), aspect="auto", title="Boosting under two promised limits, on new rows"
)
plt.show()
