"""Estimators on tensors: up to some rows what they are in memory, beyond as good; what comes back are tensors."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

torch = pytest.importorskip("torch", reason="rows in tensors need torch (pip install steelyard[torch])")

import steelyard as sy  # noqa: E402
import steelyard.measures as m  # noqa: E402
from steelyard.estimators import _measure_elsewhere, _on_tensors, _threshold_on_tensors  # noqa: E402


def data(n=6000, seed=0, d=8):
    X, y = make_classification(n, d, weights=[0.85], flip_y=0.05, class_sep=0.7, random_state=seed)
    return X.astype(np.float32), y


@pytest.fixture
def few_on_the_host(monkeypatch):
    for module in (_on_tensors, _measure_elsewhere):
        monkeypatch.setattr(module, "HOST_ROWS", 3000)
    monkeypatch.setattr(_measure_elsewhere, "OF_A_CLASS", 200)


def test_few_rows_are_fitted_as_in_memory():
    X, y = data(1500)
    here = sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X, y)
    there = sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(torch.from_numpy(X), torch.from_numpy(y))
    np.testing.assert_array_equal(there.coef_, here.coef_)
    called = there.predict(torch.from_numpy(X))
    assert isinstance(called, torch.Tensor)
    assert (called.numpy() == here.predict(X)).mean() > 0.999  # float32 scores, rows at the threshold
    np.testing.assert_allclose(
        there.decision_function(torch.from_numpy(X)).numpy(), here.decision_function(X), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("cv", [5, 0.2])
@pytest.mark.parametrize("constraints", [None, m.fpr <= 0.1])
def test_many_rows_are_fitted_as_well(few_on_the_host, cv, constraints):
    X, y = data(12_000)
    measure = m.FBeta(1) if constraints is None else m.Recall()
    options = {"subject_to": constraints, "loss": "hinge", "cv": cv, "random_state": 0}
    here = sy.MeasureClassifier(measure, **options).fit(X[:9000], y[:9000])
    there = sy.MeasureClassifier(measure, **options).fit(torch.from_numpy(X[:9000]), torch.from_numpy(y[:9000]))
    one, other = (
        measure.score(y[9000:], np.asarray(model.predict(part)))
        for model, part in ((here, X[9000:]), (there, torch.from_numpy(X[9000:])))
    )
    assert other > one - 0.04
    assert there.gap_ <= 1e-3
    assert len(there.frontier_) > 100
    if constraints is not None:
        called = there.predict(torch.from_numpy(X[9000:])).numpy()
        assert called[y[9000:] == 0].mean() < 0.13


def test_labels_of_tensors():
    X, y = data(500)
    words = sy.MeasureClassifier(m.FBeta(1), random_state=0, loss="hinge", C=0.1, pos_label=3)
    words.fit(torch.from_numpy(X), torch.from_numpy(np.where(y == 1, 3, 7)))
    assert set(words.predict(torch.from_numpy(X)).tolist()) <= {3, 7}
    assert words.pos_label_ == 3
    labels = _on_tensors.TensorLabels.of(torch.tensor([True, False, True]), None, "cpu", 3)
    assert labels.positive
    assert labels.is_positive.tolist() == [True, False, True]
    for bad, why in (
        ([0, 1, 2], "binary"),
        ([1, 1, 1], "only one class"),
        ([0.0, 1.0, np.nan], "NaN|type of the target"),
    ):
        with pytest.raises(ValueError, match=why):
            _on_tensors.TensorLabels.of(torch.tensor(bad), None, "cpu", 3)
    with pytest.raises(ValueError, match="shape"):
        _on_tensors.TensorLabels.of(torch.tensor([0, 1]), None, "cpu", 3)


def test_weights_that_cannot_be(few_on_the_host):
    X, y = data(4000)
    for weight, why in ((np.ones(3), "shape"), (-np.ones(4000), "not negative"), ((y == 1) * 1.0, "only one class")):
        with pytest.raises(ValueError, match=why):
            sy.MeasureClassifier().fit(torch.from_numpy(X), torch.from_numpy(y), sample_weight=weight)
    model = sy.MeasureClassifier(cv=[(np.arange(10), np.arange(10))])
    with pytest.raises(ValueError, match="cv"):
        model.fit(torch.from_numpy(X), torch.from_numpy(y))
    assert not hasattr(model, "coef_")


def test_columns_are_counted():
    X, y = data(500)
    model = sy.MeasureClassifier(m.FBeta(1), random_state=0, loss="hinge", C=0.1).fit(torch.from_numpy(X), y)
    with pytest.raises(ValueError, match="expecting 8 features"):
        model.predict(torch.zeros((3, 5)))


@pytest.mark.parametrize("cv", ["prefit", 3, 0.3])
@pytest.mark.parametrize("constraints", [None, m.fpr <= 0.1])
def test_a_threshold_on_tensors_is_that_in_memory(cv, constraints, monkeypatch):
    X, y = data(4000)
    inner = sy.MeasureClassifier(m.FBeta(1), loss="logistic", C=0.1, random_state=0, cv=3)
    inner = inner.fit(X, y) if cv == "prefit" else inner
    measure = m.FBeta(1) if constraints is None else m.Recall()
    options = {"cv": cv, "subject_to": constraints, "rule": "exact", "random_state": 0}
    here = sy.ThresholdClassifier(inner, measure, **options).fit(X, y)
    for rows_in_memory in (1 << 17, 100):
        for module in (_on_tensors, _threshold_on_tensors):
            monkeypatch.setattr(module, "HOST_ROWS", rows_in_memory)
        there = sy.ThresholdClassifier(inner, measure, **options).fit(torch.from_numpy(X), torch.from_numpy(y))
        if cv == "prefit":
            assert there.best_score_ == pytest.approx(here.best_score_, abs=1e-3)
            assert there.best_threshold_ == pytest.approx(here.best_threshold_, abs=1e-2)
        called = there.predict(torch.from_numpy(X))
        agree = {"prefit": 0.999, 3: 0.95, 0.3: 0.85}[cv]  # a share is drawn otherwise, so that other rows decide
        assert (called.numpy() == here.predict(X)).mean() > agree
        assert isinstance(there.decision_function(torch.from_numpy(X)), torch.Tensor)


def test_a_promise_on_tensors(monkeypatch):
    X, y = data(6000)
    inner = sy.MeasureClassifier(m.FBeta(1), loss="logistic", C=0.1, random_state=0, cv=3).fit(X[:2000], y[:2000])
    options = {"cv": "prefit", "subject_to": m.fpr <= 0.1, "delta": 0.05}
    here = sy.ThresholdClassifier(inner, m.Recall(), **options).fit(X[2000:], y[2000:])
    for rows_in_memory in (1 << 17, 100):
        monkeypatch.setattr(_threshold_on_tensors, "HOST_ROWS", rows_in_memory)
        there = sy.ThresholdClassifier(inner, m.Recall(), **options)
        there.fit(torch.from_numpy(X[2000:]), torch.from_numpy(y[2000:]))
        assert there.best_threshold_ == pytest.approx(here.best_threshold_, abs=1e-2)
    with pytest.raises(ValueError, match="Out-of-fold"):
        sy.ThresholdClassifier(inner, m.Recall(), **{**options, "cv": 3}).fit(torch.from_numpy(X), torch.from_numpy(y))
    with pytest.raises(ValueError, match="'settled' is for few rows"):
        sy.ThresholdClassifier(inner, m.Recall(), cv="prefit", rule="settled").fit(
            torch.from_numpy(X), torch.from_numpy(y)
        )


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_approximate_path_on_tensors(fit_intercept):
    X, y = data(3000)
    options = {"C": 0.05, "method": "approximate", "fit_intercept": fit_intercept, "random_state": 0}
    here, there = sy.CostPath(**options).fit(X, y), sy.CostPath(**options).fit(torch.from_numpy(X), torch.from_numpy(y))
    assert there.gap_ <= 1e-3
    Z = np.c_[X, np.ones(len(X))] if fit_intercept else X
    for tau in (0.07, 0.33, 0.5, 0.81):
        values = []
        for path in (here, there):
            w = np.append(path.at(tau).coef_[0], path.at(tau).intercept_) if fit_intercept else path.at(tau).coef_[0]
            hinge = np.maximum(0.0, 1.0 - (2 * y - 1) * (Z.astype(float) @ w))
            values.append(0.5 * w @ w + 0.05 * 2 * ((1 - tau) * hinge[y == 1].sum() + tau * hinge[y == 0].sum()))
        assert abs(values[0] / values[1] - 1) <= 1e-3
        called = there.at(tau).predict(torch.from_numpy(X))
        np.testing.assert_array_equal(called.numpy(), there.at(tau).predict(X))
    probability = there.predict_proba(torch.from_numpy(X))
    np.testing.assert_allclose(probability.numpy(), there.predict_proba(X), atol=2e-3)
    assert (there.predict(torch.from_numpy(X)).numpy() == here.predict(X)).mean() > 0.98


def test_a_path_on_tensors_is_linear_and_approximate():
    X, y = data(300)
    for options in ({"method": "exact"}, {"kernel": "rbf"}):
        with pytest.raises(ValueError, match="linear, approximate"):
            sy.CostPath(**options).fit(torch.from_numpy(X), y)


def test_a_path_of_tensors_is_read_saved_and_asked(tmp_path, monkeypatch):
    X, y = data(2000)
    tensors = torch.from_numpy(X), torch.from_numpy(y)
    there = sy.CostPath(C=0.05, method="approximate", random_state=0).fit(*tensors)
    assert 0.0 <= there.recrossing_ < 0.5
    best = there.best(m.FBeta(1), *tensors)
    assert best.tau == there.best(m.FBeta(1), X, y).tau
    sy.save(there, tmp_path / "path.steelyard")
    np.testing.assert_array_equal(sy.load(tmp_path / "path.steelyard").predict(X), there.predict(X))
    monkeypatch.setattr(_on_tensors, "HOST_ROWS", 100)
    with pytest.raises(ValueError, match="at most 100 rows of a tensor; got 2000"):
        there.rates(*tensors)


def test_a_model_of_tensors_is_saved(few_on_the_host, tmp_path):
    X, y = data(6000)
    model = sy.MeasureClassifier(m.FBeta(1), loss="hinge", C=[0.01, 0.1], random_state=0)
    model.fit(torch.from_numpy(X), torch.from_numpy(y))
    sy.save(model, tmp_path / "model.steelyard")
    again = sy.load(tmp_path / "model.steelyard")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.best_score_ == model.best_score_
