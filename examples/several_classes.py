"""
Several classes, some of them rare
==================================

Ten digits, of which three have become rare: one in five of their rows is left. Plain accuracy
hardly notices whether these are found; macro F1 and the worst class's recall do. The offsets
of a model that you have are set for the measure, and one class may have a limit of its own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = X + rng.normal(
    scale=4, size=X.shape
)  # a poor scanner: clean digits are too easy to tell anything
macro, worst = m.macro(m.FBeta(1)), m.worst(m.Recall())
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
ways = {
    "as it comes": model,
    "offsets for macro F1": sy.ThresholdClassifier(model, macro, random_state=0),
    "offsets for the worst recall": sy.ThresholdClassifier(model, worst, random_state=0),
    "macro F1, few false threes": sy.ThresholdClassifier(
        model, macro, subject_to=m.of(3, m.fpr) <= 0.01, random_state=0
    ),
}
found = {name: [] for name in ways}
for seed in range(5):
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    kept = ~np.isin(y_train, (3, 5, 8)) | (rng.random(len(y_train)) < 0.2)
    for name, way in ways.items():
        called = way.fit(X_train[kept], y_train[kept]).predict(X_test)
        threes = m.of(3, m.fpr)
        found[name].append(
            [
                macro.score(y_test, called),
                worst.score(y_test, called),
                threes.score(y_test, called),
            ]
        )
print(f"{'':30}{'macro F1':>9}{'worst recall':>14}{'false threes':>14}")
for name, values in found.items():
    f1, recall, alarms = np.mean(values, axis=0)
    print(f"{name:30}{f1:9.3f}{recall:14.3f}{alarms:14.2%}")

# %%
# What moved: the share of each digit that is called, before and after.

tuned = ways["offsets for macro F1"]
display = sy.ClassConfusionDisplay.from_estimator(tuned, X_test, y_test)
display.figure_.set_size_inches(9, 4.2)
plt.show()
