"""Configure Sphinx for `make docs`.

The source directory is the root of the repository, so links between these pages and the README work both on the site
and in a code browser.
"""

import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]  # this tree's library, and docs/_ext

project = "Milepost"
author = "The Milepost developers"
copyright = author  # noqa: A001
release = version = metadata.version("milepost")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs._ext.site"]
root_doc = "docs/index"
include_patterns = ["docs/**", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = ["docs/_build", ".*", "src", "tests", "bench", "examples", "dist", "build"]
smartquotes_action = "D"  # two hyphens become a dash, which fields of docstrings have; quotation marks stay
highlight_language = "text"  # of blocks that do not say theirs: formulas, shells, files

myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_param = False  # types of parameters are words for readers, not names to look up
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # listed as parameters are
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
nitpick_ignore_regex = [
    # The types of other packages have no page here, and the build asks no other site for theirs.
    (r"py:.*", r"(collections|matplotlib|numpy|os|pandas|pathlib|pyarrow|pyspark|rich|sklearn|typing)\..*"),
    (r"py:.*", r"Axes|Column|DataFrame|Figure|SparkSession"),  # the same, where only a type checker imports them
    # What the library passes on, and users do not touch.
    (r"py:.*", r"milepost\.(auditing\.case|privacy\.protected_change|spaces\.columns)\..*"),
    (r"py:.*", r"milepost\.ingest\.(dataframes|progress)\..*"),
    (r"py:.*", r"milepost\.answers\.energy_distance\.ComparedTables"),
    (
        r"py:.*",
        r"milepost\.spaces\.(registry\.S|fields\.ValueType|queries\.Queries|embeddings\.(embedding\.Block|anchor\.Anchor))",
    ),
    (r"py:.*", r"milepost\.mechanisms\.base\.(AnyDesign|Public|CoordinateDesign|QueryDesign)"),
]

templates_path = ["_templates"]
html_theme = "furo"
html_title = f"Milepost {release}"
html_static_path = ["_static"]
html_css_files = ["milepost.css"]
html_favicon = "../src/milepost/service/static/icon.svg"
html_copy_source = False
html_additional_pages = {"index": "front.html"}  # the folder's own page redirects to docs/index.html
