"""Uploads: releases that were made elsewhere."""

import os
import tempfile
from pathlib import Path

from fastapi import Request

from milepost.errors import MilepostError
from milepost.mechanisms.registry import spends_epsilon
from milepost.pipeline.release import SIZE_SHARE
from milepost.privacy.guarantee import Guarantee
from milepost.service.catalog import encoded
from milepost.service.problems import RefusedError
from milepost.service.register import Release
from milepost.service.views import description, statement
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis


def cost_of(synopsis: Synopsis) -> list[Guarantee]:
    """What a release that was made elsewhere cost, or a little more where its number of rows is private."""
    guarantee = synopsis.guarantee
    whole = Guarantee(guarantee.epsilon) if spends_epsilon(synopsis.mechanism) else guarantee
    if synopsis.change.public_total or whole.pure:
        return [whole]
    return [Guarantee(SIZE_SHARE * guarantee.epsilon), whole]


def loadable(path: Path) -> Synopsis:
    """The synopsis of a file that was uploaded; what is none, or cannot be shown, is refused."""
    try:
        synopsis = load(path)
        encoded(description(Release("", "", "", ""), synopsis))
        encoded(statement(synopsis))
    except MilepostError as error:
        raise RefusedError("refused", detail=str(error).replace(str(path), "the file")) from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):  # of a card that somebody has edited
        raise RefusedError("refused", detail="the file is not a synopsis that milepost has written") from None
    return synopsis


async def received(request: Request, folder: Path, most: int) -> Path:
    """The body in a temporary file, which the caller takes away."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=".upload-")
    try:
        with os.fdopen(handle, "wb") as stream:
            async for part in request.stream():
                if stream.tell() + len(part) > most:
                    raise RefusedError("too_large")
                stream.write(part)
    except BaseException:
        Path(name).unlink()
        raise
    return Path(name)
