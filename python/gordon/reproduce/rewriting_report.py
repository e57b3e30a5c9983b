"""The report of `gordon reproduce rewrite`: the keys of its JSON."""

from typing import TypedDict

from gordon.sort.tune.telemetry import Export, Growth, Moment


class Trial(TypedDict):
    """A sort in the presence of an earlier output; `output` is the work of the device in the output
    phase."""

    transfer: int
    way: str
    time_s: float
    delete_s: float | None
    output_s: float
    mapped_before: float
    mapped_after: float
    output: Growth
    whole: Growth
    series: list[Moment]


class RoundTrial(Trial):
    """A trial, and its round from one."""

    round: int


class MeanTrial(TypedDict):
    """The means over the rounds, with the deviations of times, which one round does not have."""

    transfer: int
    way: str
    trials: int
    time_s: float
    time_s_deviation: float | None
    output_s: float
    output_s_deviation: float | None
    mapped_before: float
    mapped_after: float
    delete_s: float | None
    output: dict[str, float]
    """The keys of `Growth` that are numbers."""
    pages: dict[str, float]


class Explained(TypedDict):
    """An output compared with the old output trimmed."""

    transfer: int
    way: str
    longer_s: float
    longer: float
    longer_deviation: float | None
    dies_longer_s: float | None
    copied_more_bytes: float
    write_amplification: list[float]
    mapped_before: list[float]
    mapped_after: list[float]
    why: str


class Rewritten(TypedDict):
    """Sorts that overwrite, delete, or delete and trim the old output, with the reasons."""

    version: str
    kind: str
    date: str
    export: Export
    folder: str
    mounted: str
    bytes: int
    rounds: int
    seed: int
    rows: list[MeanTrial]
    trials: list[RoundTrial]
    explained: list[Explained]
