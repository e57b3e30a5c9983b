"""The reports of a search of settings, and of settings from a simulated device."""

from typing import NotRequired, TypedDict

from gordon.energy.meter import MeterAbout
from gordon.human import short
from gordon.sort.tune.live import Step
from gordon.sort.tune.point import Chosen, Settings
from gordon.sort.tune.search import Gain, TrialReport
from gordon.sort.tune.simulated import Figures
from gordon.sort.tune.telemetry import Export


class FolderDevice(TypedDict):
    """The block device under a folder; None for what is unknown."""

    folder: str
    name: str | None
    model: str | None
    rotational: bool | None


class TuneReport(TypedDict):
    """The report of a search."""

    version: str
    kind: str
    meter: MeterAbout | None
    date: str
    device: list[FolderDevice]
    budget_s: float
    spent_s: float
    bytes: int
    input: str | None
    memory: str
    temp: list[str]
    objective: str
    seed: int
    #: Name of the signal that ended the search, if one did.
    interrupted: str | None
    finished: bool
    stopped: str
    warnings: list[str]
    noise: float
    gain: Gain
    best: Settings
    chosen: Chosen
    trials: list[TrialReport]
    export: NotRequired[Export]
    steps: NotRequired[list[Step]]
    toml: NotRequired[str]
    #: Whether the output with the settings was validated.
    checked: NotRequired[bool]


class TriedSize(Figures):
    """A run of a load with a transfer size."""

    transfer: int


class LoadReport(TypedDict):
    """The transfer size of a load that runs alone."""

    load: str
    setting: str
    found: int
    why: str
    tried: list[TriedSize]


class Passes(TypedDict):
    """Both passes of a sort with some transfer sizes."""

    what: str
    distribute: Figures
    gather: Figures
    seconds: float


class PassSets(TypedDict):
    """Both passes with the default sizes, with those of each load alone, and with the chosen."""

    usual: Passes
    alone: Passes
    chosen: Passes


class SteerReport(TypedDict):
    """The report of the sizes that a simulated device asks for."""

    version: str
    kind: str
    date: str
    device: str
    set: list[str]
    capacity_bytes: int
    precondition: float
    queue_depth: int
    bytes: int
    seed: int
    loads: list[LoadReport]
    chosen: Chosen
    passes: PassSets
    together: list[Passes]
    gain: float
    toml: str


def unit(report: TuneReport) -> str:
    """The unit of the costs of trials."""
    return "s" if report["objective"] == "time" else "J"


def devices(report: TuneReport) -> list[str]:
    """The folders of the trials, each with its device."""
    return [
        f"{one['folder']} on {one['name'] or 'no block device'}"
        + (f" ({one['model']})" if one["model"] else "")
        for one in report["device"]
    ]


def known(report: TuneReport) -> str:
    """The source of the values: measured, or energy by a model."""
    meter = report["meter"]
    if meter is None or meter["how"] == "measured":
        return "all values are measured"
    return f"times are measured, energy is {meter['how']} (meter {meter['name']})"


def holds(report: TuneReport) -> str:
    """The size and memory for which the result holds."""
    cache = (
        "; --memory does not include the page cache of buffered I/O, which helps less with larger "
        "files"
        if report["chosen"]["settings"]["buffered"]
        else ""
    )
    return (
        f"measured with {short(report['bytes'], 'B')} and memory {report['memory']}; with other "
        f"sizes (--records, --memory) the best settings can differ{cache}"
    )


def gain_sentence(report: TuneReport) -> str:
    """The gain as a sentence."""
    gain = report["gain"]
    if not gain["pairs"]:
        why = "interrupted before" if report["interrupted"] else "ended without"
        none = gain["compared"].startswith("nothing")
        found = "no setting was better" if none else f"{why} a comparison with the best setting"
        return f"no gain over the defaults ({found}): the settings are the defaults"
    best, share, deviation = gain["best"], gain["gain"], gain["deviation"]
    assert best is not None
    assert share is not None
    measured = f"{share:.1%} +- {deviation:.1%}"
    if not gain["beyond_noise"]:
        return f"no gain beyond noise over the defaults ({measured}): the settings are the defaults"
    return (
        f"gain over the defaults: {measured} of {report['objective']}, {best:.3g} instead "
        f"of {gain['default']:.3g} {unit(report)} in {gain['pairs']} alternating pairs"
    )
