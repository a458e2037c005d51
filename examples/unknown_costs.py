"""
Costs that are not known yet
============================

A reader of handwriting looks for eights. What a missed eight costs against a false one is for
its users to say, and every one says something else. One cost path holds the classifier for
each of them: it is trained once, and taking a classifier for some costs trains nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import steelyard as sy

X, digit = load_digits(return_X_y=True)
y = (digit == 8).astype(int)
asked = (0.1, 1, 10, 100)  # false alarms that cost as much as a miss, user by user


def price(called, y, miss):
    return (miss * (y > called).sum() + (y < called).sum()) / len(y)


paid = {"one SVM for all": [], "its own classifier": [], "probability above tau": []}
for seed in range(10):
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    path = sy.CostPath(C=0.1).fit(X_train, y_train)
    proba = LogisticRegression(C=0.1).fit(X_train, y_train).predict_proba(X_test)[:, 1]
    own = [
        path.at(costs={"fp": 1, "fn": miss}).predict(X_test) for miss in asked
    ]  # nothing is trained here
    called = {
        "one SVM for all": [path.at(0.5).predict(X_test)] * len(asked),
        "its own classifier": own,
        "probability above tau": [proba > 1 / (1 + miss) for miss in asked],
    }
    for name, answers in called.items():
        paid[name].append(
            [price(c, y_test, miss) for c, miss in zip(answers, asked, strict=True)]
        )

print(f"{len(X_train)} rows, a path of {len(path.kinks_)} kinks\n")
print("mean cost of a row, 10 splits; a miss costs as much as")
print(f"{'':24}" + "".join(f"{miss:>12g}" for miss in asked) + "   false alarms")
for name, values in paid.items():
    mean, error = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(10)
    print(
        f"{name:24}" + "".join(f"{a:6.3f}+-{b:.3f}" for a, b in zip(mean, error, strict=True))
    )

# %%
# The last line is logistic regression with its threshold moved to the cost ratio, a strong
# habit where probabilities are good: ahead where misses are cheap, behind where they are
# dear. The path turns the plane as well as moving it, and it is exact: rates and
# coefficients are known at every ratio of costs.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
sy.CostPathDisplay.from_estimator(path, X_test, y_test, kind="rates", ax=axes[0])
sy.CostPathDisplay.from_estimator(path, X_test, y_test, kind="coefficients", ax=axes[1])
axes[0].set_title("Rates on test rows, at every cost")
axes[1].set_title("Coefficients, at every cost")
plt.show()
