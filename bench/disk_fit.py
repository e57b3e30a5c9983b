"""How well disks are fitted to their times: the tables of docs/design/disk-fit.md.

    python bench/disk_fit.py                # some ten seconds
    python bench/disk_fit.py --lateness 30us --seed 2

Every disk of the catalogue is probed as an unknown one, with writes where it is one of ours, and
fitted; the tables have the values found next to the true ones. Nothing is timed.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from gordon import disk, parts
from gordon._core import parse_bytes, parse_ns
from gordon.disk import fit
from gordon.disk.fit.extract import Found
from gordon.errors import GordonError
from gordon.human import binary
from gordon.quantity import value

SEEKS = ("track_to_track", "average", "full_stroke")


def fitted(name: str, write: bool, args: argparse.Namespace) -> tuple[Found, fit.Fit]:
    """The probes of a disk, and the fit."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "probes.parquet"
        how = {"lateness": args.lateness, "seed": args.seed, "write": write}
        found = fit.probe(None, log, device=name, **how)
        return found, fit.fit(log)


def heads(found: dict[str, Any]) -> str:
    return "not known" if found["heads"] is None else str(found["heads"])


def parameters(made: Any) -> Any:
    return made["parameters"]


def ours(name: str, args: argparse.Namespace) -> list[str]:
    """A row on a preset: of its reads, then of its writes."""
    found, made = fitted(name, False, args)
    extracted, good, truth = parameters(made), made["goodness"], disk.load(name)
    row = [
        name,
        f"{made['probed']['probes']:,}",
        f"{found.check.times.completed[-1] / 6e10:.1f}",
        heads(extracted),
        str(len(extracted["zones"])),
    ]
    for kind in SEEKS:
        true, here = parse_ns(value(truth["seek"]["read"][kind])) / 1e6, extracted["seek_ms"][kind]
        row.append(f"{here:#.3g} ({100 * (here / true - 1):+.1f} %)")
    return [*row, f"{good['demerit_ms']:.3f} ({good['chance_ms']:.3f})"]


def writes(name: str, args: argparse.Namespace) -> list[str]:
    """A row on a preset's writes."""
    found, made = fitted(name, True, args)
    extracted, truth = parameters(made)["writes"], disk.load(name)
    seek, cache = truth["seek"], truth["cache"]
    row = [name, f"{made['probed']['probes']:,}", f"{found.check.times.completed[-1] / 6e10:.1f}"]
    for kind in SEEKS:
        settle = value(seek.get("write_settle_ms", 0.0))
        times = seek.get("write", seek["read"])
        true, here = parse_ns(value(times[kind])) / 1e6 + settle, extracted["seek_ms"][kind]
        row.append(f"{here:#.3g} ({100 * (here / true - 1):+.1f} %)")
    size, pieces = extracted["cache_bytes"], extracted["extents"]
    row.append(
        f"{binary(parse_bytes(value(cache['write_limit'])))} / {known(size and binary(size))}"
    )
    return [*row, f"{value(cache['write_extents']):,} / {known(pieces and f'{pieces:,}')}"]


def known(text: str | None) -> str:
    return text or "not known"


def theirs(name: str, args: argparse.Namespace) -> list[str]:
    """A row on a drive that DiskSim describes: what is so, then what was found."""
    _, made = fitted(name, False, args)
    found, good, geometry = parameters(made), made["goodness"], disk.load(name)["geometry"]
    zones = geometry["zones"]["table"]
    cylinders = sum(zone["cylinders"] + zone.get("gap", 0) for zone in zones)
    return [
        name,
        f"{value(geometry['heads'])} / {heads(found)}",
        f"{len(zones)} / {len(found['zones'])}",
        f"{cylinders:,} / {found['cylinders']:,}",
        f"{value(geometry['rpm']):,} / {found['rpm']:,}",
        f"{good['demerit_ms']:.2f} ({good['chance_ms']:.2f})",
        f"{100 * good['demerit_of_mean']:.1f} %",
    ]


TABLES = (
    (
        "disk", ours,
        "preset, probes, minutes of the disk, heads, zones, track to track, average, full stroke,"
        " demerit (chance)",
    ),
    (
        "disk", writes,
        "preset, probes, minutes of the disk, track to track, average, full stroke, write cache,"
        " pieces",
    ),
    (
        "drive", theirs,
        "drive, heads, zones, cylinders, revolutions a minute, demerit (chance), of the mean",
    ),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="The tables of docs/design/disk-fit.md.")
    parser.add_argument("--lateness", default="0ns", help="of the host that probes, on average")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for kind, row, columns in TABLES:
        names = columns.split(", ")
        print("| " + " | ".join(names) + " |")
        print("|---" * len(names) + "|")
        for name in parts.names(kind):
            try:
                print("| " + " | ".join(row(name, args)) + " |", flush=True)
            except GordonError as error:
                print(f"| {name} | {error.message} |")
        print()


if __name__ == "__main__":
    main()
