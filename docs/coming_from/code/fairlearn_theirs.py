import numpy as np
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
group = np.where(rng.random(30_000) < 0.3, "young", "old")
y = rng.random(30_000) < 0.2
X = rng.normal(size=(30_000, 4))
X[:, 0] += y * np.where(group == "young", 1.0, 2.0)
train, new = slice(0, 10_000), slice(10_000, None)

model = ThresholdOptimizer(
    estimator=LogisticRegression(),
    constraints="true_positive_rate_parity",
    objective="balanced_accuracy_score",
    predict_method="predict_proba",
)
model.fit(X[train], y[train], sensitive_features=group[train])
called = model.predict(X[new], sensitive_features=group[new], random_state=0)
found = {g: float(called[(group[new] == g) & y[new]].mean().round(3)) for g in ("old", "young")}
alarms = called[~y[new]].mean()
print(f"found {found}, false alarms {alarms:.3f}")
