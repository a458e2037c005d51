"""Files of every version since the first are loaded, and their models answer as they did."""

import importlib.util
import json
import shutil

import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import steelyard as sy
from faults import first_files, saved_models
from steelyard.files.layout import VERSION

FOLDERS = sorted(first_files.HERE.glob("version_*"))
CASES = [(folder, name) for folder in FOLDERS for name in json.loads((folder / "answers.json").read_text())]


def assert_alike(found, said):
    found = first_files.plain(found)
    assert found.keys() >= said.keys()  # methods may have come since
    for name, value in said.items():
        if isinstance(np.ravel(value)[0], str):
            assert found[name] == value
        else:
            np.testing.assert_allclose(found[name], value, rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(("folder", "name"), CASES, ids=lambda case: getattr(case, "name", case))
def test_files_of_every_version_are_loaded(folder, name, tmp_path):
    said = json.loads((folder / "answers.json").read_text())[name]
    if name == "checkpoint":
        shutil.copy(folder / "run.ckpt", tmp_path)
        model = first_files.learner().fit_stream(first_files.stream(), checkpoint=tmp_path / "run.ckpt")
    else:
        if name in first_files.SKOPS and importlib.util.find_spec("skops") is None:
            pytest.skip("skops is not installed")
        if name in first_files.SKOPS and parse_version(sklearn.__version__) < parse_version(first_files.SKLEARN):
            pytest.skip(f"the model inside is of scikit-learn {first_files.SKLEARN}, which older ones do not load")
        model = sy.load(folder / f"{name}.sy".replace(" ", "_"))
    assert_alike(saved_models.answers(model), said)


def test_this_version_has_its_files():
    assert first_files.HERE / f"version_{VERSION}" in FOLDERS
