"""Node, enclosure and rack: capacity, bandwidth and power of any node, and the limits of each.

Section 3 of the Gordon paper puts 16 nodes into an enclosure and 16 enclosures into a rack. A value
of an enclosure or a rack is that of a node times the number of nodes; power is that of nodes, as
the paper has none of backplanes and switches.
"""

from math import floor
from typing import ClassVar, NotRequired, TypedDict

from gordon import __version__, _core, fields
from gordon.cost import nodes as found_nodes
from gordon.cost import statements
from gordon.cost.nodes import Node, NodeRow
from gordon.cost.paper import Item, paper
from gordon.human import short
from gordon.options.costs import RackOptions
from gordon.options.explicit import explicit
from gordon.quantity import positive
from gordon.survey import table6

#: The node of section 3.
PAPER_NODE = "MaxE"


class Level(TypedDict):
    """An enclosure; None for what is unknown of a node."""

    nodes: int
    capacity_bytes: float | None
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    network_bytes_per_s: float | None
    idle_w: float | None
    active_w: float | None
    price: float | None


class RackLevel(Level):
    """A rack."""

    enclosures: int


class Limit(TypedDict):
    """A limit and whether it is met; None if the value or the limit is not known."""

    what: str
    value: float | None
    most: float | None
    unit: str
    met: bool | None
    source: str
    reason: str
    nodes_that_fit: NotRequired[int]


class Rack(TypedDict):
    """A node, an enclosure and a rack."""

    version: str
    node: NodeRow
    enclosure: Level
    rack: RackLevel
    limits: list[Limit]
    items: list[Item]


class RackResult(fields.RackResult):
    """The abilities of a node, an enclosure and a rack."""

    ROWS: ClassVar = "limits"

    def says(self) -> str:
        rack = self["rack"]
        capacity, power = rack["capacity_bytes"], rack["active_w"]
        known = [
            short(one, unit) for one, unit in ((capacity, "B"), (power, "W")) if one is not None
        ]
        return ", ".join([f"{rack['nodes']} x {self['node']['id']}", *known])


@explicit(RackOptions)
def rack(
    node: str,
    *,
    space: str | None = None,
    nodes: int = RackOptions.nodes,
    enclosures: int = RackOptions.enclosures,
    rack_power: str | None = None,
) -> RackResult:
    """Capacity, bandwidth and power of a node, an enclosure and a rack, and their limits.

    `node` is a machine or a design of a space (`gordon.cost.nodes.find`). Figures of the paper are
    next to those that follow from its printed inputs if the node is its own, MaxE. What is not
    known of a node is None, and `unknown` of the node has the reason. Raises GordonError.
    """
    found_nodes.check_count("--nodes", nodes, 16)
    found_nodes.check_count("--enclosures", enclosures, 16)
    most = None
    if rack_power is not None:
        most = positive("--rack-power", rack_power, _core.parse_watts, "--rack-power 1300W")
    chosen = found_nodes.find(node, space)
    of_rack = nodes * enclosures
    is_paper = chosen.id == PAPER_NODE and chosen.space == table6.SPACE
    parts_w = chosen.parts_active_w
    return RackResult(
        {
            "version": __version__,
            "node": chosen.row(),
            "enclosure": _sum(chosen, nodes),
            "rack": {"enclosures": enclosures, **_sum(chosen, of_rack)},
            "limits": [*_of_controller(chosen), *_of_power(chosen, of_rack, most)],
            "items": statements.of_racks(parts_w) if is_paper and parts_w is not None else [],
        }
    )


def _sum(node: Node, count: int) -> Level:
    """The values of a number of nodes."""

    def times(value: float | None) -> float | None:
        return None if value is None else value * count

    return {
        "nodes": count,
        "capacity_bytes": times(node.capacity_bytes),
        "read_bytes_per_s": times(node.read_bytes_per_s),
        "write_bytes_per_s": times(node.write_bytes_per_s),
        "network_bytes_per_s": times(node.network_bytes_per_s),
        "idle_w": times(node.idle_w),
        "active_w": times(node.active_w),
        "price": times(node.price),
    }


def _limit(
    what: str, value: float | None, most: float | None, unit: str, source: str, reason: str = ""
) -> Limit:
    is_met = None if value is None or most is None else value <= most
    return {
        "what": what,
        "value": value,
        "most": most,
        "unit": unit,
        "met": is_met,
        "source": source,
        "reason": reason,
    }


def _of_controller(node: Node) -> list[Limit]:
    """The limits of the flash controller and its board."""
    made, limits, pins = node.controller, paper().limits, paper().pins
    source = paper().source
    if made is None:
        why = node.unknown["pins"]
        return [_limit("pins of the flash controller", None, None, "pins", "", why)]
    found = [
        _limit(
            "pins of the flash controller",
            made["pins"],
            pins.most.value,
            "pins",
            f"{source}, {pins.most.source}",
        )
    ]
    for what, count, most in (
        ("flash buses", made["buses"], limits.buses),
        ("packages of a bus", made["packages_per_bus"], limits.packages_per_bus),
        ("dies of a package", made["dies_per_package"], limits.dies_per_package),
    ):
        found.append(_limit(what, count, most.value, "", f"{source}, {most.source}"))
    memory = made["table_memory_bytes"]
    found.append(
        _limit(
            "table of the translation layer",
            made["table_bytes"],
            memory,
            "B",
            f"{source}, {limits.table_entry_bytes.assumed}",
            "" if memory is not None else "the part has no table_memory",
        )
    )
    return found


def _of_power(node: Node, nodes: int, most: float | None) -> list[Limit]:
    """The power of a node within the budget of its space, and of the rack within its limit."""
    found = []
    if node.budget_w is not None:
        of_space = f"space {node.space}: budget"
        found.append(_limit("power of a node", node.active_w, node.budget_w, "W", of_space))
    whole = None if node.active_w is None else node.active_w * nodes
    if most is None:
        found.append(_limit("power of the rack", whole, None, "W", "", "no --rack-power is given"))
        return found
    made = _limit("power of the rack", whole, most, "W", "--rack-power")
    if node.active_w is None:
        made["reason"] = node.unknown["power"]
    elif node.active_w > 0:
        made["nodes_that_fit"] = floor(most / node.active_w)
        made["reason"] = (
            f"{nodes:,} nodes have {most / nodes:.3g} W each, and draw {node.active_w:.3g} W; "
            f"{made['nodes_that_fit']:,} fit"
        )
    return [*found, made]
