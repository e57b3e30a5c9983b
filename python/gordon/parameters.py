"""The numbers that a result was made of, with their sources, as rows for its page."""

from typing import Any


def rows(used: dict[str, dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """One row per value: kind, part, key (dotted), value, and its source.

    `origin` is `source` (published), `assumed` (with the reason) or `given` (without a reason). The
    `source` of a whole part is that of each value that has no other.
    """
    return [
        {"kind": kind, "part": name} | row
        for kind, parts in used.items()
        for name, part in sorted(parts.items())
        for row in flat(part, "", part.get("source"))
    ]


def flat(table: dict[str, Any], prefix: str, source: str | None) -> list[dict[str, Any]]:
    """One row per value of a table: its key behind `prefix`, the value, and its source, else
    `source`."""
    found: list[dict[str, Any]] = []
    for key, field in table.items():
        path = prefix + key
        # Names are not numbers.
        if path in ("summary", "source", "models") or field is None:
            continue
        if isinstance(field, dict) and "value" in field:
            origin = next((o for o in ("source", "assumed") if o in field), "given")
            why = field.get(origin, "")
            found.append({"key": path, "value": field["value"], "origin": origin, "why": why})
        elif isinstance(field, dict):
            found += flat(field, path + ".", source)
        elif isinstance(field, list) and any(isinstance(f, dict) for f in field):
            for i, item in enumerate(field):
                found += flat(item, f"{path}.{i + 1}.", source)
        else:
            origin = "given" if source is None else "source"
            found.append({"key": path, "value": field, "origin": origin, "why": source or ""})
    return found
