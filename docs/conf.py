"""How the documentation is built: ``make docs``."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "misnomer"
author = "misnomer developers"
copyright = "2026, misnomer developers"
release = version = installed_version("misnomer")

extensions = [
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
    # scikit-learn writes these into every estimator, with links that lead nowhere here.
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request, "
    # and these are in the list of attributes already
    "class_count_, feature_log_prob_, feature_importances_",
}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "misnomer"
