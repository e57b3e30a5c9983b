"""Energy meters: the energy that a machine draws while a command runs.

    from gordon import energy
    report = energy.record(["sort", "in", "-o", "out"], meters=["rapl"], runs=5)
    report["meters"][0]["energy_j"]

A meter is read by a thread of its own. An account of its samples gives the energy, mean power and
energy above idle of each run, with the meter's resolution. Every value says whether it is measured,
estimated, modelled or replayed. The energy of one process among others is left out: meters measure
machines and parts. A failure raises `gordon.GordonError`.
"""

from gordon.energy.find import candidates, chosen, named
from gordon.energy.meter import Candidate, Channel, Meter
from gordon.energy.record import Recording, record

__all__ = [
    "Candidate",
    "Channel",
    "Meter",
    "Recording",
    "candidates",
    "chosen",
    "named",
    "record",
]


def __dir__() -> list[str]:
    return __all__
