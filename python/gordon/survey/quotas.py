"""Machines with a fraction of a core, such as containers: quotas.

The models have whole cores. As a traced node with a quota (docs/design/cluster.md), a machine with
`q` cores is taken as one with `ceil(q)` cores of `q / ceil(q)` of the speed. A lone thread has
`min(1, q)` of the speed of a lone thread.
"""

import re
import tomllib
from math import ceil, isfinite
from typing import Any

from gordon.errors import GordonError
from gordon.human import counted
from gordon.untyped import Config

Machine = Config

#: The cores of a machine, up to a number with a point or an exponent.
_CORES = re.compile(
    r"(?P<key>(?:^|[{,])[ \t]*cores[ \t]*=[ \t]*(?:\{[^}\n]*?\bvalue[ \t]*=[ \t]*)?)"
    r"(?P<number>[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf))",
    re.MULTILINE,
)


def without(text: str, origin: str) -> tuple[str, Config]:
    """The TOML text of a space with whole cores in place of fractions, for the core, which has no
    others; and the fields `cores` that were replaced, by machine. `origin` is the file in errors.

    Raises GordonError for cores that are not above zero, and for fractions that are not written as
    `cores = NUMBER` or `cores = { value = NUMBER, ... }`.
    """
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text, {}  # the core reports it
    machines = parsed.get("machines")
    found: Config = {}
    for machine in machines if isinstance(machines, list) else []:
        cores = _number(machine.get("cores")) if isinstance(machine, dict) else None
        if cores is None:
            continue
        id = str(machine.get("id"))
        _check(cores, f"{origin}: machine `{id}`")
        if isinstance(cores, float):
            found[id] = machine["cores"]
            machine["cores"] = _with(machine["cores"], ceil(cores))
    if not found:
        return text, {}
    whole = _CORES.sub(lambda m: m["key"] + _whole(m["number"]), text)
    if tomllib.loads(whole) != parsed:
        raise GordonError(
            f"{origin}: a fraction of a core in an unknown notation",
            "cores = 0.25, on a line of its own",
            kind="bad-cores",
        )
    return whole, found


def resolve(machines: list[Machine]) -> None:
    """Takes fractions of cores as whole cores of less speed, in place; the changed values and the
    summary say so. Raises GordonError for cores that are not above zero."""
    for machine in machines:
        cores = _number(machine["cores"])
        if not isinstance(cores, float):
            continue
        _check(cores, f"machine `{machine['id']}`")
        count = ceil(cores)
        if count == cores:
            machine["cores"] = _with(machine["cores"], count)
            continue
        why = f"{cores:g} cores are taken as {counted(count, 'core')} of {cores / count:.3g} of "
        why += "the speed"
        changed = {
            "cores": count,
            "core_speed": _scaled(machine["core_speed"], cores / count),
            "core_speed_single": _scaled(machine.get("core_speed_single"), min(1.0, cores)),
        }
        if (_number(machine.get("threads_per_core")) or 0) > count:
            changed["threads_per_core"] = count
        for key, number in changed.items():
            if number is not None:
                machine[key] = {"value": number, "assumed": _reason(machine[key], why)}
        machine["summary"] = "; ".join(filter(None, [machine.get("summary"), why]))


def _scaled(field: Any, share: float) -> float | None:
    """A speed times `share`; None for a speed that is not given."""
    speed = _number(field)
    return None if speed is None else speed * share


def _reason(field: Any, why: str) -> str:
    """Why a field is changed, with its number and its source."""
    given = field if isinstance(field, dict) else {"value": field}
    origin = given.get("source") or given.get("assumed")
    return f"{given['value']:g}{f' ({origin})' if origin else ''}; {why}"


def _check(cores: float, machine: str) -> None:
    if not (isfinite(cores) and cores > 0):
        raise GordonError(
            f"{machine}: cores: {cores:g} is not a number above zero",
            "a number of cores, or a fraction such as 0.25 for a quota",
            kind="bad-cores",
        )


def _whole(number: str) -> str:
    """The number of cores for a quota; a whole number as it is."""
    return number if re.fullmatch(r"[+-]?[\d_]+", number) else str(ceil(float(number)))


def _number(field: Any) -> int | float | None:
    """The number of a field, which may carry its source; None for another type, which the core
    reports."""
    number = field.get("value") if isinstance(field, dict) else field
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return number if is_number else None


def _with(field: Any, number: int) -> Any:
    """The field with another number."""
    return field | {"value": number} if isinstance(field, dict) else number
