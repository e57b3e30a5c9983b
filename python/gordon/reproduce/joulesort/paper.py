"""The claims of the JouleSort paper: the content of claims.toml."""

from dataclasses import dataclass
from functools import cache

from gordon import tables
from gordon.tables import Number, Share, Some


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Estimates of section 4.2.2, and numbers of statements of other sections."""

    ideal_system: str
    ideal_from: str
    balanced_system: str
    ideal_records_per_j: Number
    balanced_gain: Number
    balanced_records_per_j: Number
    old_plateau_records_per_j: Number
    power_span: Number
    ecc_boards: list[str]
    supply_saving: Share
    power_factor: Some


@cache
def claims() -> Claims:
    """The claims, each with its section."""
    return tables.shipped(Claims, "gordon.reproduce.joulesort", "claims.toml")
