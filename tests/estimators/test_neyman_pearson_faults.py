"""NeymanPearsonClassifier: calls that fail or are stopped, and numbers as they come."""

import signal
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import NotFittedError

import steelyard as sy


@pytest.fixture(scope="module")
def moons():
    return make_moons(1200, noise=0.3, random_state=0)


def fails(model, X, y, **given):
    with pytest.raises(ValueError, match=r"held-out negatives|gamma must|NaN"):
        model.set_params(**given).fit(X, y)


@pytest.mark.parametrize("given", [{"delta": 1e-9}, {"gamma": "width"}])
def test_a_failed_first_fit_is_no_fit_and_a_failed_refit_changes_nothing(given, moons):
    X, y = moons
    X, y = X[:200], y[:200]
    model = sy.NeymanPearsonClassifier(0.1, random_state=0)
    fails(model, X, y, **given)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model = sy.NeymanPearsonClassifier(0.1, random_state=0).fit(X, y)
    before = {name: value for name, value in vars(model).items() if name.endswith("_") or name.startswith("_")}
    fails(model, X[:, :1], np.array(["no", "yes"])[y], **given)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert model.predict(X).dtype == y.dtype


def test_ctrl_c_leaves_the_model_as_it_was(ctrl_c_after, moons):
    X, y = moons
    model = sy.NeymanPearsonClassifier(0.1, random_state=0).fit(X[:200], y[:200])
    called = model.predict(X)
    rng = np.random.default_rng(0)
    wide, named = rng.normal(size=(8000, 1000)), rng.choice(["no", "yes"], 8000)
    assert ctrl_c_after(1.0, lambda: model.set_params(C=1e6, cache_size=1.0).fit(wide, named)) < 0.3
    assert np.array_equal(model.predict(X), called)


def test_ctrl_c_is_heard_while_rows_are_scored(ctrl_c_after):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 20)), rng.choice([0, 1], 2000)
    model = sy.NeymanPearsonClassifier(0.1, offset="train", max_iter=1, gamma=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    many = np.tile(X, (200, 1))
    assert ctrl_c_after(0.5, lambda: model.predict(many)) < 0.3


def test_a_handler_that_raises_is_heard_as_it_raised():
    def alarm(*_):
        raise TimeoutError("enough")

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 500)), rng.choice([0, 1], 6000)
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(TimeoutError, match="enough"):
            sy.NeymanPearsonClassifier(0.1, C=1e6, cache_size=1.0).fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_float32_is_trained_on_as_it_is(moons):
    X, y = moons
    single = X.astype(np.float32)
    one = sy.NeymanPearsonClassifier(0.1, random_state=0).fit(single[:400], y[:400])
    two = sy.NeymanPearsonClassifier(0.1, random_state=0).fit(single[:400].astype(float), y[:400])
    assert one._score.vectors.dtype == np.float32
    assert one.decision_function(single) == pytest.approx(two.decision_function(X), abs=1e-3)


def test_features_that_overflow_are_said():
    X, y = make_classification(60, 4, random_state=0)
    with pytest.raises(ValueError, match="too large to compute with: scale the features"):
        sy.NeymanPearsonClassifier(0.2, gamma=1.0).fit(X * 1e300, y)
