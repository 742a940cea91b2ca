"""The guide runs from top to bottom, and prints what it shows."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.docs.test_guides import blocks

PAGE = (ROOT / "docs" / "spark.md").read_text()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.usefixtures("spark")
def test_the_guide_prints_what_it_shows(tmp_path: Path) -> None:
    """Exact answers are 4.984, 5.201 and 5.101, at least 0.034 from being rounded otherwise: 7 standard deviations."""
    names: dict[str, Any] = {}
    output = io.StringIO()
    expected = ""
    for language, text in blocks(PAGE):
        if language == "python":
            with contextlib.redirect_stdout(output):
                exec(text.replace('"homes.parquet"', repr(str(tmp_path / "homes.parquet"))), names)  # noqa: S102
        else:
            expected += text
    assert output.getvalue() == expected
