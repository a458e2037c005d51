from sklearn.datasets import make_classification

import steelyard as sy
import steelyard.measures as m

X, y = make_classification(8000, weights=[0.8], flip_y=0.05, random_state=0)
model = sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.02, random_state=0)
called = model.fit(X[:4000], y[:4000]).predict(X[4000:])
print(f"false alarms {called[y[4000:] == 0].mean():.3f} found {called[y[4000:] == 1].mean():.3f}")
