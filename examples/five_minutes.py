"""
A first tour: a measure, a cap, a promise and a count
=====================================================

On data that everybody has, handwritten digits: which are eights? One in ten is.
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

X, digit = load_digits(return_X_y=True)
y = digit == 8
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
model = make_pipeline(StandardScaler(), LogisticRegression())

# 1. A measure to report: the best threshold of a model that you have, on out-of-fold scores.
tuned = sy.ThresholdClassifier(model, m.FBeta(2)).fit(X_train, y_train)
plain = model.fit(X_train, y_train)
print(f"F2: {m.FBeta(2).score(y_test, plain.predict(X_test)):.3f} at 0.5,", end=" ")
print(f"{m.FBeta(2).score(y_test, tuned.predict(X_test)):.3f} at the tuned threshold")

# 2. A cap on false alarms, and the most finds under it: a linear model trained for that.
trained = sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.05, random_state=0)
capped = make_pipeline(StandardScaler(), trained)
rates = m.rates(y_test, capped.fit(X_train, y_train).predict(X_test))
print(f"cap of 5 %: {rates.tpr:.1%} found, {1 - rates.tnr:.1%} false alarms")

# 3. The same cap as a promise: it fails on unseen data with a probability of at most 10 %.
promised = sy.ThresholdClassifier(
    model, m.Recall(), subject_to=m.fpr <= 0.05, delta=0.1, cv=0.3, random_state=0
)
rates = m.rates(y_test, promised.fit(X_train, y_train).predict(X_test))
print(f"promised:   {rates.tpr:.1%} found, {1 - rates.tnr:.1%} false alarms")

# 4. A count: how many eights are in a batch in which they are three times as common?
rare = X_test[~y_test][:200]
batch = [*X_test[y_test], *rare]
counter = sy.Quantifier(model, random_state=0).fit(X_train, y_train)
estimate, (low, high) = counter.predict(batch)[1], counter.predict_interval(batch)[:, 1]
truth, called = y_test.sum() / len(batch), plain.predict(batch).mean()
print(f"{truth:.0%} of the batch are eights; called {called:.0%},", end=" ")
print(f"estimated {estimate:.0%} ({low:.0%} to {high:.0%})")

# %%
# The first of the four in a picture: every threshold of the model on test rows, iso-lines
# of F2, and the point chosen.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
sy.FrontierDisplay.from_estimator(tuned, X_test, y_test, ax=ax)
ax.set_title("The threshold for F2, on test rows")
plt.show()
