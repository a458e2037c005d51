"""The q-value model in mokapot's own `brew`, from a PIN file, and as a plug-in of its command line."""

import copy
import logging
import pickle
import sys

import numpy as np
import pytest

pytest.importorskip("mokapot", reason="needs the extra: pip install '.[mokapot]'")

import mokapot
import pandas as pd
from sklearn.exceptions import NotFittedError

from steelyard import QValueClassifier
from steelyard.interop.mokapot import Plugin, QValueModel


@pytest.fixture(scope="module")
def pin(tmp_path_factory):
    """Three rows a spectrum, a tenth of them right; one column in units of its own."""
    rng, n = np.random.default_rng(0), 9000
    right = (np.arange(n) % 3 == 0) & (rng.random(n) < 0.4)
    target = right | (rng.random(n) < 0.5)
    X = rng.normal(size=(n, 5))
    X[right] += [3.0, 2.0, 2.0, 0.0, 0.0]
    X[:, 3] = 1000 + 50 * X[:, 3]
    table = pd.DataFrame(X, columns=[f"feature{j}" for j in range(5)])
    table.insert(0, "SpecId", [f"match_{i}" for i in range(n)])
    table.insert(1, "Label", np.where(target, 1, -1))
    table.insert(2, "ScanNr", np.arange(n) // 3)
    table["Peptide"] = [f"PEPTIDE{i}" for i in range(n)]
    table["Proteins"] = np.where(target, "protein", "decoy_protein")
    path = tmp_path_factory.mktemp("pin") / "matches.pin"
    table.to_csv(path, sep="\t", index=False)
    return path


def brewed(pin, model, rng=1):
    results, models = mokapot.brew(mokapot.read_pin(str(pin)), model, rng=rng)
    table = results.psms
    return table[table["mokapot q-value"] <= 0.01], models


@pytest.mark.parametrize("options", [{}, {"rivals": False}, {"kernel": "rbf", "n_components": 20}], ids=str)
def test_brew_accepts_at_least_what_its_own_model_does(pin, options):
    ours, models = brewed(pin, QValueModel(0.01, **options))
    theirs, _ = brewed(pin, mokapot.PercolatorModel(n_jobs=1, rng=1))
    assert len(ours) >= 0.97 * len(theirs) > 500
    assert all(model.is_trained and isinstance(model.estimator, QValueClassifier) for model in models)
    assert all((model.score is not None) == model.rivals == (not options) for model in models)


def test_a_row_is_scored_with_its_rivals(pin):
    psms = mokapot.read_pin(str(pin))
    model = QValueModel().fit(psms)
    scores, spectrum = model.predict(psms), psms.data["ScanNr"].to_numpy()
    X = model.scaler.transform(psms.features.to_numpy())
    assert np.array_equal(scores, model.score(X, spectrum))
    alone = copy.copy(psms)
    alone._data = psms.data[::3]  # one row a spectrum
    assert not np.allclose(scores[::3], model.predict(alone))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(psms), scores)


def test_what_is_not_trained_or_not_linear_is_said(pin):
    psms = mokapot.read_pin(str(pin))
    with pytest.raises(NotFittedError, match="untrained"):
        QValueModel().predict(psms)
    model = QValueModel().fit(psms)
    psms._feature_columns = psms._feature_columns[:3]
    with pytest.raises(ValueError, match="do not match"):
        model.predict(psms)
    with pytest.raises(ValueError, match="learns a linear model"):
        QValueModel(rivals=True, kernel="rbf")


def test_the_same_seed_gives_the_same_list(pin):
    first, _ = brewed(pin, QValueModel(), rng=5)
    again, _ = brewed(pin, QValueModel(), rng=5)
    pd.testing.assert_frame_equal(first, again)
    other, _ = brewed(pin, QValueModel(), rng=6)
    assert first["mokapot score"].tolist() != other["mokapot score"].tolist()


def test_every_row_is_trained_on_and_spectra_stay_together(pin, monkeypatch):
    seen = []
    fit = QValueClassifier.fit
    monkeypatch.setattr(
        QValueClassifier, "fit", lambda self, X, y, groups: seen.append((X, y, groups)) or fit(self, X, y, groups)
    )
    brewed(pin, QValueModel(rivals=False))
    assert [len(X) for X, _, _ in seen] == [6000, 6000, 6000]
    assert all(len(set(groups)) == 2000 for _, _, groups in seen)


def test_mokapots_own_model_takes_the_classifier(pin):
    accepted, _ = brewed(pin, mokapot.Model(QValueClassifier(random_state=0), rng=1, max_iter=2))
    assert len(accepted) > 500


def test_a_missing_class_is_said(pin):
    psms = mokapot.read_pin(str(pin))
    psms._data = psms._data[psms.targets]
    with pytest.raises(ValueError, match="No decoy PSMs"):
        QValueModel().fit(psms)


def test_the_plug_in_is_found_by_the_command_line(pin, tmp_path, monkeypatch):
    from mokapot.mokapot import main
    from mokapot.plugins import get_plugins

    assert get_plugins()["steelyard"] is Plugin
    monkeypatch.setattr(
        sys,
        "argv",
        ["mokapot", str(pin), "--plugin", "steelyard", "--steelyard_kernel", "linear", "-d", str(tmp_path), "-v", "0"],
    )
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    main()
    assert (tmp_path / "mokapot.psms.txt").exists()
