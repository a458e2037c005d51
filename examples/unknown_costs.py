"""Train once, and decide on the costs later.

Tumours are to be called malignant or benign. What a missed tumour costs against a needless biopsy is for the clinic to
say, and every clinic says something else. One cost path holds the classifier for each of them.
"""

from functools import partial

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

X, y = load_breast_cancer(return_X_y=True)
y = 1 - y  # 1 is malignant
split = partial(train_test_split, test_size=0.3, random_state=0)
X_train, X_test, y_train, y_test = split(X, y, stratify=y)
X_train, X_val, y_train, y_val = split(X_train, y_train, stratify=y_train)
scaler = StandardScaler().fit(X_train)
X_train, X_val, X_test = map(scaler.transform, (X_train, X_val, X_test))

path = sy.CostPath(C=0.01).fit(X_train, y_train)
print(f"{len(X_train)} rows, a path of {len(path.kinks_)} kinks")
print(f"test rows: {y_test.sum()} malignant, {(y_test == 0).sum()} benign\n")

print("a miss costs as much as   tau    missed   needless")
for alarms in (0.1, 1, 10, 100):
    clinic = path.at(costs={"fp": 1, "fn": alarms})  # nothing is trained here
    called = clinic.predict(X_test)
    missed, needless = (y_test > called).sum(), (y_test < called).sum()
    print(f"{alarms:8g} false alarms     {clinic.tau:.3f} {missed:8} {needless:10}")

careful = path.best(m.Recall(), X_val, y_val, subject_to=m.fpr <= 0.05)
rates = m.rates(y_test, careful.predict(X_test))
print("\nfewest misses with at most 5 % false alarms on validation rows:")
print(f"tau {careful.tau:.3f}; {1 - rates.tpr:.1%} missed,", end=" ")
print(f"{1 - rates.tnr:.1%} false alarms on test rows")

shown = path.predict_proba(X_test[10:15])[:, 1].round(3)
print("\nprobability of malignant, five test rows:", shown)
print(f"rows whose score crosses zero more than once: {path.recrossing_:.1%}")
