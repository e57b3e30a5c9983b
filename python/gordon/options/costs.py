"""Installations: the cost of a petabyte, prices by year, racks of nodes, plans of jobs."""

from dataclasses import dataclass
from typing import Annotated

from gordon.options import Path
from gordon.options.kinds import COUNT, FILE, PRESET, SIZE, Text, Whole


@dataclass(frozen=True, kw_only=True)
class PetabyteOptions:
    """What is stored, and the prices of what stores it."""

    inputs: Annotated[str, PRESET] = "gordon-2009"
    """Prices and powers: gordon-2009 (Table 7 of the Gordon paper) or a TOML file such as `gordon
    cost inputs` prints."""
    capacity: Annotated[str | None, SIZE] = None
    """What is stored. Default: that of the inputs, a petabyte."""
    processors: Annotated[int | None, COUNT] = None
    """Processors of each server, for all media. Default: those of the inputs."""


@dataclass(frozen=True, kw_only=True)
class PriceOptions:
    """A year of prices."""

    year: Annotated[int | None, Whole(1, "Y")] = None
    """Year of the prices. Default: all years."""


@dataclass(frozen=True, kw_only=True)
class NodeOptions:
    """The node of an installation."""

    node: Annotated[str, Text("ID")]
    """Machine or design of a space, as framework-desktop or atom-1.9GHz-x1-flash; or a name of
    Table 6 of the Gordon paper: MinP, MaxE, MinT, MaxE-disk."""
    space: Annotated[str | None, PRESET] = None
    """Design space that has the node: a shipped one (`gordon spaces`) or a TOML file. Default: the
    first shipped one that has it."""


@dataclass(frozen=True, kw_only=True)
class RackOptions(NodeOptions):
    """A rack of enclosures of nodes."""

    nodes: Annotated[int, COUNT] = 16
    """Nodes of an enclosure."""
    enclosures: Annotated[int, COUNT] = 16
    """Enclosures of a rack."""
    rack_power: Annotated[str | None, Text("POWER")] = None
    """Power that the rack may draw, such as 1300W or 12kW. Default: no limit."""


@dataclass(frozen=True, kw_only=True)
class PlanOptions(NodeOptions):
    """An array of slices, each with a link to a warehouse, and its jobs."""

    link: Annotated[str, Text("RATE")]
    """Rate of the link of each slice: bits a second as 2Gb, bytes a second as 250MB."""
    data: Annotated[str | None, SIZE] = None
    """Size of the data of jobs that name none; without --jobs, of one job."""
    jobs: Annotated[Path | None, FILE] = None
    """TOML file of jobs (`gordon schema jobs`): name, data, results, nodes, arrival, deadline,
    compute or compute_per_gb."""
    nodes: Annotated[int, COUNT] = 1024
    """Nodes of the array."""
    slices: Annotated[int, COUNT] = 16
    """Slices of the array, all of the same size."""
    overlap: bool = False
    """Load the data of the next job while a job computes: each job then has half of the storage of
    its slices."""
