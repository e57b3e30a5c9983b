"""Which meters there are, and the one that a name means."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path

from gordon._core import GordonError
from gordon.energy import battery, command, hwmon, ipmi, model, nvml, rapl, redfish, replay
from gordon.energy.meter import Candidate, Meter

ROOT = Path("/")

MODEL = model.Model.measures

#: Meters that a name alone does not describe.
SPELLED = {
    command.PREFIX: "command:CMD, which prints watts, a line a sample",
    redfish.PREFIX: "redfish:URL of a chassis' power",
    replay.PREFIX: "replay:FILE.csv, a log",
}


def candidates(root: Path = ROOT) -> list[Candidate]:
    """Each meter that could be here; from a tree of another root only what files tell."""
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
            found.append(Candidate(name, "", why=error.args[0]))
        except OSError as error:
            found.append(Candidate(name, "", why=f"{error.filename}: {error.strerror}"))
    return found


def usual(root: Path = ROOT) -> list[Meter]:
    """Where none is named: all that tell energy or power here and disturb nothing; else the
    model."""
    found = [c.meter for c in candidates(root) if c.meter is not None]
    real = [meter for meter in found if meter.quick and meter.how != "modelled"]
    return real or [meter for meter in found if meter.how == "modelled"]


def named(name: str, root: Path = ROOT) -> Meter:
    """The meter of a name; an error says what to do where it is not there."""
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
                raise GordonError(f"meter {name}: {candidate.why}", candidate.hint)
            return candidate.meter
    known = [candidate.name for candidate in found] + list(SPELLED)
    near = get_close_matches(name, known, 1)
    raise GordonError(f"no meter {name}", near[0] if near else "`gordon meter list`")


def chosen(names: Sequence[str], root: Path = ROOT) -> list[Meter]:
    """Those of the names, each once; or the usual ones."""
    if not names:
        meters = usual(root)
        if not meters:
            raise GordonError("no meter here, and no /proc for the model", "--meter command:CMD")
        return meters
    return [named(name, root) for name in dict.fromkeys(names)]
