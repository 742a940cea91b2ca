"""Spelling: what somebody meant who wrote a word that is none, or called a function in a way that it is not."""

import inspect
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

HINTS = {  # of arguments that must be given
    "space": "what a point is and how far two are, such as mp.L1([(0, 10), (0, 10)])",
    "epsilon": "how much may be learnt about anybody, such as epsilon=1; mp.plan tells the one that an error needs",
    "n": "how many rows the table has, about",
    "max_queries": "how many questions may come, such as max_queries=1_000",
    "bounds": "(low, high) of every column, which everybody may know, such as [(0, 10), (0, 10)]",
    "diameter": "the largest distance there can be, which everybody may know",
    "queries": "a list of all points that will be asked about",
    "radius_km": "how far from the center anybody is, in km",
}


def did_you_mean(word: Any, known: Iterable[str]) -> str:
    """A question to put behind an error, or nothing.

    >>> did_you_mean("slope", ["slopes", "hats"]), did_you_mean("Magic", ["slopes", "hats"])
    ("; did you mean 'slopes'?", '')
    """
    spelt = {name.lower().replace("_", "-"): name for name in known}
    found = get_close_matches(str(word).lower().replace("_", "-"), spelt, n=1)
    return f"; did you mean {spelt[found[0]]!r}?" if found else ""


def spelled(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which says how it is called where it was called otherwise.

    >>> spelled(lambda space, *, epsilon: None)("L1", eps=1)
    Traceback (most recent call last):
    ...
    TypeError: <lambda>() has no argument 'eps'; did you mean 'epsilon'?
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            name = function.__qualname__.removesuffix(".__init__").split(".")[-1]
            raise TypeError(f"{name}() {_advice(signature, kwargs, str(error))}") from None
        return function(*args, **kwargs)

    return call


def _advice(signature: inspect.Signature, given: Iterable[str], error: str) -> str:
    parameters = [one for name, one in signature.parameters.items() if name != "self"]
    names = [one.name for one in parameters]
    for word in given:
        if word not in names:
            return f"has no argument {word!r}{did_you_mean(word, names) or '; it has ' + ', '.join(names)}"
    missing = re.fullmatch(r"missing a required .*'(\w+)'", error)
    if missing:
        hint = HINTS.get(missing[1])
        return f"needs {missing[1]}" + (f": {hint}" if hint else f"; it takes {', '.join(names)}")
    inline = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    rest = f", and by name {', '.join(f'{name}=' for name in named)}" if named else ""
    return f"got {error}; it takes, in this order, {', '.join(inline)}{rest}"
