"""Results of `gordon storage characterise --json`, read for the models of the core.

The core gets the points that its models need, and opens no file.
"""

import json
from math import isfinite
from pathlib import Path
from typing import Any, TypedDict

from gordon import __version__
from gordon.errors import GordonError
from gordon.options.devices import STORAGE_PATTERNS as PATTERNS


class Times(TypedDict):
    """The time of requests of a pattern, a size and a depth."""

    pattern: str
    size_bytes: int
    queue_depth: int
    seconds_per_request: float
    mean_latency_s: float


class Measured(TypedDict):
    """A storage for the core."""

    source: str
    points: list[Times]


_KINDS = {"measured": "measured on", "modelled": "simulated"}
#: The core has sizes of 64 bits and depths of 32.
_MOST = {"size_bytes": 2**63, "queue_depth": 2**31}
_POINT = ("pattern", "op", "size_bytes", "queue_depth", "requests", "elapsed_s", "latency_us")


def read(file: str, user: str, may_be_modelled: bool = True) -> Measured:
    """The storage for the core: its source and its points. Raises GordonError, which names the
    `user` of the file, such as a machine."""

    def error(why: str, hint: str, kind: str = "bad-measured") -> GordonError:
        return GordonError(f"{user}: {why}", hint, kind=kind)

    measure = f"measure it: `gordon storage characterise FOLDER --json {Path(file).name}`"
    try:
        report = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as failed:
        why = f"cannot read the measured storage {file}: {failed.strerror}"
        raise error(why, measure, "unreadable-file") from None
    except ValueError:
        raise error(f"measured storage {file}: not JSON", measure) from None
    kind = _kind(report)
    if kind is None:
        why = f"measured storage {file}: not a result of `gordon storage characterise`"
        raise error(why, measure)
    if kind == "modelled" and not may_be_modelled:
        raise error(
            f"{file} is of a simulated device", f"the preset in its place: {report['storage']}"
        )
    version = report["provenance"]["version"]
    if not _is_compatible(version):
        raise error(
            f"measured storage {file}: written by Gordon {version}, and this is {__version__}",
            "measure it again with this version",
            "other-version",
        )
    if not report["points"]:
        raise error(f"measured storage {file}: it has no points", measure)
    points: list[Times] = []
    for number, point in enumerate(report["points"], 1):
        if not _is_point(point):
            why = f"measured storage {file}: point {number} lacks a value, or has an impossible one"
            raise error(why, "measure it again")
        points.append(
            {
                "pattern": f"{point['pattern']}-{point['op']}",
                "size_bytes": point["size_bytes"],
                "queue_depth": point["queue_depth"],
                "seconds_per_request": point["elapsed_s"] / point["requests"],
                "mean_latency_s": point["latency_us"]["mean"] / 1e6,
            }
        )
    # Simulations have no time.
    time = report["provenance"].get("time")
    dated = [] if time is None else [str(time).partition("T")[0]]
    source = [f"{_KINDS[kind]} {report['storage']}", *dated, f"Gordon {version}"]
    return {"source": ", ".join(source), "points": points}


def _kind(report: Any) -> str | None:
    """Whether it was measured or modelled; None if it is another document."""
    if not isinstance(report, dict) or not isinstance(report.get("points"), list):
        return None
    provenance = report.get("provenance")
    if not isinstance(provenance, dict) or not isinstance(provenance.get("version"), str):
        return None
    kind = str(report.get("kind")).partition(":")[0]
    return kind if kind in _KINDS and isinstance(report.get("storage"), str) else None


def _is_compatible(version: str) -> bool:
    """Whether results of this version have the same meaning here: the first two numbers agree."""
    here: str = __version__
    return version.split(".")[:2] == here.split(".")[:2]


def _is_point(point: Any) -> bool:
    if not isinstance(point, dict) or any(key not in point for key in _POINT):
        return False
    latency = point["latency_us"]
    if f"{point['pattern']}-{point['op']}" not in PATTERNS or not isinstance(latency, dict):
        return False
    whole = [point[key] for key in ("size_bytes", "queue_depth", "requests")]
    figures = [*whole, point["elapsed_s"], latency.get("mean")]
    return (
        all(type(n) is int for n in whole)
        and all(type(n) in (int, float) and isfinite(n) and n > 0 for n in figures)
        and all(point[key] <= most for key, most in _MOST.items())
    )
