"""How the documentation is built: ``make docs``."""

from importlib.metadata import version as installed_version

project = "misnomer"
author = "misnomer developers"
copyright = "2026, misnomer developers"
release = version = installed_version("misnomer")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
myst_enable_extensions = ["dollarmath"]
exclude_patterns = ["_build"]

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "misnomer"
