from sklearn.datasets import make_classification
from sklearn.metrics import f1_score

import steelyard as sy

# from files: X, y = sklearn.datasets.load_svmlight_file("train.dat")
X, y = make_classification(4000, weights=[0.8], flip_y=0.02, class_sep=1.2, random_state=0)
model = sy.StructuralSVM("f1", C=1).fit(X[:2000], y[:2000])  # C is -c
print(f"F1 {f1_score(y[2000:], model.predict(X[2000:])):.3f}, gap {model.gap_:.1e}")
