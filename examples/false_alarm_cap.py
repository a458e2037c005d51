"""Find as many tumours as possible while at most 5 % of the healthy are alarmed, and promise it for new patients.

The breast cancer data of scikit-learn: 569 patients, malignant is what we look for. Three ways to set the threshold of
one logistic regression: at 0.5; at the most recall whose false-alarm rate on held-out patients is at most 5 %; and so
that the rate stays below 5 % for *new* patients with 90 % confidence.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

X, benign = load_breast_cancer(return_X_y=True)
y = np.where(benign == 1, "benign", "malignant")
model = make_pipeline(StandardScaler(), LogisticRegression())
cap = m.fpr <= 0.05

rules = {
    "threshold 0.5": model,
    "cap met on held-out rows": sy.ThresholdClassifier(model, m.Recall(), subject_to=cap, cv=0.5, random_state=0),
    "cap promised, delta = 0.1": sy.ThresholdClassifier(
        model, m.Recall(), subject_to=cap, delta=0.1, cv=0.5, random_state=0
    ),
}
print(f"{'':28} {'found':>8} {'false alarms':>14}   (mean over 20 splits)")
for name, rule in rules.items():
    found, alarms = [], []
    for seed in range(20):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
        rates = m.rates(y_test, rule.fit(X_train, y_train).predict(X_test))  # "malignant" is the larger label
        found.append(rates.tpr)
        alarms.append(1 - rates.tnr)
    print(f"{name:28} {np.mean(found):8.3f} {np.mean(alarms):14.3f}")
