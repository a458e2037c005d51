import numpy as np
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m

rng = np.random.default_rng(1)


def rows(n):
    X = rng.normal(size=(n, 2))
    return X, (rng.random(n) < 1 / (1 + np.exp(-(1 + 3 * X[:, 0])))).astype(int)


X, y = rows(1000)
model = sy.ThresholdClassifier(
    LogisticRegression(), m.Recall(), subject_to=m.fpr <= 0.05, delta=0.05, cv=0.5, random_state=0
)
model.fit(X, y)
X_new, y_new = rows(100_000)
called = model.predict(X_new)
print(f"false alarms {called[y_new == 0].mean():.3f} found {called[y_new == 1].mean():.3f}")
