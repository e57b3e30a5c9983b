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


@final
class Measured(MeasuredStorage):
    """A characterisation of real storage."""

    #: Whether values are measured or modelled.
    kind: str
    #: Name of the storage that was measured.
    storage: str
    warnings: list[str]
    provenance: Provenance


@final
class Modelled(SimulatedStorage):
    """A characterisation of a simulated device."""

    #: Whether values are measured or modelled.
    kind: str
    #: The device.
    storage: str
    warnings: list[str]
    provenance: Provenance


Characterisation = Measured | Modelled
