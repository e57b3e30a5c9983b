"""The numbers of machines and of measured storages, with their sources, as rows for the report."""

from collections.abc import Mapping
from typing import Literal

from gordon.parameters import Parameter, Sourced, flat
from gordon.storage.saved import Measured
from gordon.survey.space import storages
from gordon.untyped import Config


def of_machines(machines: list[Config], sources: dict[str, Config]) -> list[Parameter]:
    """One row per value of the machines, by name, as `rows` gives them.

    A value without a source of its own has that of its key in `sources` of the space, else that of
    its machine. A source is followed by its date.
    """
    found: list[Parameter] = []
    for machine in sorted(machines, key=lambda machine: str(machine["id"])):
        whole = {"source": machine.get("source"), "date": machine.get("date")}
        is_local = any(storage.get("local", False) for storage in storages(machine))
        values = {key: field for key, field in machine.items() if key not in _NOT_VALUES}
        for row in flat(values, "", None):
            if row["origin"] == "given":
                _add_origin(row, _source(row["key"], sources, is_local) or whole)
            found.append({"kind": "machine", "part": machine["id"], **row})
    return found


def of_measured(tables: Mapping[str, Measured]) -> list[Parameter]:
    """Two rows per point of measured storages, by file, as `rows` gives them. The key has the
    pattern, the size in bytes and the queue depth: `random-read.4096.32.mean_latency_s`."""
    return [
        {
            "kind": "measured",
            "part": file,
            "key": f"{name}.{key}",
            "value": point[key],
            "origin": "source",
            "why": table["source"],
        }
        for file, table in sorted(tables.items())
        for point in table["points"]
        for name in [f"{point['pattern']}.{point['size_bytes']}.{point['queue_depth']}"]
        for key in _TIMES
    ]


#: Keys of a measured point that are times.
_TIMES: tuple[Literal["seconds_per_request", "mean_latency_s"], ...] = (
    "seconds_per_request",
    "mean_latency_s",
)
#: Keys of a machine that describe it or its sources.
_NOT_VALUES = ("id", "summary", "models", "source", "date")


def _source(key: str, sources: dict[str, Config], is_local: bool) -> Config:
    """The entry of `sources` for a dotted key: that of its last word, else that of its first.
    Storage inside the machine has entries of its own, `local_...`, if there are any."""
    words = list(dict.fromkeys([key.rpartition(".")[2], key.partition(".")[0]]))
    if is_local and len(words) > 1:
        words = [f"local_{word}" for word in words] + words
    return next((sources[word] for word in words if word in sources), {})


def _add_origin(row: Sourced, entry: Config) -> None:
    """Gives a value the source of `entry`, if it has one."""
    if entry.get("source"):
        dated = [entry["source"], entry["date"]] if entry.get("date") else [entry["source"]]
        row["origin"], row["why"] = "source", ", ".join(dated)
    elif entry.get("assumed"):
        row["origin"], row["why"] = "assumed", entry["assumed"]
