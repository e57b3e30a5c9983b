"""The numbers that a result was made of, with their sources, as rows for its page."""

from typing import Any, Literal, TypedDict

from gordon.untyped import Config


class Sourced(TypedDict):
    """A value of a table, and its source."""

    #: Its key, dotted.
    key: str
    #: As users give it.
    value: Any
    #: Published, assumed with the reason, or given without one.
    origin: Literal["source", "assumed", "given"]
    #: The publication or the reason.
    why: str


class Parameter(Sourced):
    """A value of a part."""

    #: The kind of the part, such as `cpu`.
    kind: str
    #: The name of the part.
    part: str


def rows(used: dict[str, dict[str, Config]]) -> list[Parameter]:
    """One row per value: kind, part, key (dotted), value, and its source.

    `origin` is `source` (published), `assumed` (with the reason) or `given` (without a reason). The
    `source` of a whole part is that of each value that has no other.
    """
    return [
        {"kind": kind, "part": name, **row}
        for kind, parts in used.items()
        for name, part in sorted(parts.items())
        for row in flat(part, "", part.get("source"))
    ]


def flat(table: Config, prefix: str, source: str | None) -> list[Sourced]:
    """One row per value of a table: its key behind `prefix`, the value, and its source, else
    `source`."""
    found: list[Sourced] = []
    for key, field in table.items():
        path = prefix + key
        # Names are not numbers.
        if path in ("summary", "source", "models") or field is None:
            continue
        if isinstance(field, dict) and "value" in field:
            found.append(_sourced(path, field))
        elif isinstance(field, dict):
            found += flat(field, path + ".", source)
        elif isinstance(field, list) and any(isinstance(f, dict) for f in field):
            for i, item in enumerate(field):
                found += flat(item, f"{path}.{i + 1}.", source)
        elif source is None:
            found.append({"key": path, "value": field, "origin": "given", "why": ""})
        else:
            found.append({"key": path, "value": field, "origin": "source", "why": source})
    return found


def _sourced(path: str, field: Config) -> Sourced:
    """The row of a value with an address of its own."""
    if "source" in field:
        return {"key": path, "value": field["value"], "origin": "source", "why": field["source"]}
    if "assumed" in field:
        return {"key": path, "value": field["value"], "origin": "assumed", "why": field["assumed"]}
    return {"key": path, "value": field["value"], "origin": "given", "why": ""}
