"""A node of an installation: a machine or a design of a space, and what is known of it.

Capacity, bandwidth and power come from where surveys take them: the parts of the catalogue, the
simulated device, and the power model. What is not known is None, with the reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from gordon import _core, power, storage
from gordon.cost import prices
from gordon.cost.paper import paper
from gordon.errors import GordonError
from gordon.parts import Catalogue, unknown
from gordon.power import Design
from gordon.quantity import number, value
from gordon.storage import saved
from gordon.survey import quotas, table6
from gordon.survey import space as spaces
from gordon.untyped import Config

#: Requests with which the bandwidth of a storage is simulated: large, sequential, in a full queue.
_SIZE, _DEPTH = "1MiB", 32
_PATTERNS = ("sequential-read", "sequential-write")
#: More nodes than any installation has.
_MOST = 1_000_000


def check_count(option: str, count: int, example: int) -> None:
    """Raises GordonError, with the option, for a number of nodes or of groups of nodes that no
    installation has."""
    if not 1 <= count <= _MOST:
        raise GordonError(
            f"{option} {count}: not from 1 to {_MOST:,}", f"{option} {example}", kind="bad-number"
        )


class UnknownValue(TypedDict):
    """A value of a node that is unknown, and the reason."""

    what: str
    reason: str


class Controller(TypedDict):
    """The flash controllers of a node, and the table of its translation layer."""

    count: int
    buses: int
    packages_per_bus: int
    dies_per_package: int
    pins_of_bus: float
    pins: float
    table_bytes: float
    table_memory_bytes: int | None


class NodeRow(TypedDict):
    """A node in a result. Rates are in bytes a second, powers in watts, prices in `currency`."""

    id: str
    space: str
    kind: str
    summary: str
    storage: str
    capacity_bytes: float | None
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    network_bytes_per_s: float | None
    idle_w: float | None
    active_w: float | None
    parts_active_w: float | None
    price: float | None
    currency: str | None
    controller: Controller | None
    unknown: list[UnknownValue]


@dataclass
class Node:
    """A node. Rates are in bytes a second, powers in watts, prices in `currency`."""

    id: str
    space: str
    kind: str
    """`design` or `machine`."""
    summary: str
    storage: str
    capacity_bytes: float | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    network_bytes_per_s: float | None = None
    idle_w: float | None = None
    active_w: float | None = None
    parts_active_w: float | None = None
    """Power of the parts of a design, all active, without overhead."""
    budget_w: float | None = None
    """Most power of a node of the space."""
    price: float | None = None
    currency: str | None = None
    controller: Controller | None = None
    """The flash controller of a node with a flash array on its board."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Why values are None."""

    def row(self) -> NodeRow:
        """The node as results have it."""
        return {
            "id": self.id,
            "space": self.space,
            "kind": self.kind,
            "summary": self.summary,
            "storage": self.storage,
            "capacity_bytes": self.capacity_bytes,
            "read_bytes_per_s": self.read_bytes_per_s,
            "write_bytes_per_s": self.write_bytes_per_s,
            "network_bytes_per_s": self.network_bytes_per_s,
            "idle_w": self.idle_w,
            "active_w": self.active_w,
            "parts_active_w": self.parts_active_w,
            "price": self.price,
            "currency": self.currency,
            "controller": self.controller,
            "unknown": [{"what": what, "reason": why} for what, why in self.unknown.items()],
        }


def find(name: str, space: str | None = None) -> Node:
    """The node of this name: a design of a grid (`atom-1.9GHz-x1-flash`), one of Table 6 (`MaxE`),
    a machine, or a machine with one of its storages (`framework-desktop/nvme-qlc-2tb`). Without a
    space all shipped ones are searched. Raises GordonError."""
    known: list[str] = []
    for one in [space] if space is not None else spaces.names():
        loaded = spaces.load(one)
        with spaces.blamed(one, []):
            designs = dict(_designs(loaded))
            machines = dict(_machines(loaded))
            if name in designs:
                return _of_design(name, designs[name], loaded)
            if name in machines:
                return _of_machine(name, *machines[name], loaded)
        known += [*designs, *machines]
    where = "" if space is None else f" of the space {space}"
    hint = "MaxE, or a machine of `gordon spaces`, or --space FILE.toml with yours"
    raise unknown(f"node{where}", name, known, hint)


def _designs(space: spaces.Space) -> Iterator[tuple[str, Design]]:
    """The designs of a grid by their ids, as the core names them, and by the names of Table 6."""
    if not spaces.has_grid(space):
        return
    for cpus in space["processors"]:
        for clock in cpus["clocks"]:
            for count in cpus["counts"]:
                processors = f"{cpus['part']}-{number(clock) / 1e9:g}GHz-x{count}"
                for stored in space["storage"]:
                    for devices in stored["counts"]:
                        label = stored["label"]
                        label += "" if stored["counts"] == [1] else str(devices)
                        design: Design = {
                            "cpu": cpus["part"],
                            "clock": clock,
                            "cpus": count,
                            "storage": stored["part"],
                            "count": devices,
                        }
                        yield f"{processors}-{label}", design
    if space["name"] == table6.SPACE:
        yield from table6.named().items()


def _machines(space: spaces.Space) -> Iterator[tuple[str, tuple[Config, Config]]]:
    """The machines by their ids, each with its first storage; and a machine with several storages
    by its id and each of them, as surveys name it."""
    for machine in spaces.machines(space):
        choices = spaces.storages(machine)
        yield machine["id"], (machine, choices[0])
        if len(choices) > 1:
            yield from ((f"{machine['id']}/{_label(one)}", (machine, one)) for one in choices)


def _label(stored: Config) -> str:
    """A name that distinguishes a storage of a machine: `nvme-tlc-1tb-x2-400MB`."""
    count = value(stored.get("count", 1))
    part = stored.get("part") or Path(stored.get("measured", "")).stem
    words = [part, f"x{count}" if count > 1 else "", str(value(stored.get("bandwidth", "")))]
    return "-".join(word for word in words if word)


def _of_design(id: str, design: Design, space: spaces.Space) -> Node:
    """A design: its parts, with the overhead that surveys fit."""
    parts = Catalogue(space.get("parts"))
    spaces.use(parts, space)
    common = space["node"]
    per = value(common["memory_per"])
    overhead = parts.get("overhead", common["overhead"])
    ratio = power.fit(overhead, Catalogue.shipped_first(space.get("parts")), per)["ratio"]
    idle, parts_active = power.node(design, common["memory"], parts, per)
    idle, active = power.at_plug(overhead, ratio, parts, idle, parts_active)
    network = _core.parse_bytes(value(parts.get("network", common["network"])["bandwidth"]))
    node = Node(
        id=id,
        space=space["name"],
        kind="design",
        summary=f"{design['cpus']} x {design['cpu']} at {design['clock']}, "
        f"{design['count']} x {design['storage']}",
        storage=_counted(design["storage"], design["count"]),
        network_bytes_per_s=float(network),
        idle_w=idle,
        active_w=active,
        parts_active_w=parts_active,
        budget_w=number(space["budget"], "budget"),
        unknown={"price": "processors and memories of the catalogue have no prices"},
    )
    _add_storage(node, design["storage"], design["count"], parts)
    _add_controller(node, design["storage"], design["count"], parts)
    return node


def _of_machine(id: str, machine: Config, stored: Config, space: spaces.Space) -> Node:
    """A machine with one of its storages."""
    quotas.resolve([machine])
    parts = Catalogue(space.get("parts"))
    networks = machine["network"]
    network = networks[0] if isinstance(networks, list) else networks
    count = value(stored.get("count", 1))
    node = Node(
        id=id,
        space=space["name"],
        kind="machine",
        summary=machine.get("summary", ""),
        storage=_described(stored),
        network_bytes_per_s=_core.parse_rate(value(network)),
        currency=space.get("currency", "USD"),
    )
    if "part" in stored:
        _add_storage(node, stored["part"], count, parts)
    else:
        node.unknown["capacity"] = "the space gives no size of the storage"
    _limit(node, stored, machine["id"])
    _add_power(node, machine, stored, parts)
    _add_price(node, machine, stored, space)
    node.unknown["pins"] = "the space has no pins of the machine's storage controller"
    return node


def _described(stored: Config) -> str:
    """A storage of a machine in words."""
    if "part" in stored:
        return _counted(stored["part"], value(stored.get("count", 1)))
    if "measured" in stored:
        return f"measured in {Path(stored['measured']).name}"
    return f"a volume of {value(stored['bandwidth'])}/s"


def _counted(part: str, count: int) -> str:
    return part if count == 1 else f"{count} x {part}"


def _add_storage(node: Node, part: str, count: int, parts: Catalogue) -> None:
    """Adds capacity and bandwidth of a simulated device, times the number of devices."""
    made = parts.get(parts.storage_kind(part), part)
    report = storage.characterise(
        preset=made, patterns=_PATTERNS, sizes=_SIZE, depths=[_DEPTH]
    ).report
    assert "capacity_bytes" in report, "a simulated device has a capacity"
    node.capacity_bytes = float(count * report["capacity_bytes"])
    read, write = (count * point["bandwidth_mb_s"] * 1e6 for point in report["points"])
    node.read_bytes_per_s, node.write_bytes_per_s = read, write


def _limit(node: Node, stored: Config, id: str) -> None:
    """Applies the limits of a volume, or of what a machine's devices are behind."""
    if "measured" in stored:
        points = saved.read(stored["measured"], f"machine `{id}`")["points"]
        for key, pattern in zip(("read", "write"), _PATTERNS, strict=True):
            rates = [
                point["size_bytes"] / point["seconds_per_request"]
                for point in points
                if point["pattern"] == pattern
            ]
            setattr(node, f"{key}_bytes_per_s", max(rates, default=None))
    bandwidth = stored.get("bandwidth")
    if bandwidth is not None:
        limits = {
            "read": _core.parse_rate(value(bandwidth)),
            "write": _core.parse_rate(value(stored.get("write_bandwidth", bandwidth))),
        }
        for key, limit in limits.items():
            own = getattr(node, f"{key}_bytes_per_s")
            setattr(node, f"{key}_bytes_per_s", limit if own is None else min(own, limit))
    for key in ("read", "write"):
        if getattr(node, f"{key}_bytes_per_s") is None:
            node.unknown[f"{key} bandwidth"] = "the space gives no bandwidth of the storage"


def _add_power(node: Node, machine: Config, stored: Config, parts: Catalogue) -> None:
    """Adds the power of the machine and of the parts of its storage, as surveys do."""
    levels = power.machine(machine, stored, parts)
    if levels is None:
        node.unknown["power"] = "the space has no power of the machine"
    else:
        node.idle_w, node.active_w = levels


def _add_price(node: Node, machine: Config, stored: Config, space: spaces.Space) -> None:
    """Adds the price of a machine that is bought, with the parts of its storage."""
    if "purchase_price" not in machine:
        node.unknown["price"] = "the space has no purchase price of the machine"
        return
    price = float(value(machine["purchase_price"]))
    name = stored.get("part")
    if name is not None:
        parts = Catalogue(space.get("parts"))
        kind = parts.storage_kind(name)
        is_own = name in space.get("parts", {}).get(kind, {})
        if not is_own and node.currency != prices.CURRENCY:
            node.unknown["price"] = (
                f"the price of {name} is in {prices.CURRENCY}, and that of the machine in "
                f"{node.currency}"
            )
            return
        part = parts.get(kind, name)
        if "price" not in part:
            node.unknown["price"] = f"the catalogue has no price of {name}"
            return
        price += value(stored.get("count", 1)) * float(value(part["price"]))
    node.price = price


def _add_controller(node: Node, part: str, count: int, parts: Catalogue) -> None:
    """Adds the flash controller of a design with a flash array on its board: pins by section 4.2.1,
    and the table of its translation layer."""
    if parts.storage_kind(part) != "flash":
        node.unknown["pins"] = "the paper has pins of its flash controller only"
        return
    made = parts.get("flash", part)
    geometry = {key: value(one) for key, one in made["geometry"].items()}
    packages, dies = geometry["packages_per_bus"], geometry["dies_per_package"]
    page = _core.parse_bytes(value(made["super_page"]["size"]))
    entries = _core.parse_bytes(value(made["capacity"])) / page
    node.controller = {
        "count": count,
        "buses": geometry["buses"],
        "packages_per_bus": packages,
        "dies_per_package": dies,
        "pins_of_bus": paper().pins.of_bus(packages * dies),
        "pins": paper().pins.of_controller(geometry["buses"], packages * dies),
        "table_bytes": entries * paper().limits.table_entry_bytes.value,
        "table_memory_bytes": _core.parse_bytes(value(made["ftl"]["table_memory"]))
        if "table_memory" in made["ftl"]
        else None,
    }
