"""Sphinx configuration. Tables are made from the benchmarks' JSON, figures and the gallery from code, at the build."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# One thread each: the examples take the same time on a laptop and beside other jobs.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import reference
import steelyard

project = "steelyard"
author = "the steelyard developers"
copyright = f"2026, {author}"
version = release = steelyard.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "reference",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "generated/*", "gallery/**/*.ipynb"]
templates_path = ["_templates"]

# The reference: a page for each class.
autosummary_generate = True
autosummary_context = {"methods_of": reference.methods_of, "properties_of": reference.properties_of}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the sections say it in words
autodoc_mock_imports = ["torch"]  # an extra; its page is made without
python_maximum_signature_line_length = 90
add_module_names = False
toc_object_entries = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": reference.InReadingOrder,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 0,
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "plot_gallery": True,
    "doc_module": ("steelyard",),
    "backreferences_dir": "gallery/used_in",
    "inspect_global_variables": False,
    "reference_url": {},
}

html_theme = "pydata_sphinx_theme"
html_title = "steelyard"
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "start": []}  # pages that stand alone have no neighbours to list
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["steelyard.css"]
suppress_warnings = ["config.cache"]  # of functions in the configuration: they cannot be pickled, and need not be


def setup(app):
    import made

    app.connect("builder-inited", lambda app: made.everything(Path(app.srcdir) / "generated"), priority=100)
