"""A call that fails leaves the estimator as it was: not fitted if it was not, with the old model if it had one."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import steelyard as sy
import steelyard.measures as m
from faults.odd_inputs import X, Y

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from faults.inputs import ours

MAKE = ours()
NAN = X.copy()
NAN[-1, 2] = np.nan


def target(name, y=Y):
    return X[:, 1] if name == "QuantilePath" else y


def learn(name, model, X, y):
    return (model.partial_fit if name == "StreamQuantifier" else model.fit)(X, y)


def asked(name, model):
    return model.update(X) if name == "StreamQuantifier" else model.predict(X)


def held(model):
    """What it has beside its parameters."""
    return {key: value for key, value in vars(model).items() if key not in model.get_params(deep=False)}


BAD = {
    "NaN in the last row": lambda name: (NAN, target(name)),
    "another number of labels": lambda name: (X, target(name)[:-1]),
    "a text among the rows": lambda name: (np.where(np.isnan(NAN), "a", X.astype(object)), target(name)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", MAKE)
def test_a_first_fit_that_fails_is_none(name, bad):
    model = MAKE[name]()
    with pytest.raises((ValueError, TypeError)):
        learn(name, model, *BAD[bad](name))
    with pytest.raises(NotFittedError):
        asked(name, model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", MAKE)
def test_a_refit_that_fails_changes_nothing(name, bad):
    model = learn(name, MAKE[name](), X, target(name))
    before = pickle.dumps(held(model))
    A, y = BAD[bad](name)
    y = y if name == "QuantilePath" else np.where(y == 1, "yes", "no")  # labels of another kind, and a column less
    with pytest.raises((ValueError, TypeError)):
        learn(name, model, A[:, 1:], y)
    assert pickle.dumps(held(model)) == before


WARNS = {
    "StructuralSVM": ({"max_iter": 1}, X),
    "Quantifier": ({"method": "acc"}, np.ones_like(X)),
    "CostPath": ({"method": "exact", "kernel": "rbf", "C": 1e8, "gamma": 1e-9}, np.ones_like(X)),
    "QValueClassifier": ({"max_q": 0.2}, np.ones_like(X)),
    "NeymanPearsonClassifier": ({"max_iter": 1}, X),
}


@pytest.mark.parametrize("name", WARNS)
def test_where_warnings_are_errors_a_fit_that_warns_changes_nothing(name):
    changed, A = WARNS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MAKE[name]().fit(X[:, 1:], Y).set_params(**changed)
    before = pickle.dumps(held(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning):
            model.fit(A, Y)
    assert pickle.dumps(held(model)) == before


@pytest.mark.parametrize("had", [True, False], ids=["a model", "none"])
def test_a_stream_with_a_bad_item_leaves_the_model_that_was_there(had, tmp_path):
    model = sy.OnlineClassifier(m.FBeta(1), random_state=0)
    if had:
        model.fit(X, Y)
    before = pickle.dumps(vars(model))

    def stream():
        yield X[:60], Y[:60]
        yield NAN[60:], Y[60:]

    for how in ({}, {"checkpoint": tmp_path / "run.ckpt"}):
        with pytest.raises(ValueError, match="contains NaN"):
            model.fit_stream(stream(), classes=[0, 1], **how)
        assert pickle.dumps(vars(model)) == before


# -- memory ---------------------------------------------------------------------------------------------------------
WIDE = np.random.default_rng(0).standard_normal((4000, 400), dtype=np.float32)
LABELS = (WIDE[:, 0] + WIDE[:, 1] > 0.5).astype(int)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["MeasureClassifier", "OnlineClassifier", "StructuralSVM", "NeymanPearsonClassifier, linear"]
)
def test_a_linear_model_reads_single_precision_where_it_lies(name):
    """It was copied to double precision: twice the memory of X."""
    model = MAKE[name]().fit(WIDE[:300], LABELS[:300])
    tracemalloc.start()
    model.predict(WIDE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * WIDE.nbytes  # a row of X is 1,600 bytes; its score, label and place in an order are few


@pytest.mark.parametrize("how", [{"method": "approximate", "tol": 0.1}, {"method": "exact"}], ids=str)
def test_a_pickled_path_holds_its_rows_once(how):
    """It held them up to 2.7 times; what an exact path notes of its way comes on top."""
    path = sy.CostPath(C=0.001, **how).fit(WIDE, LABELS)
    assert WIDE.nbytes < len(pickle.dumps(path)) < 1.6 * WIDE.nbytes
