"""The page of the HTTP endpoints, made from the OpenAPI document of the server."""

from __future__ import annotations

import json
from typing import Any, Final

PATH: Final = "reference/http-endpoints.md"


def document() -> dict[str, Any]:
    """Return the OpenAPI document of a server with an empty storage in memory."""
    from duelist.server import ServerOptions, make_app

    made: dict[str, Any] = make_app(ServerOptions(storage="memory")).openapi()
    return made


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(dict.fromkeys(_type(each) for each in schema.get("anyOf", schema.get("oneOf", []))))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("format") or schema.get("type") or "any JSON")


def _cell(text: Any) -> str:
    return " ".join(str(text or "").split()).replace("|", "\\|").replace("<", "&lt;")


def _bodies(operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    return "; ".join(f"{_type(each.get('schema', {}))} as `{kind}`" for kind, each in content.items())


def _operation(method: str, path: str, operation: dict[str, Any]) -> list[str]:
    lines = [f"### {method.upper()} {path}", "", str(operation.get("description", "")).replace("<", "&lt;"), ""]
    parameters = [each for each in operation.get("parameters", []) if each.get("in") != "cookie"]
    if parameters:
        lines += ["| parameter | in | type | meaning |", "|---|---|---|---|"]
        for each in parameters:
            need = " (required)" if each.get("required") and each["in"] != "path" else ""
            kind = _type(each.get("schema", {}))
            lines.append(f"| `{each['name']}`{need} | {each['in']} | {kind} | {_cell(each.get('description'))} |")
        lines.append("")
    if body := _bodies(operation):
        lines += [f"Body: {body}.", ""]
    answers = []
    for status, answer in operation["responses"].items():
        kinds = [_type(each.get("schema", {})) for each in answer.get("content", {}).values()]
        answers.append(f"{status} {' or '.join(dict.fromkeys(kinds)) or 'without a body'}")
    return [*lines, f"Responses: {'; '.join(answers)}.", ""]


def _schema(name: str, schema: dict[str, Any]) -> list[str]:
    lines = [f"### {name}", "", _cell(schema.get("description")), ""]
    required = set(schema.get("required", ()))
    if properties := schema.get("properties"):
        lines += ["| field | type | meaning |", "|---|---|---|"]
        for field, each in properties.items():
            need = " (required)" if field in required else ""
            lines.append(f"| `{field}`{need} | {_type(each)} | {_cell(each.get('description'))} |")
        lines.append("")
    elif "enum" in schema:
        lines += [f"One of {_type(schema)}.", ""]
    return lines


def pages() -> dict[str, str]:
    """Return the page of all endpoints and schemas."""
    api = document()
    lines = [
        "# HTTP endpoints",
        "",
        "Every endpoint of `duelist serve`, made from the OpenAPI document that a server offers at `/api/v1/openapi.json`. "
        "[The HTTP API](http-api.md) explains authentication, errors and how the parts work together.",
        "",
    ]  # fmt: skip
    groups: dict[str, list[str]] = {}
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["Other"])[0]
            groups.setdefault(tag, []).extend(_operation(method, path, operation))
    for tag, text in groups.items():
        lines += [f"## {tag.capitalize()}", "", *text]
    lines += ["## Schemas", ""]
    for name, schema in sorted(api.get("components", {}).get("schemas", {}).items()):
        lines += _schema(name, schema)
    return {PATH: "\n".join([*lines, ""])}
