"""What is missing is skipped, and a failure where it is required."""

from importlib.util import find_spec

import pytest
from _pytest.outcomes import Failed, Skipped

from tests import ROOT, requirements
from tests.conftest import collect_ignore
from tests.requirements import require


@pytest.mark.parametrize("what", sorted(requirements.REQUIREMENTS))
def test_what_is_required_is_not_skipped(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `.ci/run` requires it."""
    monkeypatch.setitem(requirements.REQUIREMENTS, what, lambda: "it is missing")
    monkeypatch.delenv("MILEPOST_REQUIRE", raising=False)
    with pytest.raises(Skipped, match="it is missing"):
        require(what)
    required = (ROOT / ".ci" / "run").read_text().split("MILEPOST_REQUIRE=")[1].split()[0]
    monkeypatch.setenv("MILEPOST_REQUIRE", required)
    with pytest.raises(Failed, match="it is missing"):
        require(what)
    monkeypatch.setitem(requirements.REQUIREMENTS, what, lambda: None)
    require(what)


@pytest.mark.slow
def test_what_slow_tests_need_is_installed() -> None:
    """Where it is not, their files are not even looked at."""
    assert not collect_ignore
    assert find_spec("pyspark")
