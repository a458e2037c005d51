from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import TunedThresholdClassifierCV

X, y = make_classification(8000, weights=[0.9], flip_y=0.1, class_sep=0.6, random_state=0)
model = TunedThresholdClassifierCV(LogisticRegression(), scoring="f1").fit(X[:4000], y[:4000])
print(f"F1 {f1_score(y[4000:], model.predict(X[4000:])):.3f} at {model.best_threshold_:.3f}")
