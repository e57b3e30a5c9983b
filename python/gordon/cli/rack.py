"""`gordon rack --node ID`."""

from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.costs import RackOptions
from gordon.options.outputs import RackTables, Tables
from gordon.untyped import Row

if TYPE_CHECKING:
    from gordon.cost.rack import Rack


@click.command(cls=command.Command)
@command.of(RackOptions)
@options.tables_out(RackTables)
def rack(to: Tables, **given: Any) -> None:
    """Add up a node, an enclosure and a rack, and check their limits.

    Capacity and bandwidth are those of the simulated storage, power is that of the power model, all
    parts idle or all active. For MaxE, the node of the Gordon paper, figures of its section 3 are
    next to those that follow from printed inputs. What is not known of a node is printed as such.

    \b
    gordon rack --node MaxE
    gordon rack --node framework-desktop --enclosures 4 --rack-power 10kW
    """
    from gordon.cli import output
    from gordon.cli.rack_view import show_rack
    from gordon.cost import rack as computed
    from gordon.survey.columns import rows_to_csv

    output.check(to=to)
    result = computed(**only_given(given))
    output.finish_result(result, show_rack, to, rows=lambda: rows_to_csv(_rows(result.report)))


def _rows(result: "Rack") -> list[Row]:
    """The node, the enclosure and the rack."""
    node = {key: value for key, value in result["node"].items() if key != "unknown"}
    return [
        {"level": "node", "nodes": 1} | node,
        {"level": "enclosure", **result["enclosure"]},
        {"level": "rack", **result["rack"]},
    ]
