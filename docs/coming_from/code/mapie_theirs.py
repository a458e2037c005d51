from mapie.risk_control import BinaryClassificationController, precision
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score

X, y = make_classification(20_000, weights=[0.7], flip_y=0.1, random_state=0)
model = LogisticRegression().fit(X[:2000], y[:2000])
controller = BinaryClassificationController(
    model.predict_proba, precision, target_level=0.8, confidence_level=0.9
)
controller.calibrate(X[2000:4000], y[2000:4000])
called = controller.predict(X[4000:])
print(f"precision {precision_score(y[4000:], called):.3f}", end=", ")
print(f"recall {recall_score(y[4000:], called):.3f}")
