"""The settings that a search tried, each with the means of its trials."""

from collections.abc import Sequence
from statistics import fmean
from typing import Literal, TypedDict, TypeVar

from gordon.energy.series import deviation
from gordon.report.entries import of
from gordon.sort.tune.point import Transfer
from gordon.sort.tune.report import TuneReport
from gordon.sort.tune.search import TrialReport

K = TypeVar("K", int, str)
Size = Literal[Transfer, "stripe"]
Quantity = Literal["cost", "time_s", "energy_j", "power_w"]


class Tried(TypedDict):
    """The trials of some settings, without the warm-up."""

    what: str
    trials: int
    cost: float
    #: Standard deviation of the trials; None of one trial.
    sd: float | None
    over_defaults: float
    time_s: float | None
    cpu_s: float | None
    energy_j: float | None
    peak_bytes: float | None


def settings(report: TuneReport) -> list[Tried]:
    """The settings that were tried, the cheapest first."""
    groups: dict[str, list[TrialReport]] = {}
    for trial in report["trials"]:
        if trial["cost"] is not None and trial["role"] != "warm-up":
            groups.setdefault(trial["what"], []).append(trial)
    usual = report["gain"]["default"]

    def mean(own: list[TrialReport], key: str) -> float | None:
        values = [value for trial in own if (value := of(key)(trial)) is not None]
        return fmean(values) if values else None

    rows: list[Tried] = []
    for what, own in groups.items():
        paid = costs(own)
        rows.append(
            {
                "what": what,
                "trials": len(own),
                "cost": fmean(paid),
                "sd": deviation(paid),
                "over_defaults": fmean(paid) / usual,
                "time_s": mean(own, "time_s"),
                "cpu_s": mean(own, "cpu_s"),
                "energy_j": mean(own, "energy_j"),
                "peak_bytes": mean(own, "peak_resident_bytes"),
            }
        )
    return sorted(rows, key=lambda row: (row["cost"], row["what"]))


def costs(trials: Sequence[TrialReport]) -> list[float]:
    return [cost for trial in trials if (cost := trial["cost"]) is not None]


def by_size(trials: Sequence[TrialReport], name: Size, what: Quantity) -> dict[int, list[float]]:
    """The values of the trials that varied a size, by that size."""
    groups: dict[int, list[float]] = {}
    for trial in trials:
        size, value = trial["settings"][name], trial[what]
        if trial["role"] == name and size is not None and value is not None:
            groups.setdefault(size, []).append(value)
    return groups


def means(groups: dict[K, list[float]]) -> tuple[list[K], list[float], list[float]]:
    """The keys in order, and for each the mean and the deviation of its values."""
    keys = sorted(groups)
    return (
        keys,
        [fmean(groups[one]) for one in keys],
        [deviation(groups[one]) or 0.0 for one in keys],
    )
