"""Addresses: the OpenAPI document of the service, as Markdown."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs._ext.docstrings import split_items
from milepost.service.app import make_app, openapi_document
from milepost.service.settings import Settings
from milepost.service.state import ServiceState

ALWAYS = {"401", "413", "422", "429", "500", "503"}  # what any request may meet: said once, above the addresses


def document() -> dict[str, Any]:
    """The interface of a service that has nothing yet; it is the same for all of them."""
    with TemporaryDirectory() as folder, ServiceState(Path(folder) / "data", Settings()) as state:
        return openapi_document(make_app(state))


def markdown(of: dict[str, Any] | None = None) -> str:
    """The whole page below its introduction: addresses, then the shapes that they name."""
    of = document() if of is None else of
    operations = [(method, path, one) for path, ways in of["paths"].items() for method, one in ways.items()]
    parts = []
    for tag in dict.fromkeys(one["tags"][0] for _, _, one in operations):
        parts.append(f"## {tag.capitalize()}")
        parts += [address(*operation, of) for operation in operations if operation[2]["tags"][0] == tag]
    parts.append("## Shapes")
    parts += [shape(name, schema) for name, schema in sorted(of["components"]["schemas"].items())]
    return "\n\n".join(parts)


def address(method: str, path: str, operation: dict[str, Any], of: dict[str, Any]) -> str:
    """One address: what it does, what it takes, what comes back."""
    parts = [f"### `{method.upper()} {path}`", operation["description"]]
    rows = [
        f"| `{one['name']}` | {one['in']} | {_type(one['schema'])} | {'yes' if one.get('required') else ''} "
        f"| {one.get('description', '')} |"
        for one in operation.get("parameters", ())
        if one["in"] != "path"  # the address has these
    ]
    if rows:
        parts.append("\n".join(["| parameter | in | type | needed | what it is |", "|---|---|---|---|---|", *rows]))
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"Takes {_body(kind, content)}.")
        name = _name(content.get("schema", {}))
        for example in of["components"]["schemas"].get(name, {}).get("examples", ())[:1]:
            parts.append(f"```json\n{_written(example)}\n```")
    back = []
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            contents = [_body(kind, content) for kind, content in answer.get("content", {}).items()]
            back.append(f"`{status}` with {' or '.join(contents)}" if contents else f"`{status}` with nothing")
        elif status not in ALWAYS or set(_codes(answer)) - usual(of)[status]:
            back.append(f"`{status}` for {', '.join(f'`{code}`' for code in _codes(answer))}")
    return "\n\n".join([*parts, f"Gives {'; '.join(back)}."])


def shape(name: str, schema: dict[str, Any]) -> str:
    """One shape of a request or an answer, field by field; of several alternatives, one after another."""
    if "oneOf" in schema:
        alternatives = [shape(one["title"], one).replace("### ", "#### ", 1) for one in schema["oneOf"]]
        return "\n\n".join([f"### {name}", schema["description"], *alternatives])
    needed, fields = set(schema.get("required", ())), schema.get("properties", {})
    start, items = split_items(" ".join(schema.get("description", "").split()), fields)
    said = {name: words for names, words in items for name in names.split(", ")}
    rows = [
        f"| `{field}` | {_type(of)} | {'yes' if field in needed else ''} | {_said(of, said.get(field, ''))} |"
        for field, of in fields.items()
    ]
    table = "\n".join(["| field | type | needed | what it is |", "|---|---|---|---|", *rows])
    return "\n\n".join(part for part in (f"### {name}", start, table) if part)


def usual(of: dict[str, Any]) -> dict[str, set[str]]:
    """Refusals of an address that adds none of its own."""
    answers = of["paths"]["/v1/me"]["get"]["responses"]
    return {status: set(_codes(answer)) for status, answer in answers.items() if status in ALWAYS}


def _codes(answer: dict[str, Any]) -> list[str]:
    return str(answer["description"]).partition(": ")[2].split(", ")


def _body(kind: str, content: dict[str, Any]) -> str:
    name = _name(content.get("schema", {}))
    return f"[{name}](#{name.lower()})" if name else f"`{kind}`"


def _name(schema: dict[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _written(example: dict[str, Any]) -> str:
    """JSON, a field a line."""
    fields = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in example.items()]
    return "\n".join(["{", ",\n".join(fields), "}"]) if fields else "{}"


def _type(schema: dict[str, Any]) -> str:
    """A JSON type in words: "array of number", "string or null"."""
    if name := _name(schema):
        return f"[{name}](#{name.lower()})"
    if several := schema.get("anyOf") or schema.get("oneOf"):
        types = dict.fromkeys(_type(one) for one in several)
        return " or ".join(one for one in types if one != "integer" or "number" not in types)
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{json.dumps(one)}`" for one in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        of = _type(schema.get("items", {}))
        return f"array of ({of})" if " or " in of else f"array of {of}"
    return str(schema.get("type", "anything"))


LIMITS = {
    "minimum": "at least {:g}",
    "exclusiveMinimum": "more than {:g}",
    "maximum": "at most {:g}",
    "exclusiveMaximum": "less than {:g}",
    "minItems": "at least {:,} of them",
    "maxItems": "at most {:,} of them",
    "minLength": "at least {:,} characters",
    "maxLength": "at most {:,} characters",
}


def _said(schema: dict[str, Any], words: str) -> str:
    """What a field is, its limits and its default; that whole numbers fit a float goes without saying."""
    options = [schema, *(schema.get("anyOf") or ())]
    found = [(key, one[key]) for one in options for key in LIMITS if key in one]
    limits = [LIMITS[key].format(value) for key, value in found if abs(value) != 2**53]
    default = [f"default `{json.dumps(schema['default'])}`"] if "default" in schema else []
    return "; ".join(part for part in (words.rstrip(".;"), schema.get("description", ""), *limits, *default) if part)
