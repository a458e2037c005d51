"""
Every quantile of a regression
==============================

How far will the disease of a patient have gone in a year, and between which ends in nine of
ten cases? `QuantilePath` holds the regression for every quantile from one training. 442
patients of scikit-learn's diabetes data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import steelyard as sy

X, y = load_diabetes(return_X_y=True)
seen = {"mean +- 1.645 deviations": [], "QuantilePath, 5 % to 95 %": []}
for seed in range(20):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=seed)
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    mean = LinearRegression().fit(X_train, y_train)
    middle, spread = (
        mean.predict(X_test),
        1.645 * np.std(y_train - mean.predict(X_train), ddof=11),
    )
    path = sy.QuantilePath(C=100.0).fit(X_train, y_train)
    ends = [(middle - spread, middle + spread), path.predict(X_test, quantiles=[0.05, 0.95]).T]
    mild, grave = middle < np.quantile(middle, 1 / 3), middle > np.quantile(middle, 2 / 3)
    for name, (low, high) in zip(seen, ends, strict=True):
        inside = (low <= y_test) & (y_test <= high)
        seen[name].append(
            [inside.mean(), inside[mild].mean(), inside[grave].mean(), np.mean(high - low)]
        )
print(
    f"{'90 % intervals hold':28} {'all':>6} {'mild third':>11} {'grave third':>12} {'width':>6}"
)
for name, values in seen.items():
    every, low, high, width = np.mean(values, axis=0)
    print(f"{name:28} {every:6.1%} {low:11.1%} {high:12.1%} {width:6.0f}")

# %%
# One width for all is too wide for the mild cases and too narrow for the grave ones.
# Quantiles follow the rows. Both hold a little less than they say, as 265 rows and ten
# columns are few. Along one column, the others at their means:

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
bmi = X_test[:, 2]
quantiles = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
line = np.zeros((50, X_test.shape[1]))
line[:, 2] = np.linspace(bmi.min(), bmi.max(), 50)
ax.plot(bmi, y_test, ".", color="grey", alpha=0.6)
for q, values in zip(
    quantiles, path.predict(line, quantiles=quantiles, rearrange=True).T, strict=True
):
    ax.plot(line[:, 2], values, label=f"{q:.0%}")
ax.set(
    xlabel="body mass index, standardised",
    ylabel="progression",
    title="Five quantiles of one path",
)
ax.legend(title="quantile", loc="lower right", ncols=3)
plt.show()
