"""Models in files: `save` and `load`.

A file holds what an estimator was made with and what it has learned, as numbers, text and arrays (`files.values`), each
section with a checksum (`files.layout`), written so that the old file or the new one is there whatever happens
(`files.replace`). There is no pickle in it: reading a file runs no code of it and imports nothing that it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from .files import replace
from .files.errors import ModelFileError
from .files.values import Description, from_bytes, to_bytes

KIND = "model"


def save(estimator: Any, path: Any) -> None:
    """Write an estimator of steelyard, fitted or not, to a file that `load` reads.

    A classifier of scikit-learn inside it is written by skops (``pip install 'steelyard[skops]'``). Whatever fails, a
    file that was at `path` before stays as it was.

    >>> import os, tempfile, numpy as np, steelyard as sy
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3)); y = X[:, 0] > 1
    >>> model = sy.OnlineClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sy.save(model, os.path.join(folder, "model.sy"))
    ...     again = sy.load(os.path.join(folder, "model.sy"))
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    described = _by_type().get(type(estimator))
    if described is None or not hasattr(estimator, "get_params"):
        raise ModelFileError(
            f"a {type(estimator).__name__} is none of the estimators that a file can hold: "
            f"{', '.join(sorted(kind.__name__ for kind in _by_type() if hasattr(kind, 'get_params')))}"
        )
    replace.check_place(path)
    data = to_bytes(KIND, estimator, _by_type().get)
    try:
        _prove(data)
    except ModelFileError as error:
        raise ModelFileError(f"this {type(estimator).__name__} cannot be saved: {error}") from error
    replace.write(path, data)


def load(path: Any, *, trusted: Iterable[Any] | None = None) -> Any:
    """The estimator in a file that `save` has written, or a `ModelFileError` that says why there is none.

    `trusted` names types inside a scikit-learn model that skops does not know to be harmless, as the error lists them.
    Naming a type is running its code: do it for files from people you trust.
    """
    if isinstance(trusted, (str, bytes, bool)):
        raise TypeError(f"trusted is a list of types or of their names; got {trusted!r}")
    data = replace.read(path)
    try:
        return _estimator_in(data, () if trusted is None else tuple(trusted))
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


def _estimator_in(data: bytes, trusted: tuple[Any, ...] | None) -> Any:
    found = from_bytes(KIND, data, _by_name().__getitem__, trusted)
    if type(found) not in _by_type() or not hasattr(found, "get_params"):
        raise ModelFileError("it holds no estimator")
    return found


def _prove(data: bytes) -> None:
    """That it can be loaded again, before any file is touched."""
    _estimator_in(data, trusted=None)


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Description]:
    from .estimators import _saved
    from .neural import _saved as _saved_networks
    from .quantification import _saved as _saved_counting

    every = (*_saved.DESCRIPTIONS, *_saved_counting.DESCRIPTIONS, *_saved_networks.DESCRIPTIONS)
    return {one.name: one for one in every}


@lru_cache(maxsize=1)
def _by_type() -> dict[type, Description]:
    return {one.type: one for one in _by_name().values()}
