"""scikit-learn's own checks on every public estimator.

The only failures that may be expected are the two sample-weight-equivalence checks, for learners that pass once or
split the data; each such learner has a weight test of its own. And one more: a label of largest expected F-beta belongs
to its batch, so `ExpectedFBetaClassifier` cannot pass the check that rows may be predicted one by one (with a fixed
threshold it would be `ThresholdClassifier`); test_structural.py holds what it does instead. Both hand probabilities
through and decide otherwise than at 1/2, so they may fail the check that both agree, by chance of the data.
Quantifiers predict one prevalence for a batch, so checks that count a prediction for every row cannot hold for them either.
"""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import steelyard as sy
import steelyard.measures as m


def weights(reason):
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


PASSES_ONCE = weights("a stream takes rows one at a time: a row of weight 2 is not two rows")
SPLITS = weights("folds are drawn from rows, and a row of weight 2 is in one fold")
COUNTS = {
    f"check_{name}": "a quantifier predicts one prevalence for the batch, not a label for every row"
    for name in ("estimator_sparse_array", "estimator_sparse_matrix", "methods_sample_order_invariance",
                 "methods_subset_invariance")
}  # fmt: skip
BATCHES = {"check_methods_subset_invariance": "a label of largest expected F-beta belongs to its batch"}

ESTIMATORS = [
    (sy.ThresholdClassifier(LogisticRegression()), {}),
    (sy.ThresholdClassifier(LogisticRegression(), m.BAKLD(), cv=0.3), {}),
    (sy.ThresholdClassifier(LinearSVC(), m.GMean(), cv=3), {}),
    (sy.ThresholdClassifier(LogisticRegression(), m.macro(m.FBeta(1)), cv=3), {}),
    (sy.ThresholdClassifier(KNeighborsClassifier(), m.macro(m.FBeta(1)), cv=3), {}),  # also for several labels
    (sy.CostPath(), {}),
    (sy.CostPath(C=0.1, method="approximate", tol=1e-6), {}),  # weights and repeated rows agree to tol
    (sy.CostPath(C=0.1, kernel="rbf"), {}),
    (sy.QuantilePath(), {}),
    (sy.QuantilePath(C=10.0, kernel="rbf"), {}),
    (sy.MeasureClassifier(), {}),
    (sy.MeasureClassifier(m.BAKLD(), loss="logistic", cv=3), {}),
    (sy.MeasureClassifier(m.macro(m.FBeta(1)), C=1.0, cv=3), {}),
    (sy.MeasureClassifier(m.geometric(m.Recall()), loss="logistic", cv=3), {}),
    (sy.OnlineClassifier(), PASSES_ONCE),
    (sy.OnlineClassifier(m.FBeta(1), max_iter=3), PASSES_ONCE),
    (sy.OnlineClassifier(m.macro(m.FBeta(1)), max_iter=3), PASSES_ONCE),
    (sy.OnlineClassifier(m.worst(m.Recall()), reward="logistic"), PASSES_ONCE),
    (sy.NeymanPearsonClassifier(), SPLITS),
    (sy.NeymanPearsonClassifier(0.2, kernel="linear", solver="generative"), {}),
    (sy.NeymanPearsonClassifier(0.1, kernel="linear", solver="cost-grid"), SPLITS),
    (sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.1, solver="neyman-pearson"), PASSES_ONCE),
    (sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.1, reward="sigmoid", max_iter=3), PASSES_ONCE),
    (sy.OnlineClassifier(m.GMean(), solver="spade"), PASSES_ONCE),
    (sy.OnlineClassifier(m.CQReward(), solver="scan"), PASSES_ONCE),
    (sy.OnlineClassifier(m.QMeasure(), solver="1pmb"), PASSES_ONCE),
    (sy.QValueClassifier(), SPLITS),
    (sy.QValueClassifier(0.05, kernel="rbf"), SPLITS),
    (sy.QValueClassifier(0.05, proof="reset", random_state=0), SPLITS),
    (sy.QValueClassifier(0.05, solver="stochastic"), PASSES_ONCE),
    (sy.StructuralSVM(), {}),
    (sy.StructuralSVM("f1", C=10.0), {}),
    (sy.StructuralSVM(m.QMeasure(), fit_intercept=False, n_jobs=2), {}),
    (sy.ExpectedFBetaClassifier(LogisticRegression()), BATCHES),
    (sy.Quantifier(), {**COUNTS, **SPLITS}),
    (sy.Quantifier(LinearSVC(), method="acc", cv=0.3), COUNTS),
    (sy.StreamQuantifier(), {}),
]


def expected(estimator):
    return next(failures for listed, failures in ESTIMATORS if listed is estimator)


def is_first(estimator):
    """The first of its class, for two classes and for several."""

    def kind(one):
        return type(one), getattr(one, "measure", m.FBeta(1)).is_lifted

    return next(listed for listed, _ in ESTIMATORS if kind(listed) == kind(estimator)) is estimator


FIRST = [estimator for estimator, _ in ESTIMATORS if is_first(estimator)]
VARIANTS = [estimator for estimator, _ in ESTIMATORS if not is_first(estimator)]


@parametrize_with_checks(FIRST, expected_failed_checks=expected)
def test_scikit_learn_contract(estimator, check):
    keeps(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(VARIANTS, expected_failed_checks=expected)
def test_scikit_learn_contract_of_variants(estimator, check):
    keeps(estimator, check)


def keeps(estimator, check):
    try:
        check(estimator)
    except AssertionError:
        name = getattr(check, "func", check).__name__
        if (
            isinstance(estimator, sy.ThresholdClassifier | sy.ExpectedFBetaClassifier)
            and name == "check_classifiers_train"
        ):
            pytest.xfail("probabilities are the model's own, and the largest need not be the predicted class")
        # Offsets, and the choice of a model, move with folds and draws; whether the check's few rows show it is chance.
        moves = isinstance(estimator, sy.MeasureClassifier) or getattr(estimator, "measure", m.FBeta(1)).is_lifted
        if moves and name.startswith("check_sample_weight_equivalence"):
            pytest.xfail(SPLITS[name])
        raise
