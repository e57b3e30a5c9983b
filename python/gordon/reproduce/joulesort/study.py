"""The systems of the JouleSort paper: modelled, measured, and what the paper claims about them."""

from collections.abc import Sequence
from typing import Any

from gordon import tables
from gordon.options import several
from gordon.reproduce.joulesort import claims
from gordon.sort.systems import data, extrapolate, plateaus
from gordon.sort.systems.model import Parts
from gordon.sort.systems.schema import Systems

Json = dict[str, Any]


def report(set_values: Sequence[str] = ()) -> Json:
    """The report of `gordon.sort.systems.extrapolate`, with the paper's estimates among the
    plateaus, and its claims next to its tables and the model. Raises GordonError."""
    settings = several(set_values)
    found = extrapolate(set_values=settings)
    table = data.shipped()
    # The paper's estimates are for the size of its own sort.
    size = int(table["records"]["value"])
    same = found["records"] == size
    at_size = found if same else extrapolate(set_values=[*settings, f"records={size}"])
    data.change(table, settings)
    parts = Parts(tables.read(Systems, table, ""))
    points = claims.points(parts, found["systems"])
    found["plateaus"] = plateaus.of(points) | {"points": points}
    found["claims"] = claims.compare(parts, found | {"systems": at_size["systems"]}, size)
    return found
