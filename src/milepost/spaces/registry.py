"""All spaces by name: the kind that a card has, and the name on the command line and in TOML and HTTP."""

from typing import Any, TypeVar

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.spaces.angular import Angular
from milepost.spaces.arbitrary import AnyMetric
from milepost.spaces.base import Space
from milepost.spaces.fields import spec_schema
from milepost.spaces.geographic import GreatCircle
from milepost.spaces.lp import L1, L2, Lp
from milepost.spaces.mixed import Gower, Hamming
from milepost.storage.file_limits import INTEGERS, check_tensors

KINDS: dict[str, type[Space]] = {
    space.kind: space for space in (L1, L2, Lp, GreatCircle, Angular, Gower, Hamming, AnyMetric)
}
S = TypeVar("S", bound=type[Space])


def register_space(space_class: S) -> S:
    """Make a class of spaces known by its `kind`, so that `load` and stored sessions can restore its spaces.

    A class with `fields` is also available on the command line, in TOML files and over HTTP.

    Parameters
    ----------
    space_class : type
        A subclass of `Space` that defines its nine members.

    Returns
    -------
    type
        The class, so that `register_space` can be used as a decorator.

    Raises
    ------
    MilepostError
        If the class lacks members, if another class has its `kind`, or if a field is written otherwise in another
        space.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.register_space(mp.L1).kind  # a class may be registered again
    'l1'
    """
    if not (isinstance(space_class, type) and issubclass(space_class, Space)):
        raise MilepostError(f"register_space takes a subclass of mp.Space, got {space_class!r}")
    missing = sorted(getattr(space_class, "__abstractmethods__", ()))
    if missing:
        raise MilepostError(f"{space_class.__name__} is not a complete space: define {', '.join(missing)}")
    kind = space_class.kind
    if not isinstance(kind, str) or not kind:
        raise MilepostError(f"{space_class.__name__}.kind must be a text, got {kind!r}")
    owner = KINDS.get(kind) or named_spaces().get(space_class.spec_name or kind)
    if owner is not None and not _is_same_class(owner, space_class):
        raise MilepostError(
            f"the kind {kind!r} belongs to {owner.__name__}; give {space_class.__name__} another one, such as "
            f"kind = {space_class.__name__!r}"
        )
    _check_options(space_class)
    KINDS[kind] = space_class
    return space_class


def _is_same_class(one: type, other: type) -> bool:
    """Return whether two classes are one, perhaps defined again in a notebook."""
    return one is other or (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _check_options(space_class: type[Space]) -> None:
    """Refuse a field that other spaces write in another way: they have one option on the command line."""
    for field in space_class.fields or ():
        for name, other in named_spaces().items():
            for known in other.fields or ():
                if field.name == known.name and field.on_command_line and field.value_type != known.value_type:
                    raise MilepostError(
                        f"the field {field.name!r} of {space_class.__name__} must be written as that of {name}; "
                        "rename it, or use the same value_type"
                    )


def named_spaces() -> dict[str, type[Space]]:
    """Return the spaces of the command line, TOML and HTTP, by their names there."""
    return {space.spec_name or kind: space for kind, space in KINDS.items() if space.fields is not None}


def specs_schema() -> dict[str, Any]:
    """Return the JSON schema of the object that describes a space in a request."""
    schemas = []
    for name, space in named_spaces().items():
        description = (space.__doc__ or name).strip().partition("\n")[0]
        schemas.append(spec_schema(name, description, space.fields or ()))
    return {"title": "SpaceSpec", "description": "A space, by its name and parameters.", "oneOf": schemas}


def space_from_json(card: dict[str, Any], tensors: dict[str, AnyArray]) -> Space:
    """Return the space that `to_json` and `tensors` described."""
    kind = card.get("kind")
    if kind not in KINDS:
        raise MilepostError(
            f"the space {kind!r} is not registered. If it is your own, import its class and call "
            f"mp.register_space(…); this version has {', '.join(KINDS)}"
        )
    space_class = KINDS[kind]
    check_tensors(dict.fromkeys(tensors, INTEGERS) | dict(space_class.tensor_limits), tensors)
    return space_class.from_json(card, tensors)
