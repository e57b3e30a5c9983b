"""Results of the text of sections 3, 4.2.1 and 6, and of the slides, from the printed inputs; of
section 6.1, which prints no numbers, from the simulated load."""

from gordon.cost.paper import Item, figure, item, paper
from gordon.cost.report import Array


def _items(ours: dict[str, float | None]) -> list[Item]:
    """The statements of these ids, next to ours; the reason of those that do not agree."""
    found = []
    for id, value in ours.items():
        said = paper().statement[id]
        printed = figure(said.printed, said.figures)
        made = item(id, said.where, said.says, said.unit, printed, value)
        if not made["agrees"]:
            made["reason"] = said.reason
        found.append(made)
    return found


def of_costs(arrays: list[Array]) -> list[Item]:
    """Section 6.2."""
    printed = paper().inputs
    disks = [paper().table8[name] for name in ("sas", "sata")]
    costs = [figure(cells.nonmedia_cost_share).value for cells in disks]
    powers = [figure(cells.nonmedia_power_share).value for cells in disks]
    flash, array = arrays
    return _items(
        {
            "slc-price": printed.card_gb.value * printed.slc_price_per_gb.value,
            "disks-cost-low": min(costs),
            "disks-cost-high": max(costs),
            "disks-power-low": min(powers),
            "disks-power-high": max(powers),
            "specialised-power-low": min(powers) / 2,
            "specialised-power-high": max(powers) / 2,
            "specialised-nand-power": figure(paper().table8["nand"].nonmedia_power_share).value / 2,
            "flash-bandwidth-cost": flash["cost"],
            "disks-bandwidth-power": array["active_w"] / flash["active_w"],
        }
    )


def of_replicas(ours: dict[str, float | None]) -> list[Item]:
    """Section 6.1: its words, as a side of a number, next to the values of a load. A value that is
    not known is None."""
    found: list[Item] = []
    for id, value in ours.items():
        said = paper().claim[id]
        agrees = None
        if value is not None:
            agrees = (said.least is None or value > said.least) and (
                said.most is None or value < said.most
            )
        found.append(
            {
                "id": id,
                "where": said.where,
                "what": said.says,
                "unit": "",
                "paper": {"printed": said.printed, "low": said.least, "high": said.most},
                "ours": value,
                "ratio": None,
                "agrees": agrees,
                "source": f"{paper().source}, {said.where}",
                "reason": said.reason if agrees is False else "",
            }
        )
    return found


def of_racks(node_parts_w: float) -> list[Item]:
    """Section 3, Figures 1 and 2, and the slides. `node_parts_w` is the power of the parts of the
    paper's node, all active, without overhead."""
    printed, pins, limits = paper().inputs, paper().pins, paper().limits
    nodes, racks = printed.nodes.value, printed.nodes.value * printed.enclosures.value
    packages = limits.buses.value * limits.packages_per_bus.value
    dies = pins.dies_per_bus.value
    return _items(
        {
            "density": None,
            "node-power": node_parts_w,
            "node-memory": printed.main_memory_gb.value + printed.controller_memory_gb.value,
            "node-packages": packages * printed.package_gb.value,
            "pins-bus": pins.of_bus(dies),
            "pins-buses": pins.buses.value * pins.of_bus(dies),
            "pins": pins.of_controller(pins.buses.value, dies),
            "enclosure-capacity": nodes * printed.node_gb.value / printed.gb_per_tb.value,
            "enclosure-bandwidth": nodes * printed.node_mb_s.value / 1000,
            "rack-nodes": racks,
            "rack-capacity": racks * printed.node_gb.value / printed.gb_per_tb.value,
            "rack-bandwidth": racks * printed.node_mb_s.value / 1000,
            "rack-power": racks * printed.node_w.value,
            "rack-power-slides": racks * printed.slides_node_w.value,
        }
    )


def of_plans() -> list[Item]:
    """Section 6.3."""
    printed = paper().inputs
    nodes = printed.virtual_nodes.value / printed.virtual_slices.value
    bandwidth_gb_s = nodes * printed.node_mb_s.value / 1000
    link_gb_s = printed.links.value * printed.link_gb_s.value
    return _items(
        {
            "slice-nodes": nodes,
            "slice-capacity": nodes * printed.node_gb.value / printed.gb_per_tb.value,
            "slice-bandwidth": bandwidth_gb_s,
            "load-time": printed.load_tb.value * printed.gb_per_tb.value / link_gb_s / 3600,
            "load-share": link_gb_s / bandwidth_gb_s,
            "overlap-share": 1 / 2,
            "hidden": 1 / link_gb_s,
        }
    )
