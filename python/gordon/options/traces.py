"""Recording and conversion of traces."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from gordon.options import Path
from gordon.options.kinds import COUNT, DIR, FILE, Named, Nanoseconds, Size, Text


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A trace of this machine, or of hosts."""

    out: Annotated[Path, Named("-o", ("--out",)), DIR]
    """New folder for the trace."""
    interval_ns: Annotated[int, Named("--interval"), Nanoseconds()] = 1_000_000_000
    """Sampling interval, at least 0.1s. Default: 1s."""
    memory: Annotated[str | None, Size()] = None
    """Memory limit of the command, page cache included."""
    hosts: Annotated[Path | None, Named("--nodes"), FILE] = None
    """Trace the hosts of this file, one a line, instead of this machine. DIR is then a run, with a
    trace of each host."""
    via: Annotated[str | None, Text("COMMAND")] = None
    """With --nodes: command that runs a program on a host: 'ssh {host}'."""


@dataclass(frozen=True, kw_only=True)
class ActivityInput:
    """Facts that the input of an activity trace does not state."""

    GROUP: ClassVar = "Trace input"
    cores: Annotated[int | None, COUNT] = None
    """For activity traces: number of cores of each host. Default: as the input states."""
    clock: Annotated[str | None, Text("FREQUENCY")] = None
    """For activity traces: clock of the processors, from which instructions are estimated. Default:
    as the input states, else 2.4GHz."""


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """The trace that is written."""

    to: Annotated[str | None, Text("F")] = None
    """Format of OUT. OUT.gz and OUT.zst are compressed. Default: gordon for blocks, oracleGeneral
    for objects."""
