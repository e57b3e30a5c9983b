"""Sections 3 and 6, Table 8 and the slides of the Gordon paper: racks, a petabyte, plans."""

from collections.abc import Iterable, Mapping
from typing import Any

from gordon import cost
from gordon.cost import statements
from gordon.cost.rack import PAPER_NODE
from gordon.reproduce.row import Row


def racks() -> list[Row]:
    """The node, the enclosure and the rack."""
    return rows(cost.rack(PAPER_NODE)["items"])


def petabyte() -> list[Row]:
    """Table 8, and section 6.2."""
    return rows(cost.petabyte()["items"])


def plans() -> list[Row]:
    """Section 6.3."""
    return rows(statements.of_plans())


def rows(items: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The comparisons of a result of `gordon.cost`."""
    return [
        Row(
            item["where"],
            "",
            item["what"],
            item["ours"],
            item["paper"]["low"],
            item["paper"]["high"],
            item["unit"],
            item["reason"] and f"{item['reason']}.",
        )
        for item in items
        if item["ours"] is not None
    ]
