"""The reference: which methods a page has, and what stands in their sections.

Most methods take the same things and return the same things: X, y, weights. `words.py` says so once; this extension
puts it into each method's docstring that has no such section of its own, before numpydoc reads it. A parameter without
words is a warning, so that the build with ``-W`` fails.
"""

import inspect
from importlib import import_module

from numpydoc.docscrape import NumpyDocString
from sphinx.util import logging
from words import PARAMETERS, READING_ORDER, RETURNS

from steelyard.measures import Measure

log = logging.getLogger(__name__)
BELOW = ("steelyard.statistics.", "steelyard.solvers.")  # what the doors stand on: shown as it is in the files
# What scikit-learn gives to all estimators, and its own reference explains.
NOT_OURS = {"get_params", "set_params", "get_metadata_routing"}


def _class(fullname):
    module, name = fullname.rsplit(".", 1)
    return getattr(import_module(module), name)


def methods_of(fullname):
    """Public methods that steelyard wrote, in the order of the source as far as it is one class.

    A named measure has those of `Measure`, whose page has them all.
    """
    cls = _class(fullname)
    if issubclass(cls, Measure) and cls is not Measure:
        return []
    found = []
    for owner in cls.__mro__:
        if owner.__module__.startswith("steelyard"):
            found += [name for name in vars(owner) if _is_method(cls, name) and name not in found]
    return found


def _is_method(cls, name):
    theirs = name in NOT_OURS or (name.startswith("set_") and name.endswith("_request"))
    return not (name.startswith("_") or theirs) and callable(getattr(cls, name, None))


def properties_of(fullname):
    """Properties with a sentence of their own; fitted ones stand among the attributes."""
    cls = _class(fullname)
    if issubclass(cls, Measure) and cls is not Measure:
        return []
    ours = [owner for owner in cls.__mro__ if owner.__module__.startswith("steelyard")]
    names = [name for owner in ours for name, value in vars(owner).items() if isinstance(value, property)]
    return [
        n for n in dict.fromkeys(names) if not n.startswith("_") and not n.endswith("_") and getattr(cls, n).__doc__
    ]


def parameters_of(method):
    """Names, with the stars of ``*args`` and ``**kwargs``."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    signature = inspect.signature(method).parameters.values()
    return [stars.get(p.kind, "") + p.name for p in signature if p.name not in ("self", "cls")]


def missing_sections(path, method):
    """(lines to add, names without words) for a method called ``Class.method``."""
    doc = NumpyDocString(inspect.cleandoc(method.__doc__ or ""))
    lines, unknown = [], []
    names = parameters_of(method)
    if names and not doc["Parameters"]:
        lines += ["", "Parameters", "----------"]
        for name in names:
            kind, words = PARAMETERS.get(f"{path}.{name}") or PARAMETERS.get(name) or (None, None)
            if kind is None:
                unknown.append(f"{path}.{name}")
                continue
            lines += [f"{name} : {kind}", f"    {words}"]
    if not (doc["Returns"] or doc["Yields"]):
        returned = RETURNS.get(path, RETURNS.get(path.rsplit(".", 1)[-1]))
        if returned is None:
            unknown.append(f"what {path} returns")
        elif returned:
            lines += ["", "Returns", "-------", returned[0], f"    {returned[1]}"]
    return lines, unknown


def _complete(app, what, name, obj, options, lines):
    if what != "method" or name.startswith(BELOW):
        return
    path = ".".join(name.split(".")[-2:])
    added, unknown = missing_sections(path, obj)
    for missing in unknown:
        log.warning("docs/words.py has no words for %s", missing)
    # Before the examples, where numpydoc wants them.
    at = next((i - 1 for i, line in enumerate(lines) if i and set(line.strip()) == {"-"}), len(lines))
    lines[at:at] = [*added, ""]


class InReadingOrder:
    """sphinx-gallery's order of examples: from the first question to the special ones."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        return READING_ORDER.index(filename.removesuffix(".py"))

    def __repr__(self):
        return "<InReadingOrder>"


def setup(app):
    app.connect("autodoc-process-docstring", _complete, priority=400)  # before numpydoc, at 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
