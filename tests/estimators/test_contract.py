"""scikit-learn's own checks on every public estimator.

The only failures that may be expected are the two sample-weight-equivalence checks, for learners that pass once or
split the data; each such learner has a weight test of its own. So far none is needed.
"""

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import steelyard as sy
import steelyard.measures as m

ESTIMATORS = [
    sy.ThresholdClassifier(LogisticRegression()),
    sy.ThresholdClassifier(LogisticRegression(), m.BAKLD(), cv=0.3),
    sy.ThresholdClassifier(LinearSVC(), m.GMean(), cv=3),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
