import numpy as np
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m

rng = np.random.default_rng(0)
group = np.where(rng.random(30_000) < 0.3, "young", "old")
y = rng.random(30_000) < 0.2
X = rng.normal(size=(30_000, 4))
X[:, 0] += y * np.where(group == "young", 1.0, 2.0)
train, new = slice(0, 10_000), slice(10_000, None)

model = sy.ThresholdClassifier(
    LogisticRegression(), m.BalancedAccuracy(), subject_to=m.gap(m.tpr) <= 0.01, per_group=True
)
model.fit(X[train], y[train], slices=group[train])
called = model.predict(X[new], slices=group[new])
found = {g: float(called[(group[new] == g) & y[new]].mean().round(3)) for g in ("old", "young")}
alarms = called[~y[new]].mean()
print(f"found {found}, false alarms {alarms:.3f}")
