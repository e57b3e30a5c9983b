"""The power of a node with all its parts idle or all active, and the overhead ratio.

The core has the power model. The overhead of a node (supply, fans) is a fixed ratio to the power of
its parts, which the Gordon paper does not print (section 5.2). The ratio is fitted here to machines
whose total power is known, by least squares of the relative error: for parts s and totals t it is
sum(s/t) / sum((s/t)^2). The loss of a power supply may be apart from a ratio that is given.
"""

import json
from typing import Any, TypedDict

from gordon import _core
from gordon.errors import GordonError
from gordon.parts import Catalogue, Part
from gordon.quantity import number, value
from gordon.untyped import Config


class Anchor(TypedDict):
    """A machine of known power, and the overhead ratio by it alone."""

    what: str
    #: The modelled power of its parts.
    parts_w: float
    total_w: float
    ratio: float


class Design(TypedDict):
    """The parts of a node other than its memory and network."""

    cpu: str
    clock: str
    cpus: int
    storage: str
    count: int


class Fitted(TypedDict):
    """The overhead ratio of a part."""

    ratio: float
    #: The ratio as parts have it: with its source.
    field: Any
    anchors: list[Anchor]


def supply(overhead: Part, parts: Catalogue) -> str | None:
    """The power supply of an overhead part, as `_core.MachinePower` takes it; None without one.
    Raises GordonError for an unknown supply, and for one next to a fitted ratio."""
    given = overhead.get("supply")
    if given is None:
        return None
    if overhead.get("ratio") is None:
        raise GordonError(
            "overhead: a supply is given, and the ratio is fitted to machines whose power has the "
            "loss of their supplies",
            "a ratio without the loss of the supply, or no supply",
            kind="bad-config",
        )
    kind = given["part"]
    return json.dumps({"supply": given, "kinds": {kind: parts.get("supply", kind)}})


def at_plug(
    overhead: Part, ratio: float, parts: Catalogue, idle: float, active: float
) -> tuple[float, float]:
    """Idle and active watts at the plug of a node whose parts draw these watts."""
    of_parts = _core.MachinePower([("parts", 1.0, idle, [active])], ratio, supply(overhead, parts))
    return sum(of_parts.idle()), sum(of_parts.max())


def fit(overhead: Part, parts: Catalogue, memory_per: str = "node") -> Fitted:
    """The ratio of an overhead part: given, or fitted to its anchors; and of each anchor alone.

    `memory_per` is what a space has one memory for, `node` or `processor`. The anchors have theirs
    by the same rule, so that the ratio multiplies parts counted as it was fitted to.
    """
    alone: list[Anchor] = []
    for anchor in overhead.get("anchors", []):
        plain = {key: value(field) for key, field in anchor.items()}
        design: Design = {
            "cpu": plain["cpu"],
            "clock": plain["clock"],
            "cpus": plain["cpus"],
            "storage": plain["storage"],
            "count": plain["count"],
        }
        drawn = node(design, plain["memory"], parts, memory_per, plain["what"])[1]
        total = number(plain["total"])
        alone.append(
            {"what": plain["what"], "parts_w": drawn, "total_w": total, "ratio": total / drawn}
        )
    given = overhead.get("ratio")
    if given is not None:
        return {"ratio": number(given, "overhead ratio"), "field": given, "anchors": []}
    shares = [a["parts_w"] / a["total_w"] for a in alone]
    if not shares:
        why = "no overhead: the part has neither a ratio nor anchors to fit it to"
        return {"ratio": 1.0, "field": {"value": 1.0, "assumed": why}, "anchors": []}
    ratio = sum(shares) / sum(s * s for s in shares)
    why = "fitted to " + " and ".join(
        f"{a['what']} ({a['total_w']:g} W for {a['parts_w']:.4g} W of parts)" for a in alone
    )
    return {"ratio": ratio, "field": {"value": ratio, "assumed": why}, "anchors": alone}


def node(
    design: Design, memory: str, parts: Catalogue, memory_per: str = "node", name: str = "a node"
) -> tuple[float, float]:
    """Idle and active watts of the parts of a node, without overhead. `name` is for errors."""
    kind = parts.storage_kind(design["storage"])
    made_of = {"cpu": design["cpu"], "memory": memory, kind: design["storage"]}
    config = {
        "design": {"id": name, **design},
        "node": {"memory": memory, "memory_per": memory_per, "network": "", "overhead": ""},
        "parts": {k: {name: parts.get(k, name)} for k, name in made_of.items()},
    }
    return _core.node_power(json.dumps(config))


def machine(whole: Config, stored: Config, parts: Catalogue) -> tuple[float, float] | None:
    """Watts at the plug of a machine with one of its storages, when idle and when all of it is
    active; None if the power of the machine is unknown."""
    used: dict[str, dict[str, Part]] = {}
    name, supplied = stored.get("part"), whole.get("supply")
    if name is not None:
        kind = parts.storage_kind(name)
        used[kind] = {name: parts.get(kind, name)}
    if supplied is not None:
        used["supply"] = {supplied["part"]: parts.get("supply", supplied["part"])}
    return _core.machine_power(json.dumps({"machine": whole, "storage": stored, "parts": used}))


def storage(name: str, parts: Catalogue) -> tuple[float, float, float]:
    """Watts of a storage device when idle, when it only reads, and when it only writes. Raises
    GordonError for an unknown name."""
    kind = parts.storage_kind(name)
    return _core.storage_power(name, json.dumps({kind: {name: parts.get(kind, name)}}))
