"""Finds the meters of a machine, and the meter of a name."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path

from gordon.energy import battery, command, hwmon, ipmi, model, nvml, rapl, redfish, replay
from gordon.energy.meter import Candidate, Meter
from gordon.errors import GordonError
from gordon.options.meters import Root

ROOT = Root.root

MODEL = model.Model.measures

#: Meters that a name alone does not describe.
SPELLED = {
    command.PREFIX: "command:CMD, a program that prints one sample in watts per line",
    redfish.PREFIX: "redfish:URL, the power resource of a chassis",
    replay.PREFIX: "replay:FILE.csv, a log of `gordon meter record`",
}


def candidates(root: Path = ROOT) -> list[Candidate]:
    """All meters that a machine may have. With another `root`, only meters that are read from
    files."""
    kinds: list[tuple[str, Callable[[], list[Candidate]]]] = [
        (rapl.PACKAGES, lambda: rapl.find(root)),
        (hwmon.AMD, lambda: hwmon.find(root)),
        (battery.NAME, lambda: battery.find(root)),
        (model.NAME, lambda: [Candidate(model.NAME, MODEL, model.Model("", root))]),
    ]
    if root == ROOT:
        kinds[3:3] = [(nvml.NAME, nvml.find), (ipmi.NAME, ipmi.find)]
    found = []
    for name, look in kinds:
        try:
            found += look()
        except GordonError as error:
            found.append(Candidate(name, "", why=error.message))
        except OSError as error:
            found.append(Candidate(name, "", why=f"{error.filename}: {error.strerror}"))
    return found


def usual(root: Path = ROOT) -> list[Meter]:
    """The meters used by default: all that are quick to read and not modelled; if there are none,
    the model."""
    found = [c.meter for c in candidates(root) if c.meter is not None]
    real = [meter for meter in found if meter.quick and meter.how != "modelled"]
    return real or [meter for meter in found if meter.how == "modelled"]


def named(name: str, root: Path = ROOT) -> Meter:
    """The meter of a name, as `gordon meter list` prints it. Raises GordonError if the machine does
    not have it."""
    kind, colon, rest = name.partition(":")
    match kind + colon:
        case command.PREFIX:
            return command.Command(rest)
        case redfish.PREFIX:
            return redfish.Redfish(rest)
        case replay.PREFIX:
            return replay.opened(rest)
        case "model:":
            return model.Model(rest, root)
    found = candidates(root)
    for candidate in found:
        if candidate.name == name:
            if candidate.meter is None:
                raise GordonError(f"meter {name}: {candidate.why}", candidate.hint, "no-meter")
            return candidate.meter
    known = [candidate.name for candidate in found] + list(SPELLED)
    near = get_close_matches(name, known, 1)
    hint = near[0] if near else "one of `gordon meter list`"
    raise GordonError(f"there is no meter {name}", hint, "unknown-name")


def chosen(names: Sequence[str], root: Path = ROOT) -> list[Meter]:
    """The meters of these names, each once; without names, the default meters. Raises GordonError
    if there is no such meter."""
    if not names:
        meters = usual(root)
        if not meters:
            raise GordonError(
                "this machine has no meter, and no /proc for the model",
                "--meter command:CMD with a program that prints watts",
                kind="no-meter",
            )
        return meters
    return [named(name, root) for name in dict.fromkeys(names)]
