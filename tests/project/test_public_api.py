"""The public interface is the one that `public_api.txt` records."""

from difflib import unified_diff

from tools.public_api import SNAPSHOT, public_api


def test_the_interface_is_the_recorded_one() -> None:
    recorded = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    difference = list(unified_diff(recorded, public_api(), "recorded", "now", lineterm="", n=0))
    assert not difference, "\n".join([*difference, "python -m tools.public_api --write records what is there now"])
