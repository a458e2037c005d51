"""`NeuralMeasureClassifier`: scikit-learn's contract, the threshold, the promise, weights, Ctrl-C and files."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

torch = pytest.importorskip("torch", reason="needs the extra torch")

from sklearn.base import clone  # noqa: E402
from sklearn.datasets import make_moons  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import steelyard as sy  # noqa: E402
import steelyard.measures as m  # noqa: E402
from steelyard.neural import training  # noqa: E402

before_threads = training.one_thread
QUICK = {"max_epochs": 8, "width": 16, "depth": 1, "random_state": 0}


def moons(n=600, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return np.column_stack([100.0 * X[:, 0] + 5.0, 0.01 * X[:, 1]]), y


def weights(reason):
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@pytest.mark.slow
@parametrize_with_checks(
    [
        sy.NeuralMeasureClassifier(max_epochs=30, width=32),
        sy.NeuralMeasureClassifier(m.BAKLD(), max_epochs=30, width=32),
    ],
    expected_failed_checks=lambda _: weights("the rows left out are drawn, and a row of weight 2 is in one part"),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_it_learns_what_no_line_can():
    X, y = moons(2000)
    model = sy.NeuralMeasureClassifier(m.FBeta(1), random_state=0, width=32, max_epochs=25).fit(X[:1000], y[:1000])
    assert m.FBeta(1).score(y[1000:], model.predict(X[1000:])) > 0.9
    assert model.n_iter_ == len(model.history_["measure"])
    assert model.best_score_ > 0.9


def test_the_same_seed_gives_the_same_bits():
    X, y = moons()
    one, two = (sy.NeuralMeasureClassifier(**QUICK).fit(X, y).decision_function(X) for _ in range(2))
    assert (one == two).all()
    other = sy.NeuralMeasureClassifier(**{**QUICK, "random_state": 1}).fit(X, y).decision_function(X)
    assert (one != other).any()


def test_the_threshold_is_set_on_rows_left_out():
    X, y = moons()
    learn, held = np.arange(400), np.arange(400, 600)
    model = sy.NeuralMeasureClassifier(m.GMean(), cv=[(learn, held)], **QUICK).fit(X, y)
    scores = model.network_.scores(X[held], "cpu")
    assert model.frontier_.n_rows == 200
    assert np.isin(model.best_threshold_, model.frontier_.thresholds)
    called = scores > model.best_threshold_
    np.testing.assert_array_equal(model.predict(X[held]), called.astype(int))


def test_a_cap_is_met_on_the_rows_left_out():
    X, y = moons(3000)
    model = sy.NeuralMeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.05, **QUICK).fit(X[:2000], y[:2000])
    called = model.predict(X[2000:]) == 1
    assert called[y[2000:] == 0].mean() < 0.09
    assert called[y[2000:] == 1].mean() > 0.5


def test_the_promise_has_rows_of_its_own():
    X, y = moons(1500)
    model = sy.NeuralMeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.1, delta=0.05, cv=0.3, **QUICK).fit(X, y)
    assert model.frontier_.n_rows == 450
    held_fpr = 1.0 - model.frontier_.tnr[model.frontier_.thresholds == model.best_threshold_]
    assert held_fpr <= 0.1  # the order statistic is above the cap's quantile
    with pytest.raises(ValueError, match=r"needs 299 held-out negatives"):
        sy.NeuralMeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.01, delta=0.05, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="unweighted"):
        sy.NeuralMeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.1, delta=0.05, **QUICK).fit(X, y, np.ones(len(y)))


def test_rows_of_no_weight_are_not_there():
    X, y = moons()
    weight = np.ones(len(y))
    weight[::3] = 0.0
    kept = weight > 0
    one = sy.NeuralMeasureClassifier(**QUICK).fit(X, y, weight)
    two = sy.NeuralMeasureClassifier(**QUICK).fit(X[kept], y[kept], np.ones(kept.sum()))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_heavy_rows_count():
    X, y = moons()
    flipped = np.where(X[:, 0] > 60.0, 1 - y, y)  # wrong labels that weigh next to nothing
    weight = np.where(X[:, 0] > 60.0, 1e-3, 1.0)
    trusted = sy.NeuralMeasureClassifier(m.Accuracy(), **{**QUICK, "max_epochs": 20}).fit(X, flipped, weight)
    near = (X[:, 0] <= 60.0) & (X[:, 0] > 20.0)
    assert (trusted.predict(X[near]) == y[near]).mean() > 0.8


def test_sparse_rows_are_dense_ones():
    X, y = moons()
    X = np.where(np.abs(X) < 20.0, 0.0, X)
    dense = sy.NeuralMeasureClassifier(**QUICK).fit(X, y)
    sparse = sy.NeuralMeasureClassifier(**QUICK).fit(sp.csr_matrix(X), y)
    assert (dense.predict(X) == sparse.predict(sp.csr_matrix(X))).mean() > 0.9  # batches are the same rows, sorted
    np.testing.assert_allclose(sparse.decision_function(X), sparse.decision_function(sp.csr_matrix(X)), atol=1e-12)


def test_labels_of_any_kind():
    X, y = moons(200)
    words = np.where(y == 1, "no", "yes")
    model = sy.NeuralMeasureClassifier(pos_label="no", **QUICK).fit(X, words)
    same = sy.NeuralMeasureClassifier(**QUICK).fit(X, y)
    assert ((model.predict(X) == "no") == (same.predict(X) == 1)).all()
    np.testing.assert_array_equal(model.decision_function(X), -same.decision_function(X))


def test_a_row_scores_the_same_alone():
    X, y = moons()
    model = sy.NeuralMeasureClassifier(**QUICK).fit(X, y)
    alone = np.concatenate([model.decision_function(row[None]) for row in X[:50]])
    np.testing.assert_allclose(alone, model.decision_function(X)[:50], rtol=0, atol=1e-12)


def test_a_module_of_ones_own(monkeypatch):
    monkeypatch.setattr(training, "one_thread", lambda device: before_threads("cpu"))  # it is small
    X, y = moons()
    own = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    before = own[0].weight.detach().clone()
    model = sy.NeuralMeasureClassifier(module=own, random_state=0, learning_rate=0.02, max_epochs=30).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.85
    assert torch.equal(own[0].weight, before)
    made = sy.NeuralMeasureClassifier(module=lambda d: torch.nn.Linear(d, 1), random_state=0, max_epochs=3)
    assert clone(made).fit(X, y).predict(X).shape == y.shape
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(TypeError, match=r"torch\.nn\.Module"):
        sy.NeuralMeasureClassifier(module=lambda d: "net").fit(X, y)


def test_parameters_are_checked():
    X, y = moons(100)
    for bad in (
        {"max_epochs": 0},
        {"batch_size": "large"},
        {"reward": "none"},
        {"delta": 2},
        {"measure": "f7"},
        {"dropout": -1},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            sy.NeuralMeasureClassifier(**bad).fit(X, y)
    with pytest.raises(ValueError, match="one part of the rows"):
        sy.NeuralMeasureClassifier(cv=5).fit(X, y)


def test_numbers_that_run_away_are_told():
    X, y = moons(200)
    before = sy.NeuralMeasureClassifier(**{**QUICK, "learning_rate": 1e30})
    with pytest.raises(FloatingPointError, match="learning_rate"):
        before.fit(X, y)
    assert not hasattr(before, "classes_")


def test_ctrl_c_keeps_the_best_so_far(interrupts):
    X, y = moons(4000)
    model = sy.NeuralMeasureClassifier(max_epochs=10_000, patience=10_000, width=16, depth=1, random_state=0)
    threading.Thread(target=lambda: (time.sleep(1.5), os.kill(os.getpid(), signal.SIGINT))).start()
    with pytest.warns(UserWarning, match="interrupted in epoch"):
        model.fit(X, y)
    assert 0 < model.best_epoch_ <= model.n_iter_ < 10_000
    assert (model.predict(X) == y).mean() > 0.8


@pytest.mark.parametrize("members", [1, 3])
def test_the_scores_are_the_mean_of_the_members(members):
    X, y = moons()
    model = sy.NeuralMeasureClassifier(members=members, **QUICK).fit(X, y)
    module = model.network_.module().double()
    assert len(module.members) == members
    rows = torch.from_numpy(X)
    each = torch.stack([member(rows) for member in module.members]).detach().numpy()
    np.testing.assert_allclose(each.mean(0) - model.best_threshold_, model.decision_function(X), rtol=0, atol=1e-12)
    assert members == 1 or np.abs(each[0] - each[1]).max() > 0.01


def test_a_member_is_kept_where_its_loss_on_the_rows_left_out_is_least():
    """Whatever the later epochs do: with more of them the kept one is no worse, and with one it is that one."""
    X, y = moons(300)
    split = [(np.arange(200), np.arange(200, 300))]
    losses = []
    for epochs in (1, 6, 18):
        settings = {**QUICK, "max_epochs": epochs, "learning_rate": 0.1}  # so large that it goes up and down
        model = sy.NeuralMeasureClassifier(members=2, cv=split, **settings).fit(X, y)
        scores = model.network_.module().members[1](torch.from_numpy(X[200:]).float()).detach()
        truth = torch.from_numpy(y[200:]).float()
        losses.append(float(torch.nn.functional.binary_cross_entropy_with_logits(scores, truth)))
        assert 1 <= model.best_epoch_ <= epochs
    assert losses[0] > losses[1] >= losses[2]


def test_progress(capsys):
    X, y = moons(200)
    sy.NeuralMeasureClassifier(**{**QUICK, "max_epochs": 2}, verbose=1).fit(X, y)
    assert "measure" in capsys.readouterr().err


# -- files --------------------------------------------------------------------------------------------------------
def test_saved_and_loaded_without_pickle(tmp_path):
    X, y = moons(200)
    model = sy.NeuralMeasureClassifier(m.BAKLD(), subject_to=m.fpr <= 0.5, **QUICK).fit(X, np.where(y, "a", "b"))
    sy.save(model, tmp_path / "model.sy")
    again = sy.load(tmp_path / "model.sy")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert b"pickle" not in (tmp_path / "model.sy").read_bytes()
    sy.save(sy.NeuralMeasureClassifier(), tmp_path / "empty.sy")
    assert not hasattr(sy.load(tmp_path / "empty.sy"), "network_")


def test_what_is_code_is_not_saved(tmp_path):
    X, y = moons(200)
    model = sy.NeuralMeasureClassifier(module=torch.nn.Linear(2, 1), max_epochs=2).fit(X, y)
    with pytest.raises(sy.ModelFileError, match="state_dict"):
        sy.save(model, tmp_path / "model.sy")


@pytest.mark.parametrize("change", ["shape", "missing", "scale", "nan", "extra"])
def test_arrays_that_do_not_fit_are_refused(change, tmp_path):
    X, y = moons(100)
    model = sy.NeuralMeasureClassifier(**QUICK).fit(X, y)
    arrays = model.network_.arrays
    if change == "shape":
        arrays["members.0.entry.weight"] = arrays["members.0.entry.weight"][:, :1]
    elif change == "missing":
        del arrays["members.0.exit.bias"]
    elif change == "scale":
        arrays["members.0.scale"] = np.zeros_like(arrays["members.0.scale"])
    elif change == "nan":
        arrays["members.0.exit.bias"] = np.full_like(arrays["members.0.exit.bias"], np.nan)
    else:
        arrays["more"] = arrays["members.0.exit.bias"]
    with pytest.raises(sy.ModelFileError):
        sy.save(model, tmp_path / "model.sy")
