"""The package itself: light to import, with its doors where they are said to be."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.measures import classification, counting
from steelyard.measures.named import Named


def test_import_loads_no_scikit_learn():
    code = "import sys, steelyard; print(sorted(k for k in sys.modules if k in ('sklearn', 'scipy', 'matplotlib')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_measures_load_no_scikit_learn():
    code = "import sys, steelyard.measures; print('sklearn' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"


@pytest.mark.parametrize("name", [n for n in sy.__all__ if n != "__version__"])
def test_public_names_resolve(name):
    assert getattr(sy, name) is not None
    assert name in dir(sy)


def test_unknown_names_raise():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        sy.Nothing  # noqa: B018


def test_every_named_measure_is_exported():
    # Spelled out twice, since type checkers read only literal lists.
    defined = {cls.__name__ for module in (classification, counting) for cls in vars(module).values() if is_named(cls)}
    assert defined == {cls.__name__ for cls in sy.measures.NAMED}
    assert defined < set(sy.measures.__all__)


def test_one_version_everywhere():
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(), re.M).group(1)
    assert sy.__version__ == project == cited


def test_types_are_shipped():
    assert (Path(sy.__file__).parent / "py.typed").is_file()


def is_named(thing):
    return isinstance(thing, type) and issubclass(thing, Named) and thing is not Named and thing.__name__[0] != "_"
