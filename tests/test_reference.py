"""The reference comes from docstrings: every parameter, every fitted attribute, and what to look at beside it."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

import steelyard as sy
from faults import saved_models
from steelyard.quantification import PrevalenceRegion
from steelyard.streams import Checkpoint, Chunk, Columns

DOCS = Path(__file__).parent.parent / "docs"
OF_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_"}  # its contract for all estimators; the pages add them
PUBLIC = [getattr(sy, name) for name in sy.__all__ if isinstance(getattr(sy, name), type)]
PUBLIC += [PrevalenceRegion, Checkpoint, Chunk, Columns]
ERRORS = [cls for cls in PUBLIC if issubclass(cls, Exception)]
CLASSES = [cls for cls in PUBLIC if cls not in ERRORS]


def section(cls, title):
    """The text under a title of a class's docstring."""
    found = re.search(
        rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.getdoc(cls) or "", re.MULTILINE | re.DOTALL
    )
    return found[1] if found else ""


def names(cls, title):
    """``a, b : kind`` and ``a : kind`` name what they explain."""
    lines = [line for line in section(cls, title).split("\n") if line and not line.startswith(" ")]
    return {name.strip().lstrip("*") for line in lines for name in line.split(" : ")[0].split(",")}


def fitted():
    """A model of every kind that is saved, and so of every public estimator that fits without an extra."""
    return [pytest.param(name, id=name) for name in (*saved_models.PLAIN, *saved_models.SKOPS)]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_is_explained(cls):
    assert not set(inspect.signature(cls).parameters) - names(cls, "Parameters")


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_class_says_what_is_beside_it(cls):
    assert section(cls, "See Also").strip()


@pytest.mark.parametrize("name", fitted())
def test_every_fitted_attribute_is_explained(name):
    model = saved_models.make(name)
    if not hasattr(sy, type(model).__name__):
        pytest.skip("not a public name")
    seen = {one for one in vars(model) if one.endswith("_") and not one.startswith("_")}
    assert not seen - names(type(model), "Attributes") - OF_SCIKIT_LEARN


def test_the_reference_lists_every_public_name():
    listed = (DOCS / "api.md").read_text()
    missing = [name for name in sy.__all__ if not name.startswith("_") and not inspect.ismodule(getattr(sy, name))]
    assert not [name for name in missing if not re.search(rf"^   (\w+\.)*{name}$", listed, re.MULTILINE)]


def test_every_method_has_words_for_what_it_takes_and_returns(monkeypatch):
    pytest.importorskip("numpydoc", reason="the docs' tools are an extra: pip install 'steelyard[docs]'")
    monkeypatch.syspath_prepend(str(DOCS))  # for `words`; tests of the solvers may have another `reference` loaded
    found = importlib.util.spec_from_file_location("docs_reference", DOCS / "reference.py")
    reference = importlib.util.module_from_spec(found)
    found.loader.exec_module(reference)
    unknown = []
    for cls in CLASSES:
        for method in reference.methods_of(f"{cls.__module__}.{cls.__name__}"):
            unknown += reference.missing_sections(f"{cls.__name__}.{method}", getattr(cls, method))[1]
    sys.modules.pop("words", None)
    assert not unknown
