"""`--set KEY=VALUE`: a value of the space or of a part, changed for one run.

Keys: `budget`, `node.memory`, `baseline.cpus`, ... of a grid of designs; `machines.ID.KEY...` of a
machine, as in `machines.m5.xlarge.price_per_hour=0.2`; `KIND.PART.KEY...` of a part, as in
`cpu.atom.ipc=0.6` or `disk.sata-7200-1tb.power.idle=5W`; `ownership.years` and
`ownership.hours_per_year` of machines that are bought.
"""

from collections.abc import Sequence

from gordon.errors import GordonError
from gordon.options.schemas import paths
from gordon.parts import KINDS, STORAGE, Catalogue, unknown
from gordon.settings import change, not_a_value, split
from gordon.survey import quotas
from gordon.untyped import Config

_GRID_KEYS = ("budget", "node", "baseline")
#: Settings of an application of Spark, which the tasks model has.
APPLICATION = ("executor.cores", "executor.memory", "output.replicas", "driver.speed")
_MACHINES = "machines"
_OWNERSHIP = "ownership"
#: Kinds of the parts of machines.
_OF_MACHINES = (*STORAGE, "supply")


def apply(settings: list[str], space: Config, parts: Catalogue) -> None:
    """Changes a grid of designs and its parts in place; the core checks the values."""
    for setting in settings:
        key, text = split(setting, "cpu.atom.ipc=0.6")
        head = key.partition(".")[0]
        if head in KINDS:
            _change_part(key, text, parts)
        elif head in _GRID_KEYS:
            change("space", space, key, text)
        elif head == _MACHINES:
            raise GordonError(
                f"--set {key}: `{head}` are left out, and a grid of designs is surveyed",
                "--model job, with a space that lists machines",
                kind="no-machines",
            )
        elif key in APPLICATION:
            raise _of_application(key)
        else:
            raise _in(key, _unknown(key, [*_GRID_KEYS, *KINDS]))


def apply_to_machines(
    settings: list[str], space: Config, parts: Catalogue, *, of_application: bool = False
) -> None:
    """Changes machines of a space and their storage parts in place. `of_application`: the model has
    the settings of an application too, which are not among these."""
    machines = {machine["id"]: machine for machine in space[_MACHINES]}
    for setting in settings:
        key, text = split(setting, "machines.ID.price_per_hour=0.2")
        head, _, rest = key.partition(".")
        if head == _MACHINES:
            id = _name(key, rest, "machine", list(machines), paths("space", _MACHINES))
            path = rest[len(id) + 1 :]
            change("space", machines[id], path, text, key, _MACHINES, quotas.resolve)
        elif head == _OWNERSHIP:
            change("space", space, key, text)
        elif head in _OF_MACHINES:
            _change_part(key, text, parts)
        elif head in (*_GRID_KEYS, *KINDS):
            raise GordonError(
                f"--set {key}: `{head}` belongs to a grid of designs, and machines are surveyed",
                "--set machines.ID.KEY=VALUE",
                kind="no-grid",
            )
        elif key in APPLICATION:
            raise _of_application(key)
        else:
            own = APPLICATION if of_application else ()
            raise _in(key, _unknown(key, [_MACHINES, _OWNERSHIP, *_OF_MACHINES], own))


def _of_application(key: str) -> GordonError:
    """The error for a setting of an application in another model."""
    return GordonError(
        f"--set {key}: the tasks model alone has executors, a driver and copies of output",
        "--model tasks, with machines, and an event log of Spark or a run that has one",
        kind="no-application",
    )


def _unknown(key: str, tables: list[str], keys: Sequence[str] = ()) -> GordonError:
    """The error for a key that is none of these keys, nor in one of these tables."""
    near = unknown("setting", key, list(keys))
    if keys and not near.hint.startswith("one of"):
        return near
    return unknown("setting", key.partition(".")[0], [*keys, *tables])


def _change_part(key: str, text: str, parts: Catalogue) -> None:
    kind, _, rest = key.partition(".")
    name = _name(key, rest, f"{kind} part", parts.names(kind), paths(kind))
    change(kind, parts.get(kind, name), rest[len(name) + 1 :], text, key)


def _name(key: str, rest: str, what: str, known: list[str], below: list[str]) -> str:
    """The known name at the beginning of `rest`; `below` are the paths that may follow a name."""
    if not rest:
        raise not_a_value(key, key)
    # Names may hold dots: the longest that fits is meant.
    for name in sorted(known, key=len, reverse=True):
        if rest == name:
            raise not_a_value(key, name)
        if rest.startswith(name + "."):
            return name
    ends = [path for path in below if rest.endswith("." + path)]
    end = max(ends, key=len, default=rest.rpartition(".")[2])
    raise _in(key, unknown(what, rest.removesuffix(end).rstrip(".") or rest, known))


def _in(key: str, error: GordonError) -> GordonError:
    """The error, with the key that it is about."""
    return GordonError(f"--set {key}: {error.message}", error.hint, kind=error.kind)
