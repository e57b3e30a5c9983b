"""Section 4.2.2 of the paper: what sizes of super-pages, bypassing, buses and MLC change for jobs.

The paper gives no bandwidths of jobs, only ratios, and does not say how it paced its replays. Here
a job's block log is replayed as in a survey: without think time, and with at most as many requests
outstanding as were outstanding in the trace when the request was issued. The bandwidth of a job is
the bytes of all its traces over the device time of all its traces. Data that a trace reads is on
the device before; what it writes is new.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TypedDict

from gordon import _core, bundled, presets
from gordon.human import binary
from gordon.options import Progress
from gordon.quantity import value
from gordon.reproduce.papers import paper
from gordon.reproduce.row import MEAN, Row
from gordon.run.inputs import expand
from gordon.survey import run as survey
from gordon.workload.jobs import JOBS

TABLE = "Figure 5"
PARTS = "Section 4.2.2"
ARRAY, MLC = "gordon-slc-256g", "gordon-mlc-512g"
#: Super-pages of 8 to 256 KiB, as of the paper's text; 2 and 4 KiB are single pages.
SIZES = tuple(1 << n for n in range(13, 19))
#: The sizes that the paper compares, and the write points with which 8 KiB are also simulated.
SMALL, LARGE, FEW = 8 << 10, 64 << 10, 4
PLAIN = ("ftl.bypass=false", "ftl.combine=false")
#: Jobs that gain from large pages without bypassing ("Index, Identity, RandomWriter, and Sort").
GAIN_PLAIN = ("webindex", "identity", "randomwriter", "sort")
#: Sizes of transfers that the paper counts.
LARGE_TRANSFER, SMALL_TRANSFER = 120_000, 8 << 10


@dataclass(frozen=True)
class Variant:
    """An array: the paper's with other values."""

    name: str
    settings: tuple[str, ...] = ()


def _mlc() -> tuple[str, ...]:
    """The values in which the array of MLC dies differs in geometry and timing."""
    slc, mlc = (presets.load("flash", name) for name in (ARRAY, MLC))
    return tuple(
        f"{section}.{key}={value(field)}"
        for section in ("geometry", "timing")
        for key, field in mlc[section].items()
        if value(field) != value(slc[section][key])
    )


def _sized(size: int, bypass: bool) -> Variant:
    settings = (f"super_page.size={size}B", *(() if bypass else PLAIN))
    return Variant(f"{binary(size)}{'' if bypass else ' plain'}", settings)


def _few(bypass: bool) -> Variant:
    sized = _sized(SMALL, bypass)
    return Variant(f"{sized.name}, {FEW} points", (*sized.settings, f"ftl.write_points={FEW}"))


def variants() -> list[Variant]:
    """All arrays that are simulated. That of the paper is the size `LARGE` with bypassing."""
    sized = [_sized(size, bypass) for bypass in (False, True) for size in SIZES]
    few = [_few(bypass) for bypass in (False, True)]
    buses = [Variant(f"{mhz} MHz", (f"timing.bus_rate={mhz}MHz",)) for mhz in (40, 400)]
    return [*sized, *few, *buses, Variant("MLC", _mlc())]


@dataclass
class Load:
    """The block logs of a job and its bandwidths."""

    job: str
    read_bytes: int = 0
    write_bytes: int = 0
    transfers: int = 0
    small: int = 0
    """Transfers of at most `SMALL_TRANSFER` bytes."""
    in_large: int = 0
    """Bytes of transfers of at least `LARGE_TRANSFER` bytes."""
    largest: int = 0
    """Bytes of the largest transfer."""
    mb_s: dict[str, float] = field(default_factory=dict)
    """Bandwidth by the name of a variant."""

    @property
    def read_share(self) -> float:
        return self.read_bytes / (self.read_bytes + self.write_bytes)

    def over(self, one: str, other: str) -> float:
        """The bandwidth on one array over that on another."""
        return self.mb_s[one] / self.mb_s[other]


def simulate(
    jobs: dict[str, list[Path]], progress: Progress | None = None, which: Sequence[Variant] = ()
) -> list[Load]:
    """The loads of jobs, given by the folders of their runs. Raises GordonError."""
    chosen = which or variants()
    loads: list[Load] = []
    with TemporaryDirectory(prefix="gordon-reproduce-") as scratch:
        for job, runs in jobs.items():
            load = Load(job)
            for trace in _traces(runs):
                _transfers(load, trace, Path(scratch, "requests.txt"))
            for variant in chosen:
                load.mb_s[variant.name] = _bandwidth(load, runs, variant, Path(scratch, "replays"))
                if progress is not None:
                    done = len(loads) * len(chosen) + len(load.mb_s)
                    progress(done, len(jobs) * len(chosen))
            loads.append(load)
    return loads


def _traces(runs: Sequence[Path]) -> list[str]:
    return [path for inputs in expand(runs) for path in inputs.paths]


def _transfers(load: Load, trace: str, scratch: Path) -> None:
    """Adds the requests of a block log."""
    _core.trace_convert(json.dumps({"path": trace}), str(scratch), "mqsim")
    for line in scratch.read_text().splitlines():
        _, _, _, sectors, is_read = map(int, line.split())
        size = sectors * 512
        load.read_bytes += size * is_read
        load.write_bytes += size * (1 - is_read)
        load.transfers += 1
        load.small += size <= SMALL_TRANSFER
        load.in_large += size * (size >= LARGE_TRANSFER)
        load.largest = max(load.largest, size)
    scratch.unlink()


def _bandwidth(load: Load, runs: Sequence[Path], variant: Variant, cache: Path) -> float:
    """MB/s of device time. Replays of the disks of the space are kept for the next variant."""
    found = survey(
        _traces(runs),
        space=bundled.SPACE,
        nodes=bundled.NODES,
        model=bundled.MODEL,
        rows=0,
        set=[f"flash.{ARRAY}.{setting}" for setting in variant.settings],
        cache=cache,
    )
    assert "storages" in found
    (seconds,) = (row["simulated_s"] for row in found["storages"] if row["part"] == ARRAY)
    return (load.read_bytes + load.write_bytes) / 1e6 / seconds


def rows(loads: Sequence[Load]) -> list[Row]:
    """Figure 5, buses and MLC: each job, and their mean."""
    found = []
    for load in loads:
        found += [*_sizes(load), *_parts(load), *_requests(load)]
    found += _means(found)
    found += _extremes(loads)
    return found


PAPERS = "64 KiB over 8 KiB, bypassing, a write point for each die group"
FEWER = f"64 KiB over 8 KiB, bypassing, {FEW} write points"
UNBYPASSED = f"64 KiB over 8 KiB, without bypassing, {FEW} write points"
SLOW, FAST = "40 MHz over 133 MHz", "400 MHz over 133 MHz"
CELLS = "MLC over SLC"


def _sizes(load: Load) -> list[Row]:
    large, small = _sized(LARGE, True).name, _sized(SMALL, True).name
    few, plain = _few(True).name, _few(False).name
    own, limited = load.over(large, small), load.over(large, few)
    unbypassed = load.over(_sized(LARGE, False).name, plain)
    base = (
        "With a write point for each die group, pages of 8 KiB already keep most of the buses "
        "busy. Larger gains need a slower base: see four write points."
        if own < limited
        else "Write points do not limit the job."
    )
    share = (
        "Four programs of 8 KiB at a time limit writes, so that the gain grows with the share of "
        "bytes that are written."
    )
    numbers = paper("gordon").numbers
    plain_bounds = numbers["plain_gains" if load.job in GAIN_PLAIN else "plain_losses"]
    transfers = load.small / load.transfers
    without = (
        "As in the paper, the job gains without bypassing, too."
        if load.job in GAIN_PLAIN and unbypassed > 1
        else f"Only {transfers:.0%} of the transfers are of 8 KiB or less ("
        f"the paper: half), and the largest are of {binary(load.largest)}. Few bytes are in "
        "transfers smaller than a page, so that the job gains without bypassing, too."
        if unbypassed > 1
        else f"{transfers:.0%} of the transfers are of 8 KiB or less: large pages cost more."
    )
    return [
        Row(TABLE, load.job, PAPERS, own, unit="x", reason=base, **numbers["large_pages"]),
        Row(TABLE, load.job, FEWER, limited, unit="x", reason=share, **numbers["large_pages"]),
        Row(TABLE, load.job, UNBYPASSED, unbypassed, unit="x", reason=without, **plain_bounds),
    ]


def _parts(load: Load) -> list[Row]:
    large = _sized(LARGE, True).name
    slow, fast, mlc = (load.over(name, large) for name in ("40 MHz", "400 MHz", "MLC"))
    numbers = paper("gordon").numbers
    return [
        Row(
            PARTS,
            load.job,
            SLOW,
            slow,
            unit="x",
            reason=_slow(slow),
            **numbers["jobs_40"],
        ),
        Row(
            PARTS,
            load.job,
            FAST,
            fast,
            unit="x",
            reason=f"A page takes {_page(400):.1f} us of a bus instead of {_page(133):.1f} us: "
            f"reads gain up to {_page(133) / _page(400):.2f}x, and writes up to "
            f"{_peak(400) / _peak(133):.2f}x, since the dies limit them.",
            **numbers["jobs_400"],
        ),
        Row(
            PARTS,
            load.job,
            CELLS,
            mlc,
            unit="x",
            reason="Reads take as long as before. Writes reach at most "
            f"{_peak(133, MLC):.0f} instead of {_peak(133):.0f} MB/s, because a program takes four "
            "times as long.",
            **numbers["jobs_mlc"],
        ),
    ]


def _slow(ours: float) -> str:
    """Why a bus of 40 MHz changes a bandwidth as much as it does."""
    bound = _page(133) / _page(40)
    return (
        f"A page takes {_page(40):.1f} us of a bus instead of {_page(133):.1f} us: the ratio is "
        f"{bound:.2f} if the buses are the limit at both rates. "
    ) + (
        "Dies are also waited for at 133 MHz."
        if ours > 1.05 * bound
        else "Buses are; a ratio of 0.4 needs a job that waits for dies at 133 MHz."
    )


def _page(mhz: int, preset: str = ARRAY) -> float:
    """Microseconds for which a page and its commands occupy a bus."""
    array = presets.load("flash", preset)
    geometry, timing = array["geometry"], array["timing"]
    page = _core.parse_bytes(value(geometry["page"])) + _core.parse_bytes(value(geometry["oob"]))
    command = _core.parse_ns(value(timing["command"])) / 1e3
    return page / (float(value(timing["bus_bits"])) / 8 * mhz) + command


def _peak(mhz: int, preset: str = ARRAY) -> float:
    """MB/s at which pages of `LARGE` are written, limited by the buses or by the dies, which
    receive a page, and then program it."""
    array = presets.load("flash", preset)
    geometry = {key: value(field) for key, field in array["geometry"].items()}
    page = _core.parse_bytes(geometry["page"])
    keys = ("buses", "packages_per_bus", "dies_per_package", "planes_per_die")
    planes: int = math.prod(geometry[key] for key in keys)
    bus = LARGE / int(geometry["buses"]) / page * _page(mhz, preset)
    program = _core.parse_ns(value(array["timing"]["program"])) / 1e3
    return LARGE / max(bus, (bus + program) / (planes * page / LARGE))


def _requests(load: Load) -> list[Row]:
    all_bytes = load.read_bytes + load.write_bytes
    numbers = paper("gordon").numbers
    reason = (
        f"The largest transfer here is of {binary(load.largest)}. The pairs of 8 and 120 KB that "
        "the paper found fit a read-ahead of 128 KB, the default of its kernel (Linux 2.6.24)."
    )
    return [
        Row(
            PARTS,
            load.job,
            "bytes in transfers of 120 KB and more",
            load.in_large / all_bytes,
            reason=reason,
            **numbers["large_transfers"],
        ),
        Row(
            PARTS,
            load.job,
            "transfers of 8 KiB and less",
            load.small / load.transfers,
            reason=reason,
            **numbers["small_transfers"],
        ),
    ]


def _means(found: Sequence[Row]) -> list[Row]:
    """The means over the jobs. The paper's ranges are of jobs, so that only the mean at 40 MHz,
    which it prints, has a figure to compare with."""
    means = []
    for what in dict.fromkeys(row.what for row in found):
        of = [row for row in found if row.what == what]
        is_printed = what == SLOW
        ours = fmean(row.ours for row in of)
        means.append(
            Row(
                of[0].table,
                MEAN,
                what,
                ours,
                of[0].low if is_printed else None,
                of[0].high if is_printed else None,
                of[0].unit,
                _slow(ours) if is_printed else "",
            )
        )
    return means


def _extremes(loads: Sequence[Load]) -> list[Row]:
    """The ends of the paper's ranges, which belong to the jobs that write and read the most."""
    large = _sized(LARGE, True).name
    found = []
    numbers = paper("gordon").numbers
    of_fast, of_mlc = numbers["jobs_400"], numbers["jobs_mlc"]
    for load, kind, fast, mlc in (
        (
            min(loads, key=lambda load: load.read_share),
            "write-intensive",
            of_fast["low"],
            of_mlc["low"],
        ),
        (
            max(loads, key=lambda load: load.read_share),
            "read-intensive",
            of_fast["high"],
            of_mlc["high"],
        ),
    ):
        share = load.read_share if kind == "read-intensive" else 1 - load.read_share
        word = "read" if kind == "read-intensive" else "written"
        name = JOBS[load.job].title
        reason = f"{name} is the most {kind} job: {share:.0%} of its bytes are {word}."
        if kind == "read-intensive" and share < 0.95:
            reason += (
                " The rest is written, and limited by the dies. Reads alone would gain "
                f"{_page(133) / _page(400):.2f}x from 400 MHz, and lose "
                f"{1 - _page(133) / _page(133, MLC):.1%} with MLC, to more out-of-band bytes."
            )
        ours = load.over("400 MHz", large)
        found.append(Row(PARTS, load.job, f"{FAST}, {kind}", ours, fast, fast, "x", reason))
        ours = load.over("MLC", large)
        if kind == "write-intensive":
            reason += (
                f" Programs alone would reach {_peak(133, MLC) / _peak(133):.2f}x with MLC, "
                "transfers included."
            )
        found.append(Row(PARTS, load.job, f"{CELLS}, {kind}", ours, mlc, mlc, "x", reason))
    return found


class Bandwidths(TypedDict):
    """MB/s of a job by size of super-pages, without bypassing and with it; `few` is of both, with
    few dies."""

    job: str
    read_share: float
    plain: list[float]
    bypass: list[float]
    few: list[float]


def bandwidths(loads: Sequence[Load]) -> list[Bandwidths]:
    """MB/s of each job with each size of super-page, without bypassing and with it."""
    return [
        {
            "job": load.job,
            "read_share": load.read_share,
            "plain": [load.mb_s[_sized(size, False).name] for size in SIZES],
            "bypass": [load.mb_s[_sized(size, True).name] for size in SIZES],
            "few": [load.mb_s[_few(bypass).name] for bypass in (False, True)],
        }
        for load in loads
    ]
