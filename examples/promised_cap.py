"""A false-alarm cap that holds on rows nobody has seen: tumours, where an alarm on a healthy person must be rare."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy

X, y = load_breast_cancer(return_X_y=True)
malignant = y == 0
X_train, X_test, y_train, y_test = train_test_split(X, malignant, test_size=0.4, random_state=0, stratify=malignant)

# With probability 0.9 at most 5 % of all healthy people are called, whatever the distribution.
model = make_pipeline(StandardScaler(), sy.NeymanPearsonClassifier(max_fpr=0.05, delta=0.1, random_state=0))
model.fit(X_train, y_train)
called = model.predict(X_test)
inner = model[-1]
low, high = inner.fpr_heldout_interval_
print(f"false alarms: {called[~y_test].mean():.3f} on test; held out {inner.fpr_heldout_:.3f} [{low:.3f}, {high:.3f}]")
print(f"tumours found: {called[y_test].mean():.3f}")
