"""Installations: the cost of a petabyte, racks of nodes, plans of jobs."""

from dataclasses import dataclass
from typing import Annotated

from gordon.options.kinds import COUNT, PRESET, SIZE


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
