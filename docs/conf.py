"""Sphinx configuration. Tables are made from the benchmarks' JSON and figures from code, when the docs are built."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import steelyard

project = "steelyard"
author = "the steelyard developers"
copyright = f"2026, {author}"
version = release = steelyard.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "mathml", "numpydoc", "myst_parser"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "colon_fence"]
exclude_patterns = ["_build", "generated/*"]
autosummary_generate = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
html_theme = "alabaster"
html_theme_options = {
    "description": "Train a classifier for the measure you report",
    "page_width": "1180px",
    "body_max_width": "940px",
}
html_static_path = ["_static"]
html_css_files = ["steelyard.css"]
suppress_warnings = ["config.cache"]


def setup(app):
    import made

    app.connect("builder-inited", lambda app: made.everything(Path(app.srcdir) / "generated"))
