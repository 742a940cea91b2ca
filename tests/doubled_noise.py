"""`python -m pytest -p tests.doubled_noise`: draw twice the noise that is paid for.

Only assertions about the scale of noise may fail then. Any other test that does rests on chance: it passes at the right
scale because its limit is a few standard deviations away.
"""

from milepost._typing import IntArray
from milepost.privacy import noise

_sampler = noise._add


def _add(law: str, values: IntArray, scale: float) -> IntArray:
    return _sampler(law, values, 2 * scale)


vars(noise)["_add"] = _add
