"""The keys of the result of a sweep."""

from typing import Any, TypedDict

from gordon.untyped import Given, Row


class Level(TypedDict):
    """The distribution of an objective at a value of a range."""

    value: Any
    count: int
    mean: float
    min: float
    q1: float
    median: float
    q3: float
    max: float


class Effect(TypedDict):
    """The effect of a range on an objective: the difference of the means at its values."""

    range: str
    objective: str
    effect: float
    #: The value with the best mean.
    best: Any
    levels: list[Level]


class Sample(TypedDict):
    """A sample of all combinations."""

    size: int | None
    seed: int


class InputFile(TypedDict):
    """A file that a configuration reads."""

    path: str
    sha256: str


class SweepReport(TypedDict):
    """The result of a sweep."""

    command: str
    version: str
    #: Options that are the same for all configurations.
    settings: Given
    ranges: dict[str, list[Any]]
    combinations: int
    #: None if all combinations were run.
    sample: Sample | None
    inputs: list[InputFile]
    objectives: list[str]
    failed: int
    #: Configurations of the Pareto front.
    pareto: list[int]
    effects: list[Effect]
    #: Configurations with their results. The columns are those of the command that is swept.
    rows: list[Row]
