"""A flash device that has the bandwidths of a storage: probe it, fit, validate.

    from gordon.storage import fit
    fit.probe("/mnt/ssd", "ssd.parquet")                 # a scratch file there, for a minute
    found = fit.fit("ssd.parquet")
    found["errors"][0]["median"], found.toml

`docs/design/flash-fit.md` describes the method and what it cannot infer.
"""

import json
from collections.abc import Callable, Sequence
from math import ceil
from os import fspath
from statistics import median
from typing import Unpack, cast

from gordon import __version__, _core, device_file, fields
from gordon.flash import device as devices
from gordon.options import Device, Path, Progress, Settings, keywords
from gordon.options.devices import FlashFit as FitOptions
from gordon.options.devices import RealStorage, StorageExtent
from gordon.options.explicit import explicit
from gordon.storage.fit import points as logs
from gordon.storage.fit.points import Observed
from gordon.storage.fit.report import ComparedPoint, Errors, FlashFit
from gordon.storage.fit.search import Found, Knob, Search, changed
from gordon.storage.run import Result, characterise
from gordon.untyped import Config

__all__ = ["Fit", "Validation", "fit", "probe", "validate"]

#: Sizes and depths of a probe: a page to a large request, one request to a full queue.
SIZES, DEPTHS = ("4KiB", "16KiB", "64KiB", "256KiB", "1MiB"), (1, 4, 16, 64)
#: Requests and bytes of a simulated point, at most: a search has some hundred simulations of all
#: points, and writes must be several times the write buffer.
REQUESTS, BYTES = 16_000, "64MiB"
#: A median error above which a warning doubts the fit.
BAD_FIT = 0.25
#: Keys that the file of a fitted device lacks: nothing of them was measured.
_OTHERS = ("price", "embodied_kg", "rated_life_years")


class Validation(fields.FlashValidationResult):
    """A simulated flash device next to measured storage."""

    ROWS = "points"

    def says(self) -> str:
        return f"{self['provenance']['device']} and {self['storage']}: {_said(self['errors'])}"


class Fit(fields.FlashFitResult):
    """A flash device fitted to measured points."""

    ROWS = "points"

    def __init__(self, report: FlashFit, config: Config) -> None:
        super().__init__(report)
        #: The fitted device, as `gordon.flash.replay` takes it.
        self.config = config

    @property
    def toml(self) -> str:
        """The fitted device as a TOML file."""
        about = self["provenance"]
        return device_file.text(
            [
                f"Fitted by gordon {about['version']} to {self['storage']} ({about['log']}), seed "
                f"{about['seed']}:",
                f"{_said(self['errors'])}.",
                f"What bandwidths do not show (geometry, endurance, power) is that of "
                f"{about['like']}.",
            ],
            self.config,
        )

    def says(self) -> str:
        return f"{self['storage']}: {_said(self['errors'])}"


@explicit(StorageExtent, RealStorage)
def probe(
    target: Path | None,
    log: Path,
    *,
    device: Device | None = None,
    set: Settings = (),
    progress: Progress | None = None,
    **options: Unpack[keywords.FlashProbe],
) -> Result:
    """Measures the bandwidth of a storage for `fit`, and writes the log (Parquet).

    `target` is a file, a block device, or a directory, in which a scratch file is made and removed;
    or None for a simulated `device` with `set`. `progress` is called with the numbers of points
    (done, total). Raises GordonError.
    """
    load = _load(options)
    if set:
        load["set"] = set
    found = characterise(target, preset=device, progress=progress, **load)
    logs.write(log, found["points"], found["storage"])
    return found


def fit(
    log: Path,
    *,
    like: Device = FitOptions.like,
    seed: int = FitOptions.seed,
    progress: Callable[[str, int], None] | None = None,
) -> Fit:
    """Fits a flash device to a log of `probe`, or to a table (CSV) of points.

    What bandwidths do not show is that of the device `like`. `progress` is called with the current
    step and the number of simulations. Raises GordonError.
    """
    measured = logs.read(log)
    base, name = devices.load(like), devices.name(like)
    simulate = _simulator(measured.points, measured.span, seed)
    found = Search(base, measured.points, simulate, progress).run()
    why = f"fitted by gordon {__version__} to {measured.storage}"
    values = {knob: one.value for knob, one in found.items() if one.value != one.start}
    config = changed(base, values, why)
    config["summary"] = f"Flash device fitted to {measured.storage}"
    for key in _OTHERS:
        config.pop(key, None)
    compared = _compared(measured.points, simulate(config))
    return Fit(
        {
            "storage": measured.storage,
            "values": [
                {
                    "key": knob.key,
                    "value": one.value,
                    "unit": knob.unit,
                    "start": one.start,
                    "determined": one.is_determined,
                    "low": one.low,
                    "high": one.high,
                }
                for knob, one in found.items()
            ],
            "points": compared,
            "errors": _errors(compared),
            "warnings": _warnings(compared, found),
            "provenance": {
                "version": __version__,
                "log": fspath(log),
                "like": name,
                "seed": seed,
            },
        },
        config,
    )


@explicit(StorageExtent, RealStorage)
def validate(
    device: Device,
    target: Path,
    *,
    progress: Progress | None = None,
    **options: Unpack[keywords.FlashProbe],
) -> Validation:
    """Measures a storage as `probe` does, and simulates the same requests on a device.

    `progress` is called with the numbers of points (done, total). Raises GordonError.
    """
    seed = options.get("seed", 1)
    base = devices.load(device)
    found = characterise(target, progress=progress, **_load(options))
    points = logs.observed(found["points"])
    compared = _compared(points, _simulator(points, found["span_bytes"], seed)(base))
    provenance = found["provenance"]
    return Validation(
        {
            "storage": found["storage"],
            "points": compared,
            "errors": _errors(compared),
            "warnings": found["warnings"],
            "provenance": {
                "version": __version__,
                "device": devices.name(device),
                "seed": seed,
                "time": provenance.get("time", ""),
            },
        }
    )


def _load(options: keywords.FlashProbe) -> keywords.Characterise:
    """The load of a probe."""
    return cast(keywords.Characterise, {"sizes": SIZES, "depths": DEPTHS, **options})


def _simulator(
    points: Sequence[Observed], span: int | None, seed: int
) -> Callable[[Config], list[float]]:
    """Bandwidths of a device at the points, in that order."""
    loads: list[Config] = []
    for one in points:
        pattern, _, op = one.pattern.partition("-")
        load = {"pattern": pattern, "op": op, "size": f"{one.size}B", "depth": one.depth}
        loads.append(load)

    def simulate(device: Config) -> list[float]:
        config = {
            "device": {"flash": {"device": device, "precondition": None}},
            "stripe": None,
            "span": None if span is None else f"{span}B",
            "points": loads,
            "bytes": BYTES,
            "requests": REQUESTS,
            "seed": seed,
        }
        report = json.loads(_core.device_characterise(json.dumps(config), None))
        return [point["bandwidth_mb_s"] for point in report["points"]]

    return simulate


def _compared(points: Sequence[Observed], simulated: Sequence[float]) -> list[ComparedPoint]:
    return [
        {
            "pattern": one.pattern,
            "size_bytes": one.size,
            "queue_depth": one.depth,
            "measured_mb_s": one.mb_s,
            "simulated_mb_s": found,
            "ratio": found / one.mb_s,
        }
        for one, found in zip(points, simulated, strict=True)
    ]


def _errors(points: Sequence[ComparedPoint]) -> list[Errors]:
    """The errors of all points, and of each pattern."""
    patterns = list(dict.fromkeys(point["pattern"] for point in points))
    groups = {"all": list(points)} | {
        pattern: [point for point in points if point["pattern"] == pattern] for pattern in patterns
    }
    return [
        _of_group(name, sorted(max(one["ratio"], 1 / one["ratio"]) - 1 for one in group))
        for name, group in groups.items()
    ]


def _of_group(name: str, errors: Sequence[float]) -> Errors:
    """The quantiles of sorted errors."""
    return {
        "pattern": name,
        "points": len(errors),
        "median": median(errors),
        "p90": errors[ceil(0.9 * len(errors)) - 1],
        "largest": errors[-1],
    }


def _said(errors: Sequence[Errors]) -> str:
    first = errors[0]
    return (
        f"{first['points']} points, median error {first['median']:.1%}, 90 % below "
        f"{first['p90']:.1%}"
    )


def _warnings(points: Sequence[ComparedPoint], found: dict[Knob, Found]) -> list[str]:
    patterns = {one["pattern"] for one in points}
    warnings = [
        f"the log has no {op}s: their times are those of the start"
        for op in ("read", "write")
        if not any(pattern.endswith(op) for pattern in patterns)
    ]
    kept = [knob.key for knob, one in found.items() if not one.is_determined]
    if kept:
        names = ", ".join(kept)
        warnings.append(f"not determined by these points, and left as in the start: {names}")
    off = _errors(points)[0]["median"]
    if off > BAD_FIT:
        warnings.append(
            f"half of the points are off by more than {off:.0%}: this storage may not be flash, or "
            "something else limited it (a virtual disk, a cache of the host, other programs)"
        )
    return warnings


def __dir__() -> list[str]:
    return __all__
