"""The traced processor: which one it is, and how fast.

Of a grid of designs, instructions of a trace without hardware counters are estimated with the
instructions per cycle of the traced processor. Of machines, CPU times are relative to the
`core_speed` of the traced machine.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite, log
from pathlib import Path

from gordon import _core
from gordon.errors import GordonError
from gordon.human import figures
from gordon.parts import Catalogue
from gordon.quantity import value
from gordon.survey import space as spaces
from gordon.untyped import Config

Machine = Config

#: Known names that an error lists.
_NEAR = 4
#: Ratio of core speeds that are the same to a reader.
_SAME_SPEED = 1.05
#: Names of cores, which processors of different makers and clocks share.
_ARM_CORE = re.compile(r"(arm )?(neoverse|cortex)[- ]?[a-z]\d+\w*", re.IGNORECASE)
_MARK = re.compile(r"\((r|tm|c)\)", re.IGNORECASE)
#: Words of a processor's name that name its model: `8375C`, `7B13`, `E5-2686`.
_MODEL = re.compile(r"(?![\d.]+[mg]hz)(?=\S*\d)\S{4,}")


def of(given: str | float | None, parts: Catalogue) -> list[Config]:
    """The given reference for all traces, or all processors that a manifest may name."""
    if given is None:
        known = [(name, parts.get("cpu", name)) for name in parts.names("cpu")]
        return [
            {"name": name, "ipc": part["ipc"], "models": part["models"]}
            for name, part in known
            if part.get("models")
        ]
    ipc = _number(given)
    if ipc is None:
        name = str(given)
        return [{"name": name, "ipc": parts.get("cpu", name)["ipc"]}]
    if not (isfinite(ipc) and ipc > 0):
        raise GordonError(
            f"--reference {given}: instructions per cycle must be above zero",
            "--reference core2, or --reference 3",
            kind="bad-number",
        )
    ipc_field = {"value": ipc, "assumed": "given by --reference"}
    return [{"name": "the traced processor", "ipc": ipc_field}]


@dataclass(frozen=True)
class Reference:
    """The traced machine: what the core is given of it, and what was chosen, as warnings."""

    config: Config = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def of_machines(
    given: str | float | None, chosen: spaces.Space, traces: Sequence[str]
) -> Reference:
    """The machine on which traces were recorded. `given` is the id of a machine of the space
    `chosen` or of any shipped one, the name of its processor as the kernel prints it in
    /proc/cpuinfo, or part of it, or its `core_speed`. None: the core looks up the manifests.

    Of a processor that several machines have, the machine with as many cores as the first of
    `traces`, then the one with the nearest memory, is taken. Raises GordonError for an unknown
    name, a name of several processors, a number that is not above zero, or a machine of a space
    whose `core_speed` has another unit.
    """
    if given is None:
        return Reference()
    name = str(given).strip()
    unit = _unit(chosen)
    if name in (unit, *(machine["id"] for machine in spaces.machines(chosen))):
        return Reference({"reference": name})
    speed = _number(given)
    if speed is not None:
        if not (isfinite(speed) and speed > 0):
            raise GordonError(
                f"--reference {given}: the speed of a core must be above zero",
                "--reference 1.2, or the machine on which the trace was recorded",
                kind="bad-number",
            )
        return Reference({"reference_speed": speed})
    others = [space for space in _shipped() if space["name"] != chosen["name"]]
    for space in others:
        for machine in spaces.machines(space):
            if machine["id"] == name:
                _check_unit(name, space, chosen)
                return Reference({"reference_machine": machine})
    if _ARM_CORE.fullmatch(name):
        raise _of_a_core(name, [chosen, *others])
    return _by_processor(name, chosen, others, traces)


def _by_processor(
    name: str, chosen: spaces.Space, others: list[spaces.Space], traces: Sequence[str]
) -> Reference:
    """A machine with a processor of this name, of the surveyed space if possible."""
    for space in (chosen, *others):
        found = _with_processor(name, space) if name else {}
        if len(found) > 1:
            raise GordonError(
                f"--reference {name}: several processors have this in their names: "
                + ", ".join(f"`{model}`" for model in found),
                "the model name as /proc/cpuinfo has it",
                kind="ambiguous-name",
            )
        if found:
            _check_unit(name, space, chosen)
            ((model, machines),) = found.items()
            machine = _nearest(machines, traces)
            notes = _choice(name, machine, machines)
            if not notes and _plain(model) not in _plain(name):
                notes = [
                    f"--reference {name}: {machine['id']} is taken, whose processor is {model}"
                ]
            return Reference({"reference_machine": machine}, notes)
    raise _unknown(name, [chosen, *others])


def _with_processor(name: str, space: spaces.Space) -> dict[str, list[Machine]]:
    """The machines of a space by the entry of their `models` that the name fits. A name with the
    whole entry comes first, then one that is part of an entry, then one with its model numbers."""
    words = _plain(name)

    def has_numbers(entry: str) -> bool:
        numbers = _MODEL.findall(entry)
        return bool(numbers) and set(numbers) <= set(words.split())

    rules = (lambda entry: entry in words, lambda entry: words in entry, has_numbers)
    for fits in rules:
        found: dict[str, list[Machine]] = {}
        for machine in spaces.machines(space):
            for model in machine.get("models", []):
                if not _ARM_CORE.fullmatch(model) and fits(_plain(model)):
                    found.setdefault(model, []).append(machine)
        if found:
            return found
    return {}


def _nearest(machines: list[Machine], traces: Sequence[str]) -> Machine:
    """The machine with the threads, the cores and the memory of the first trace, as the core
    chooses one by the processor of a manifest."""
    traced = _traced(traces)
    threads = traced.get("threads_per_core")
    same = [m for m in machines if threads in (None, value(m.get("threads_per_core")) or threads)]

    def distance(machine: Machine) -> tuple[bool, float]:
        differs = value(machine["cores"]) != traced.get("cores")
        memory = _core.parse_bytes(traced.get("memory") or "0B")
        if memory == 0:
            return differs, 0.0
        return differs, abs(log(_core.parse_bytes(value(machine["memory"])) / memory))

    return min(same or machines, key=distance)


def _traced(traces: Sequence[str]) -> Config:
    """The machine of the first trace; empty if it cannot be read, which the core reports."""
    try:
        manifest = json.loads((Path(traces[0]) / "manifest.json").read_text(encoding="utf-8"))
        machine: Config = manifest["machine"]
    except (OSError, ValueError, KeyError, IndexError):
        return {}
    return machine if isinstance(machine, dict) else {}


def _choice(name: str, machine: Machine, machines: list[Machine]) -> list[str]:
    """The choice, if machines with the processor differ in speed."""
    speeds = sorted(value(one["core_speed"]) for one in machines)
    if speeds[-1] <= speeds[0] * _SAME_SPEED:
        return []
    return [
        f"--reference {name}: {len(machines)} machines have this processor, with core speeds of "
        f"{figures(speeds[0])} to {figures(speeds[-1])}; {machine['id']} is taken, with "
        f"{figures(value(machine['core_speed']))}. Give the machine with --reference"
    ]


def _of_a_core(name: str, known: list[spaces.Space]) -> GordonError:
    """The error for the name of a core, with machines that have it."""
    words = _plain(name)
    found = {
        machine["id"]: value(machine["core_speed"])
        for space in known
        for machine in spaces.machines(space)
        if any(_plain(model) in words for model in machine.get("models", []))
    }
    # One of each speed says more than several of one.
    by_speed = {speed: id for id, speed in reversed(found.items())}
    listed = [f"{id} {figures(speed)}" for speed, id in sorted(by_speed.items())][:_NEAR]
    speeds = f" (core_speed of {', '.join(listed)})" if listed else ""
    return GordonError(
        f"--reference {name}: this is the name of a core, not of a machine: machines with other "
        f"clocks have it, too{speeds}",
        "the machine, or its core_speed as a number",
        kind="ambiguous-name",
    )


def _check_unit(name: str, space: spaces.Space, chosen: spaces.Space) -> None:
    """Raises GordonError if the core speeds of two spaces cannot be compared."""
    if _unit(space) is not None and _unit(space) == _unit(chosen):
        return
    own = _unit(chosen)
    why = f"relative to {own}" if own else "in a unit that it does not state"
    raise GordonError(
        f"--reference {name}: a machine of the space `{space['name']}`, whose core_speed is "
        f"relative to {_unit(space)}; that of the space `{chosen['name']}` is {why}",
        f"a machine of `{chosen['name']}`, or the core_speed as a number; a space states its unit "
        f"in its table [reference], as in `gordon spaces show {space['name']}`",
        kind="other-unit",
    )


def _unknown(name: str, known: list[spaces.Space]) -> GordonError:
    """The error for a name of nothing, with the nearest known names."""
    machines = [machine for space in known for machine in spaces.machines(space)]
    models = [model for machine in machines for model in machine.get("models", [])]
    names = list(dict.fromkeys([*(machine["id"] for machine in machines), *models]))
    by_word = {entry.lower(): entry for entry in names if not _ARM_CORE.fullmatch(entry)}
    near = get_close_matches(name.lower(), by_word, _NEAR, cutoff=0.5)
    if name and not near:
        near = [word for word in by_word if word.startswith(name.lower())][:_NEAR]
    listed = " or ".join(f"`{by_word[word]}`" for word in near)
    hint = f"{listed}, or " if listed else ""
    return GordonError(
        f"--reference: there is no machine or processor `{name}`",
        f"{hint}a number: the core_speed of the traced machine. `gordon spaces show ec2` lists "
        "machines",
        kind="unknown-name",
    )


def _shipped() -> Iterator[spaces.Space]:
    """The shipped spaces with machines."""
    loaded = (spaces.load(name) for name in spaces.names())
    return (space for space in loaded if spaces.machines(space))


def _unit(space: spaces.Space) -> str | None:
    """The machine whose `core_speed` is 1."""
    unit: str | None = space.get("reference", {}).get("machine")
    return unit


def _plain(name: str) -> str:
    """A processor's name without marks, case and repeated blanks."""
    return " ".join(_MARK.sub("", name).lower().split())


def _number(given: str | float) -> float | None:
    """A number; None for text that is none."""
    try:
        return float(given)
    except ValueError:
        return None
