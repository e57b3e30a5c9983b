"""Every number that a survey used, with its source, as rows for the report."""

from typing import Any

from gordon.survey.space import storages


def rows(used: dict[str, dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """One row per value: kind, part, key (dotted), value, and its source.

    `origin` is `source` (published), `assumed` (with the reason) or `given` (without a reason). The
    `source` of a whole part is that of each value that has no other.
    """
    return [
        {"kind": kind, "part": name} | row
        for kind, parts in used.items()
        for name, part in sorted(parts.items())
        for row in _flat(part, "", part.get("source"))
    ]


def of_machines(
    machines: list[dict[str, Any]], sources: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """One row per value of the machines, by name, as `rows` gives them.

    A value without a source of its own has that of its key in `sources` of the space, else that of
    its machine. A source is followed by its date.
    """
    found = []
    for machine in sorted(machines, key=lambda machine: str(machine["id"])):
        whole = {"source": machine.get("source"), "date": machine.get("date")}
        is_local = any(storage.get("local", False) for storage in storages(machine))
        values = {key: field for key, field in machine.items() if key not in _NOT_VALUES}
        for row in _flat(values, "", None):
            if row["origin"] == "given":
                row |= _origin(_source(row["key"], sources, is_local) or whole)
            found.append({"kind": "machine", "part": machine["id"]} | row)
    return found


def of_measured(tables: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Two rows per point of measured storages, by file, as `rows` gives them. The key has the
    pattern, the size in bytes and the queue depth: `random-read.4096.32.mean_latency_s`."""
    return [
        {"kind": "measured", "part": file, "key": f"{name}.{key}", "value": point[key]}
        | {"origin": "source", "why": table["source"]}
        for file, table in sorted(tables.items())
        for point in table["points"]
        for name in [f"{point['pattern']}.{point['size_bytes']}.{point['queue_depth']}"]
        for key in ("seconds_per_request", "mean_latency_s")
    ]


#: Keys of a machine that describe it or its sources.
_NOT_VALUES = ("id", "summary", "models", "source", "date")


def _source(key: str, sources: dict[str, dict[str, Any]], is_local: bool) -> dict[str, Any]:
    """The entry of `sources` for a dotted key: that of its last word, else that of its first.
    Storage inside the machine has entries of its own, `local_...`, if there are any."""
    words = list(dict.fromkeys([key.rpartition(".")[2], key.partition(".")[0]]))
    if is_local and len(words) > 1:
        words = [f"local_{word}" for word in words] + words
    return next((sources[word] for word in words if word in sources), {})


def _origin(entry: dict[str, Any]) -> dict[str, str]:
    if entry.get("source"):
        dated = [entry["source"], entry["date"]] if entry.get("date") else [entry["source"]]
        return {"origin": "source", "why": ", ".join(dated)}
    if entry.get("assumed"):
        return {"origin": "assumed", "why": entry["assumed"]}
    return {"origin": "given", "why": ""}


def _flat(table: dict[str, Any], prefix: str, source: str | None) -> list[dict[str, Any]]:
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
            found += _flat(field, path + ".", source)
        elif isinstance(field, list) and any(isinstance(f, dict) for f in field):
            for i, item in enumerate(field):
                found += _flat(item, f"{path}.{i + 1}.", source)
        else:
            origin = "given" if source is None else "source"
            found.append({"key": path, "value": field, "origin": origin, "why": source or ""})
    return found
