import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m

X, y = load_digits(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=4, size=X.shape)  # a poor scanner
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

model = sy.ThresholdClassifier(LogisticRegression(C=0.01, max_iter=1000), m.macro(m.FBeta(1)))
called = model.fit(X_train, y_train).predict(X_test)
print(f"macro F1 {f1_score(y_test, called, average='macro'):.3f}")
