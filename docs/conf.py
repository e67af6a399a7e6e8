"""How Sphinx builds the documentation site; `make docs` runs it."""

from __future__ import annotations

import shutil
import sys
import warnings
from pathlib import Path

import copartition

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "out" / "docs-build"

project = "copartition"
author = "The copartition developers"
copyright = "The copartition developers, MIT licence"
version = release = copartition.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**.ipynb", "gallery/**.py", "gallery/**.zip", "gallery/**.md5"]
templates_path = ["_templates"]
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", r"(numpy|scipy|pandas)(\..*)?"),  # pages of others: no network while building
    ("py:obj", r"copartition\.(chains|core|couplings|diagnostics|results|targets)(\..*)?"),  # to be read in the source
    ("py:obj", r"\w+"),  # arguments and fields that are called like a module of Python: copy, random
]
default_role = "autolink"  # `tune` in a docstring leads to its page; what has none is set in italics
suppress_warnings = ["config.cache"]

# Tutorials are Markdown that executes; a cell that fails ends the build. No cache: code may have changed without them.
nb_execution_mode = "force"
nb_execution_in_temp = True  # tutorials may write files
nb_execution_raise_on_error = True
nb_execution_timeout = 900
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove"  # that kernels are compiled, once
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# MathJax is in the site itself, in its form as one file that loads nothing else.
mathjax_path = "tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}
html_static_path = ["_static", str(ROOT / "out" / "npm" / "node_modules" / "mathjax" / "es5" / "tex-svg.js")]

autosummary_generate = True
sys.modules["copartition.plots"] = copartition.plots  # by this name people know it; autodoc imports what it documents
autodoc_typehints = "none"  # docstrings say what arguments are, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_xref_param_type = False

# Scripts write pictures and pages beside themselves, so they run in a copy. These take longer than a site may: they are
# not run, and their pages end with the picture that is kept in this folder.
SLOW = {
    "annealed": "annealed.png",
    "galaxies_unknown_scale": "richardson-green.png",
    "large": "large.png",
    "meeting": "meeting.png",
    "planted": "planted.png",
}
ENDING = """

# %%
# It takes longer than the others and was not run for this site; this is the picture that it wrote.
#
# .. image:: /{picture}
#
# sphinx_gallery_thumbnail_path = '{picture}'
"""
examples = BUILD / "examples"
shutil.rmtree(examples, ignore_errors=True)
shutil.copytree(ROOT / "examples", examples, ignore=shutil.ignore_patterns("__pycache__", "out", "*.png"))
for script, picture in SLOW.items():
    with (examples / f"{script}.py").open("a", encoding="utf-8") as file:
        file.write(ENDING.format(picture=picture))
sphinx_gallery_conf = {
    "examples_dirs": str(examples),
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/(?!(?:{'|'.join(SLOW)})\.py)[^/]*\.py$",
    "ignore_pattern": r"__init__\.py|notebook\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1_000_000,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "copartition"
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "copartition"},
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # light or dark, as the reader has it
html_sidebars = {"index": []}

# Pages are read where they lie, too, and there links to files outside of this folder are right. In the site they lead
# to its own pages that show the same.
OUTSIDE = {
    "../CONTRIBUTING.md": "contributing.md",
    "../CITATION.cff": "cite.md",
    "../README.md": "index.md",
    "../benchmarks/README.md": "benchmarks.md",
    "../benchmarks/RESULTS.md": "RESULTS.md",
    **{f"../examples/{script.name}": f"gallery/{script.stem}.rst" for script in (ROOT / "examples").glob("*.py")},
}


def stay_inside(app, document_name, source):
    """Turn links that lead out of the site into links to its own pages."""
    up = "../" * document_name.count("/")
    for there, here in OUTSIDE.items():
        source[0] = source[0].replace(f"]({up}{there})", f"]({up}{here})")


def setup(app):
    """Tell Sphinx about the links."""
    app.connect("source-read", stay_inside)
