"""The settings that a search tried, each with the means of its trials."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TypedDict

from gordon.report.entries import of
from gordon.sort.tune.report import TuneReport
from gordon.sort.tune.search import TrialReport


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
                "sd": stdev(paid) if len(paid) > 1 else None,
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
