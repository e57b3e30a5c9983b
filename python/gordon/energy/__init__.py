"""Meters of energy: what a machine drew, beside what it did.

from gordon import energy
report = energy.record(["sort", "in", "-o", "out"], meters=["rapl"], runs=5)
report.json["meters"][0]["energy_j"]
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
