"""`Quantifier.score`, searches that go by it, and models fitted at once."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import steelyard as sy
from steelyard.quantification.protocols import UPP, evaluate

X3, Y3 = make_classification(1500, 8, n_informative=5, n_classes=3, class_sep=1.5, random_state=1)


def test_score_is_the_protocol_on_these_rows():
    q = sy.Quantifier(random_state=0).fit(X3[:700], Y3[:700])
    table = evaluate(q, UPP(X3[700:], Y3[700:]), errors=("nas",))
    assert q.score(X3[700:], Y3[700:]) == pytest.approx(table["nas"].mean(), abs=1e-9)
    assert q.score(X3[700:], Y3[700:], sample_weight=np.full(800, 2.5)) == pytest.approx(table["nas"].mean(), abs=1e-9)
    plain = sy.Quantifier(method="cc", random_state=0).fit(X3[:700], Y3[:700])
    assert plain.score(X3[700:], Y3[700:]) < q.score(X3[700:], Y3[700:]) - 0.03


def test_score_takes_weights_and_what_labels_there_are():
    q = sy.Quantifier(random_state=0).fit(X3[:700], Y3[:700])
    bad = np.where(q._judged.held.models[0].classifier.predict(X3[700:]) == Y3[700:], 1.0, 0.0)
    assert q.score(X3[700:], Y3[700:], sample_weight=bad) > q.score(X3[700:], Y3[700:], sample_weight=1.1 - bad) + 0.2
    one = Y3[700:] == 1
    assert q.score(X3[700:][one], Y3[700:][one]) > 0.8
    with pytest.raises(ValueError, match=r"labels \[3, 4\] that are not among the classes"):
        q.score(X3, Y3 + 2)
    with pytest.raises(ValueError, match="rows and y has"):
        q.score(X3, Y3[:10])


@pytest.mark.slow
def test_grid_search_over_methods_and_parameters():
    search = GridSearchCV(
        sy.Quantifier(LogisticRegression(), random_state=0),
        {"method": ["cc", "aemq"], "classifier__C": [1e-4, 1.0]},
        cv=StratifiedKFold(2),
    )
    search.fit(X3[:700], Y3[:700], sample_weight=np.ones(700))
    assert search.best_params_["method"] == "aemq"
    assert search.predict(X3[700:]).shape == (3,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert cross_val_score(sy.Quantifier(), X3, Y3, cv=StratifiedKFold(2)).shape == (2,)


def test_scores_of_weights_are_routed():
    with config_context(enable_metadata_routing=True):
        q = sy.Quantifier(LogisticRegression().set_fit_request(sample_weight=True), random_state=0)
        q.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(q, {"method": ["pacc", "aemq"]}, cv=StratifiedKFold(2))
        search.fit(X3[:400], Y3[:400], sample_weight=np.linspace(0.5, 2.0, 400))
    assert np.isfinite(search.best_score_)


@pytest.mark.slow
def test_jobs_change_nothing():
    one, two = (sy.Quantifier(n_jobs=n).fit(X3[:300], Y3[:300]).predict(X3[300:]) for n in (None, 2))
    np.testing.assert_array_equal(one, two)
