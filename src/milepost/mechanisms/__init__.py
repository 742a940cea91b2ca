"""Mechanisms: noise on a statistic. None of them sees a record or a metric."""

from milepost.mechanisms.base import Answerer
from milepost.mechanisms.tangents import TangentLines, Tangents

MECHANISMS: dict[str, type[Tangents]] = {Tangents.name: Tangents}
ANSWERERS: dict[str, type[Answerer]] = {TangentLines.mechanism: TangentLines}
