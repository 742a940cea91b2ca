"""The file format: safetensors with one metadata key for a JSON card and a digest. No pickle."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.storage.atomic_file import atomic_write

KEY = "milepost"


def write(path: Path, card: dict[str, Any], tensors: dict[str, AnyArray]) -> None:
    """Write card and tensors; the file appears complete or not at all."""
    text = json.dumps(card, ensure_ascii=False, allow_nan=False)  # in insertion order, which is that of the columns
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    entry = json.dumps({"card": text, "sha256": _digest(text, tensors)})
    content = safetensors.numpy.save(tensors, metadata={KEY: entry})
    with atomic_write(path) as stream:
        stream.write(content)


def read(path: Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the card and the tensors of a file; refuse a file whose digest is wrong."""
    try:
        with safetensors.safe_open(path, framework="numpy") as content:
            entry = (content.metadata() or {}).get(KEY)
            tensors = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise MilepostError(f"there is no file {path}") from None
    except (safetensors.SafetensorError, OSError, ValueError):
        raise MilepostError(f"{path} is not a milepost file, or is damaged or cut short") from None
    if entry is None:
        raise MilepostError(f"{path} is a safetensors file but not a milepost file: it has no {KEY!r} card")
    try:
        outer = json.loads(entry)
        text, digest = outer["card"], outer["sha256"]
        card, expected = json.loads(text), _digest(text, tensors)
    except (ValueError, KeyError, TypeError, RecursionError):  # not JSON, or numbers or nesting beyond the limits
        raise MilepostError(f"{path} is damaged: its card cannot be read") from None
    if digest != expected or not isinstance(card, dict):
        raise MilepostError(f"{path} is damaged: its content does not match its digest")
    return card, tensors


def _digest(card: str, tensors: dict[str, AnyArray]) -> str:
    content = hashlib.sha256(card.encode())
    for name in sorted(tensors):
        content.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        content.update(tensors[name].tobytes())
    return content.hexdigest()
