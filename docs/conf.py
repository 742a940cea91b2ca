"""The documentation, as Sphinx builds it: `make docs`.

The source directory is the root of the repository: links between these pages, README and the others beside it are the
same on the site and where the code is read.
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

extensions = ["myst_parser", "sphinx.ext.autodoc", "docs._ext.site"]
root_doc = "docs/index"
include_patterns = ["docs/**", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = ["docs/_build", ".*", "src", "tests", "bench", "examples", "dist", "build"]
smartquotes = False  # two hyphens are an option's
highlight_language = "text"  # of blocks that do not say theirs: formulas, shells, files

myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
nitpick_ignore_regex = [
    # The types of other packages have no page here, and the build asks no other site for theirs.
    (r"py:.*", r"(collections|matplotlib|numpy|os|pandas|pathlib|pyarrow|pyspark|rich|sklearn|typing)\..*"),
    (r"py:.*", r"Axes|Column|DataFrame|Figure|SparkSession"),  # the same, where only a type checker imports them
    # What the library passes on, and users do not touch.
    (r"py:.*", r"milepost\.(auditing\.case|privacy\.protected_change|spaces\.columns)\..*"),
    (r"py:.*", r"milepost\.ingest\.(dataframes|progress)\..*"),
]

templates_path = ["_templates"]
html_theme = "furo"
html_title = f"Milepost {release}"
html_static_path = ["_static"]
html_css_files = ["milepost.css"]
html_favicon = "../src/milepost/service/static/icon.svg"
html_copy_source = False
html_additional_pages = {"index": "front.html"}  # whoever opens the folder is led to docs/index.html
