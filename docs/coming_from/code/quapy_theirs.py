import numpy as np
from quapy.method.aggregative import EMQ
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

X, y = make_classification(6000, weights=[0.7], flip_y=0.1, class_sep=0.7, random_state=0)
rest, labels = X[3000:], y[3000:]
batch = np.r_[rest[labels == 1][:400], rest[labels == 0][:100]]  # 80 % positive, no longer 30 %

counter = EMQ(LogisticRegression())
counter.fit(X[:3000], y[:3000])
print("share of each class:", counter.predict(batch).round(2))
