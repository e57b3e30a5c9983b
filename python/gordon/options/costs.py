"""Installations: the cost of a petabyte, prices by year, racks of nodes, plans of jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gordon.options import Device, Path
from gordon.options.devices import DiskPreset, FlashPreset
from gordon.options.kinds import (
    COUNT,
    FILE,
    PRESET,
    SEED,
    SIZE,
    TIME,
    Choice,
    Number,
    Text,
    Whole,
    Words,
)
from gordon.options.surveys import ServiceOptions, SpinDownOptions, UseOptions

#: Factors of the load's speed that are compared by default.
RATES = (0.01, 0.1, 1.0, 10.0, 100.0)
_PRICE = Number("PRICE", least=0)


@dataclass(frozen=True, kw_only=True)
class PetabyteOptions:
    """The stored data, and the prices of their storage."""

    inputs: Annotated[str, PRESET] = "gordon-2009"
    """Prices and powers: gordon-2009 (Table 7 of the Gordon paper) or a TOML file such as `gordon
    cost inputs` prints."""
    capacity: Annotated[str | None, SIZE] = None
    """Size of the stored data. Default: that of the inputs, a petabyte."""
    processors: Annotated[int | None, COUNT] = None
    """Processors of each server, for all media. Default: those of the inputs."""
    year: Annotated[int | None, Whole(1, "Y")] = None
    """Year of the prices of the media (`gordon cost prices`), by their capacity. Default: the
    prices of the inputs."""


@dataclass(frozen=True, kw_only=True)
class PriceOptions:
    """A year of prices."""

    year: Annotated[int | None, Whole(1, "Y")] = None
    """Year of the prices. Default: all years."""


@dataclass(frozen=True, kw_only=True)
class ReplicasOptions:
    """Replicas of the data of a load on flash and on disks."""

    GROUP: ClassVar = "Replicas"
    flash: Annotated[Device, PRESET] = FlashPreset.device
    """Flash device: a preset (`gordon flash presets`) or a TOML file."""
    disk: Annotated[Device, PRESET] = DiskPreset.device
    """Disk with a standby state: a preset (`gordon disk presets`) or a TOML file."""
    replicas: Annotated[int, Whole(2)] = 3
    """Number of replicas, including the working one."""
    buffer: Annotated[str, SIZE] = "1GiB"
    """Bytes on flash that sleeping disks do not have, at which they are woken."""
    max_age: Annotated[str, TIME] = "1h"
    """Age of the oldest of these bytes at which the disks are woken, too."""
    spin_down: Annotated[str | None, TIME] = None
    """Idle time after which a disk is put in standby. Default: its break-even time."""
    link: Annotated[str, Text("RATE")] = "1Gb"
    """Rate of the link over which a failed node is recovered: bits a second as 1Gb, bytes a second
    as 125MB."""
    rates: Annotated[Sequence[float | str], Words("X,X...")] = RATES
    """Factors of the load's speed at which sleeping and awake disks are compared. Default:
    0.01,0.1,1,10,100."""
    price_kwh: Annotated[float | None, _PRICE] = None
    """Price of a kWh. Default: that of `gordon cost inputs`."""
    flash_price: Annotated[float | None, _PRICE] = None
    """Price of the flash device. Default: that of the part; of gordon-slc-256g by capacity from
    section 6.2 of the Gordon paper."""
    disk_price: Annotated[float | None, _PRICE] = None
    """Price of the disk. Default: that of the part; of sata-7200-1tb by capacity from Table 7 of
    the Gordon paper."""
    fit: Annotated[str, Choice(("error", "wrap"))] = "error"
    """Handling of addresses past the end of the smaller device: report an error, or take them
    modulo its capacity."""
    seed: Annotated[int, SEED] = 1
    """Random seed of a pattern and of the wear of flash."""


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
class TcoOptions(UseOptions, ServiceOptions, SpinDownOptions, NodeOptions):
    """A job or a service on nodes of a machine."""

    node: Annotated[str, Text("ID")]
    """Machine of a space, or with one of its storages, as framework-desktop/nvme-qlc-2tb."""
    nodes: Annotated[int | None, COUNT] = None
    """Number of nodes. Default: as many as traces; of an event log, 1."""
    reference: Annotated[str | float | None, Text("NAME|NUMBER")] = None
    """Machine on which the traces were recorded, as of `gordon survey`."""
    price_year: Annotated[int | None, Whole(1, "Y")] = None
    """Year of the prices of drives (`gordon cost prices`), by their capacity. Default: the prices
    of the parts."""
    rent: Annotated[str | None, Text("NAME")] = None
    """Compare with a machine that is rented, as m5.xlarge, or with the cheapest of a space, as ec2,
    that runs the job as fast: from how many hours a month on buying costs less."""


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
