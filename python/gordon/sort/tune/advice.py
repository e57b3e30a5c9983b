"""The decision table: which settings to try next, from the device's telemetry of a sort.

For each phase of the best trial so far, the first rule that fits is taken. It names the changes to
try, the likeliest to help first, and the reason; or it says that this phase wants no change.

| rule | where | then |
| --- | --- | --- |
| short | the phase takes little of the time | nothing |
| processors | all processors are busy | nothing: no transfer helps |
| overwrites | dies or buses at their limit, many copies, the output is overwritten | a new output |
| collects | the same with a new output | overwrite if no trim came; writes of whole erase groups |
| saturated | dies or buses at their limit, few copies | the page cache, which may write less |
| shallow | memory holds few transfers in flight, and few wait | half the size: more in flight |
| starved | few requests at the device | larger transfers, overwrite, the page cache |
| elsewhere | requests wait, yet dies and buses are idle | larger transfers: fewer answers |

The page cache writes less where temporary files are deleted before the system has written them.
Overwriting is advised only if it may be chosen.
"""

from dataclasses import dataclass
from typing import Literal

from gordon import _core
from gordon.reports.sort import Phase
from gordon.sort.tune.point import TRANSFERS, Point, Transfer
from gordon.sort.tune.search import Facts
from gordon.sort.tune.telemetry import PhaseGrowth

#: A die or a bus is at its limit (assumed: `steer` has 0.9 of loads without beginning and end).
BUSY = 0.85
#: Share of programmed pages that are copies (assumed): each byte is written one and a half times.
COPIES = 1 / 3
#: Requests for each lane that keep it at work: one served and one that waits.
DEEP = 2.0
#: Of all processors, at work.
AT_WORK = 0.9
#: Of the time of a sort: less is not worth a trial.
SHORT = 0.05
#: Factor by which transfers grow in a step (assumed: as coarse as the blind search).
STEP = 4
#: Transfers are of whole pages.
PAGE = 4096
#: The least transfer (crates/sort/src/plan.rs).
LEAST = 1 << 16
#: Reads ahead, and buffers of the output beyond two a thread, where memory has room (the same).
DEPTH, BUFFERS = 4, 2

#: By phase: the setting of what it reads, and of what it writes.
SETTINGS: dict[str, tuple[Transfer | None, Transfer | None]] = {
    "read": ("input_transfer", None),
    "distribute": ("input_transfer", "temp_transfer"),
    "runs": ("input_transfer", "temp_transfer"),
    "write": (None, "output_transfer"),
    "gather": ("temp_transfer", "output_transfer"),
    "merge": ("temp_transfer", "output_transfer"),
}
#: Figures of a device that only one served in simulated time has.
TIMED: tuple[
    Literal["busiest_die", "busiest_bus", "dies_busy", "queue_depth", "late_share"], ...
] = ("busiest_die", "busiest_bus", "dies_busy", "queue_depth", "late_share")
#: Phases that write the output.
LAST = ("write", "gather", "merge")


#: New values of settings.
Change = dict[str, int]


@dataclass(frozen=True)
class Buffers:
    """The plan of a sort, as far as the table needs it."""

    sizes: dict[Transfer, int]
    """Bytes of a transfer."""
    depth: int
    output_buffers: int
    threads: int


@dataclass(frozen=True)
class Advice:
    """The advice of a rule for a phase."""

    phase: str
    rule: str
    why: str
    changes: tuple[Change, ...] = ()
    """Settings to try, in this order."""


@dataclass(frozen=True)
class Machine:
    """Facts that the table needs in addition to a trial."""

    processors: int
    lanes: int
    erase_groups: tuple[int, ...]
    """Bytes that are erased together: over all write points, and at one write point."""
    most_transfer: int
    may_overwrite: bool = False


def advise(facts: Facts, point: Point, machine: Machine) -> list[Advice]:
    """The advice for each phase, longest first. `facts` are those of a trial."""
    trimmed = facts["device"]["whole"]["host_bytes_trimmed"] > 0
    devices = {row["name"]: row for row in facts["device"]["phases"]}
    plan = facts["plan"]
    buffers = Buffers(
        {key: _core.parse_bytes(plan[key]) for key in TRANSFERS},
        plan["depth"],
        plan["output_buffers"],
        plan["threads"],
    )
    total = sum(phase["seconds"] for phase in facts["phases"])
    phases = [phase for phase in facts["phases"] if phase["name"] in SETTINGS]
    phases.sort(key=lambda phase: phase["seconds"], reverse=True)
    return [
        _phase(phase, devices[phase["name"]], trimmed, total, buffers, point, machine)
        for phase in phases
    ]


def _phase(
    phase: Phase,
    device: PhaseGrowth,
    trimmed: bool,
    total: float,
    plan: Buffers,
    point: Point,
    machine: Machine,
) -> Advice:
    name, seconds = phase["name"], phase["seconds"]

    def say(rule: str, why: str, *changes: Change) -> Advice:
        return Advice(name, rule, why, changes)

    if seconds < SHORT * total:
        return say("short", f"{seconds / total:.0%} of the time")
    work = phase["cpu_s"] / seconds / machine.processors
    if work >= AT_WORK:
        return say("processors", f"processors busy {work:.0%}: they limit, not the device")
    # The export is served in simulated time: `answering` refuses others.
    die, bus, dies, depth, late_share = (device[key] for key in TIMED)
    assert None not in (die, bus, dies, depth, late_share)
    busy = max(die or 0.0, bus or 0.0)
    depth = depth or 0.0
    limits = f"dies busy {dies:.0%}, busiest bus {bus:.0%}"
    queue = f"{depth:.1f} requests outstanding for {machine.lanes} die groups"
    reads, writes = SETTINGS[name]
    allowed = machine.may_overwrite and name in LAST and not point.overwrite
    over: tuple[Change, ...] = ({"overwrite": True},) if allowed else ()
    through: tuple[Change, ...] = () if point.buffered else ({"buffered": True},)
    if busy >= BUSY and device["copied_share"] >= COPIES:
        copies = f"{limits}; {device['copied_share']:.0%} of the pages programmed are copies"
        if point.overwrite and name in LAST:
            return say(
                "overwrites", f"{copies}: delete and trim the old output", {"overwrite": False}
            )
        changes = (*(_groups(writes, plan, machine) if writes else ()), *through)
        if not trimmed:
            copies += "; the device received no trim: use `mount -o discard` or fstrim"
            changes = (*over, *changes)
        return say("collects", copies, *changes)
    if busy >= BUSY:
        why = f"{limits}, {queue}: larger transfers cannot help"
        return say("saturated", why, *through)
    larger = _larger((reads, writes), plan, machine)
    if depth < DEEP * machine.lanes:
        few = _few(reads, writes, plan)
        halves: list[Change] = [{key: size // 2} for key, size in few.items() if size // 2 >= LEAST]
        if halves:
            return say("shallow", f"{limits}, {queue}; memory holds few transfers", *halves)
        return say("starved", f"{limits}, {queue}: too few", *larger, *over, *through)
    late = f"{late_share:.0%} of the response time is outside of the device"
    return say("elsewhere", f"{limits}, yet {queue}; {late}: try larger transfers", *larger)


def _larger(
    settings: tuple[Transfer | None, Transfer | None], plan: Buffers, machine: Machine
) -> tuple[Change, ...]:
    """Transfers that are `STEP` times as large, up to the maximum, in whole pages."""
    found: list[Change] = []
    most = machine.most_transfer // PAGE * PAGE
    for key in settings:
        if key is not None and (size := min(plan.sizes[key] * STEP, most)) > plan.sizes[key]:
            found.append({key: size})
    return tuple(found)


def _few(reads: Transfer | None, writes: Transfer | None, plan: Buffers) -> dict[Transfer, int]:
    """Transfer sizes for which memory holds too few buffers."""
    found: dict[Transfer, int] = {}
    if reads == "input_transfer" and plan.depth < DEPTH:
        found[reads] = plan.sizes[reads]
    if writes == "output_transfer" and plan.output_buffers < 2 * plan.threads + BUFFERS:
        found[writes] = plan.sizes[writes]
    return found


def _groups(key: Transfer, plan: Buffers, machine: Machine) -> tuple[Change, ...]:
    """The next multiple of what is erased together, of the largest that may be."""
    size = plan.sizes[key]
    for group in machine.erase_groups:
        whole = -(-size // group) * group
        if whole <= machine.most_transfer:
            return ({key: whole},) if whole != size else ()
    return ()
