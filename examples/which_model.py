"""
Which model, and which threshold, for my data?
==============================================

`compare` tries models and ways on the same rows left out, with intervals, and says what is
noise. Here: which tumours are malignant, by F2, which holds a miss for worse than a false
alarm.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
malignant = benign == 0
mine = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "naive Bayes": GaussianNB(),
    "trained for F2": make_pipeline(
        StandardScaler(), sy.MeasureClassifier(m.FBeta(2), random_state=0)
    ),
}
found = sy.compare(X, malignant, m.FBeta(2), contenders=mine, automatic=False, random_state=0)
print(found)

# %%
# ``automatic=False`` keeps to the contenders given here, which is quick; without it boosted
# trees, forests and the library's other doors take part. The picture has every contender
# with its interval.

found.plot()
plt.show()
