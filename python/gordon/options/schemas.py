"""The keys of the files that users write, by the JSON Schema of their kind."""

import json
from collections.abc import Iterator
from functools import cache

from gordon.untyped import Schema


@cache
def of(kind: str) -> Schema:
    """The schema of a kind of file."""
    from gordon import _core

    schema: Schema = json.loads(_core.schema(kind))
    return schema


def root(kind: str, items: str = "") -> Schema:
    """The fields of a kind of file, or of the elements of its list `items`."""
    schema = of(kind)
    known: Schema = schema.get("properties", {})
    if items:
        known = resolved(known[items]["items"], schema)["properties"]
    return known


def resolved(field: Schema, schema: Schema) -> Schema:
    """The schema of a field, behind references, and without null and its address."""
    while True:
        if "$ref" in field:
            field = schema["$defs"][field["$ref"].rsplit("/", 1)[1]]
        elif "anyOf" in field:
            field = field["anyOf"][0]
        else:
            return field


def inner(field: Schema | None, schema: Schema) -> Schema | None:
    """The fields of a table; None if it is not a table of known keys."""
    if field is None:
        return None
    plain = resolved(field, schema)
    choices = plain.get("oneOf", [])
    if choices and all("properties" in choice for choice in choices):
        return {name: one for choice in choices for name, one in choice["properties"].items()}
    return plain.get("properties")


def paths(kind: str, items: str = "") -> list[str]:
    """The dotted paths of all values in the schema of a kind, or of the elements of its list
    `items`."""

    def below(table: Schema, prefix: str) -> Iterator[str]:
        for name, field in table.items():
            fields = inner(field, schema)
            if fields is None:
                yield prefix + name
            else:
                yield from below(fields, f"{prefix}{name}.")

    schema = of(kind)
    return list(below(root(kind, items), ""))
