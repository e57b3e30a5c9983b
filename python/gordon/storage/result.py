"""The types of characterisations: what the core reports, and what the package adds."""

from typing import NotRequired, TypedDict, final

from gordon.reports.storage import MeasuredStorage, SimulatedStorage
from gordon.untyped import Config


class Provenance(TypedDict):
    """Inputs of a result."""

    version: str
    seed: int
    #: The configuration of the measurement.
    config: Config
    #: When it was measured. Simulations have none: the same seed gives the same bytes.
    time: NotRequired[str]


class _Added(TypedDict):
    """The keys that the package adds."""

    #: Whether values are measured or modelled.
    kind: str
    #: The name of the storage or of the simulated device.
    storage: str
    warnings: list[str]
    provenance: Provenance


@final
class Measured(MeasuredStorage, _Added):
    """A characterisation of real storage."""


@final
class Modelled(SimulatedStorage, _Added):
    """A characterisation of a simulated device."""


Characterisation = Measured | Modelled
