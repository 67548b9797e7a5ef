"""The documentation: `make docs` runs the executed pages and writes docs/_build/html."""

import os
import shutil
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent

project = "tunamh"
author = "The tunamh developers"
version = release = installed("tunamh")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tunamh {release}"
html_static_path = ["_static"]
html_css_files = ["tunamh.css"]
html_show_sphinx = False
html_show_copyright = False

# Markdown that reads well on a code host too: links to headings, pages of this folder by their file names.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp, .go"

# Executed pages: each in a kernel of its own, from fixed seeds; an error in one ends the build.
nb_execution_mode = "force"
nb_execution_timeout = 3600  # of a cell that hangs; a busy machine with nothing compiled yet takes minutes
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # progress
nb_merge_streams = True
os.environ["MATPLOTLIBRC"] = str(HERE / "_static" / "matplotlibrc")

# Docstrings are in NumPy's style, with names in single backticks.
default_role = "code"
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autoclass_content = "class"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes that are properties, too, are then described once


def setup(app):
    """The page that `make reproduce` wrote stands beside the pages as it is, not as a download."""
    app.connect("build-finished", _copy_reproduction)


def _copy_reproduction(app, error):
    if error is None and app.builder.format == "html":
        shutil.copy(HERE / "reproduction" / "index.html", Path(app.outdir) / "reproduction" / "index.html")
