"""
I report F1: is 0.5 the right threshold?
========================================

Seldom. A forest that looks for the eights among handwritten digits, one in ten, is careful:
most eights get less than half of its votes. Three habits, judged on the same test parts: the
threshold 0.5, ``class_weight="balanced"``, and the threshold that serves F1 best on
out-of-fold scores.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m

X, digit = load_digits(return_X_y=True)
y = digit == 8
forest = RandomForestClassifier(50, random_state=0)
habits = {
    "threshold 0.5": forest,
    "balanced weights": RandomForestClassifier(50, class_weight="balanced", random_state=0),
    "threshold for F1": sy.ThresholdClassifier(forest, m.FBeta(1)),
}
f1 = {name: [] for name in habits}
for seed in range(5):
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    for name, model in habits.items():
        f1[name].append(m.FBeta(1).score(y_test, model.fit(X_train, y_train).predict(X_test)))
for name, values in f1.items():
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    print(f"{name:18} F1 {np.mean(values):.3f} +- {error:.3f} over five splits")

# %%
# Where the point lies: the frontier of the last forest on test rows, with iso-lines of F1.
# Any measure will do, and with ``subject_to=m.fpr <= 0.01`` or ``m.Precision() >= 0.9`` a
# limit beside it.

tuned = habits["threshold for F1"]
print(f"a row is called an eight from {tuned.best_threshold_:.0%} of the votes on")
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
sy.FrontierDisplay.from_estimator(tuned, X_test, y_test, ax=ax)
ax.set_title("The threshold for F1, on test rows")
plt.show()
