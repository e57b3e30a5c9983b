"""The options of tables as options of click."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

import click

from gordon import own
from gordon.errors import GordonError
from gordon.options import completion, kinds
from gordon.options.table import Option, options
from gordon.untyped import Given

Decorator = Callable[[Any], Any]
#: Options that need no groups.
_FEW = 12
#: The headings of options without a group, and of the help.
_OPTIONS, _OTHER = "Options", "Other"
#: Groups before and behind the others.
_ORDER = {_OPTIONS: -1, "Output": 1, "Trace input": 2, _OTHER: 3}
#: The widest column of names.
_COLUMN = 30


def of(*tables: type[Any], only: Sequence[str] = (), without: Sequence[str] = ()) -> Decorator:
    """A decorator that gives a command the options of tables, in their order: all of them, `only`
    some, or all `without` some."""
    found = made(*tables, only=only, without=without)

    def decorate(command: Any) -> Any:
        for option in reversed(found):
            command = option(command)
        return command

    return decorate


def made(
    *tables: type[Any], only: Sequence[str] = (), without: Sequence[str] = ()
) -> list[Decorator]:
    """The options of tables as decorators, each for one option."""
    listed = [option for table in tables for option in options(table)]
    return [
        _decorator(option)
        for option in listed
        if option.name not in without and (not only or option.name in only)
    ]


def _decorator(option: Option) -> Decorator:
    text = option.help
    if isinstance(option.kind, kinds.Choice) and _is_long(option.kind):
        text += f" One of {', '.join(option.kind.names)}."
    if option.default is not None:
        text += f"  [default: {option.default}]"
    return click.option(
        *option.flags,
        option.name,
        cls=_Grouped,
        group=option.group,
        required=option.is_required,
        help=text,
        shell_complete=completion.of(option.name, option.kind),
        **how(option.kind),
    )


class _Grouped(click.Option):
    """An option with the heading that it has in a long help."""

    def __init__(self, *given: Any, group: str, **named: Any) -> None:
        super().__init__(*given, **named)
        self.group = group


class Command(click.Command):
    """A command whose options are in groups if they are many, those of its outputs and of the
    input of traces last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = self.groups(ctx)
        longest = max(len(term) for _, rows in groups for term, _ in rows)
        column = min(longest, _COLUMN)
        for title, ((term, text), *rows) in groups:
            with formatter.section(title):
                # The helps of all groups are in one column.
                formatter.write_dl([(term.ljust(column), text), *rows], _COLUMN)

    def groups(self, ctx: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
        """The options with their helps by the heading of their group, in order."""
        found: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                # Only --help is of no table.
                title = getattr(param, "group", _OTHER) or _OPTIONS
                found.setdefault(title, []).append(record)
        if sum(map(len, found.values())) > _FEW and len(found) > 2:
            return sorted(found.items(), key=lambda group: _ORDER.get(group[0], 0))
        return [(_OPTIONS, [record for rows in found.values() for record in rows])]


def how(kind: kinds.Kind | None) -> Given:
    """How click takes a value."""
    match kind:
        case None:
            return {"is_flag": True}
        case kinds.Text(metavar):
            return {"metavar": metavar}
        case kinds.Each(metavar):
            return {"metavar": metavar, "multiple": True}
        case kinds.Whole(least, metavar, most):
            return {"metavar": metavar, "type": _Whole(least, most)}
        case kinds.Amount(least, bits, metavar):
            return {"metavar": metavar, "type": _Amount(least, bits)}
        case kinds.Number(metavar, None):
            return {"metavar": metavar, "type": _Number()}
        case kinds.Number(metavar, lowest):
            return {"metavar": metavar, "type": _NumberFrom(lowest)}
        case kinds.Seconds(shortest, metavar):
            return {"metavar": metavar, "type": _Seconds(shortest)}
        case kinds.Nanoseconds(metavar):
            return {"metavar": metavar, "type": _Nanoseconds()}
        case kinds.Share(metavar, is_checked):
            return {"metavar": metavar, "type": _Fraction() if is_checked else _Share(0, 1)}
        case kinds.Ratio(metavar):
            return {"metavar": metavar, "type": _Ratio()}
        case kinds.Size(metavar):
            return {"metavar": metavar, "type": _Size()}
        case kinds.Day(metavar):
            return {"metavar": metavar, "type": click.DateTime(["%Y-%m-%d"])}
        case kinds.Choice(names, or_class):
            made = ChoiceOrClass(names) if or_class else Choice(names)
            return {"type": made, "metavar": "NAME"} if _is_long(kind) else {"type": made}
        case kinds.Words(metavar):
            return {"metavar": metavar, "type": _Words()}
        case kinds.Wholes(metavar, least):
            return {"metavar": metavar, "type": _Wholes(least)}
        case kinds.Folder(metavar, exists):
            folder = click.Path(exists=exists, file_okay=False, path_type=Path)
            return {"metavar": metavar, "type": folder}
        case kinds.DeviceNumber(metavar):
            return {"metavar": metavar, "type": _Device()}


def _is_long(kind: kinds.Choice) -> bool:
    """Whether the names are in the help and not in place of the value, so that 80 columns do."""
    return not kind.or_class and len("|".join(kind.names)) > 60


class Choice(click.Choice[str]):
    """One of several words. The error names the nearest one first."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        from difflib import get_close_matches

        near = get_close_matches(str(value), self.choices, 1)
        question = f" Did you mean {near[0]}?" if near else ""
        return super().get_invalid_choice_message(value, ctx) + question

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return f"Choose from: {', '.join(self.choices)}."


class ChoiceOrClass(Choice):
    """One of several words, or the place of a class."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self.choices)}|FILE.py:CLASS]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value) if own.is_place(value) else super().convert(value, param, ctx)


class _Whole(click.IntRange):
    """A whole number in a range, also as `1e8`, `100M`, `1.5k` or `10_000`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and not re.fullmatch(r"-[0-9]+", value):
            number = _whole(value)
            if number < 0:
                self.fail(f"{value!r} is not a whole number, as in 20000, 2e4 or 20k", param, ctx)
            value = number
        return super().convert(value, param, ctx)


class _Number(click.types.FloatParamType):
    """Finite; ranges let NaN pass."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class _NumberFrom(click.FloatRange, _Number):
    """A number with a lower bound."""


class _Fraction(_Number):
    """A number, or a percentage: 0.8 is 80%."""

    name = "fraction"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, str) and value.endswith("%"):
            return super().convert(value[:-1], param, ctx) / 100
        return super().convert(value, param, ctx)


class _Share(click.FloatRange, _Fraction):
    """From 0 to 1, or 0% to 100%."""

    name = "fraction"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, str) and re.fullmatch(r"[1-9][0-9]|100", value):
            self.fail(f"{value} is not in the range 0<=x<=1; per cent is {value}%", param, ctx)
        return super().convert(value, param, ctx)


class _Ratio(click.ParamType[Fraction]):
    name = "fraction"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        try:
            ratio = Fraction(value)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is not a fraction such as 1/8", param, ctx)
        if ratio <= 0:
            self.fail(f"{value} is not above 0", param, ctx)
        return ratio


class _Nanoseconds(click.ParamType[int]):
    """A time; a number without a unit is of seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from gordon import _core

        text = str(value)
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            text += "s"
        try:
            return _core.parse_ns(text)
        except GordonError as error:
            self.fail(error.message, param, ctx)


class _Seconds(click.ParamType[float]):
    name = "time"

    def __init__(self, least: float) -> None:
        self.least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        text = str(value)
        if text in ("0", "0s"):
            found = 0.0
        else:
            # Nobody gives metres; the core has `min`.
            text = f"{text}in" if text.endswith("m") else text
            found = _Nanoseconds().convert(text, param, ctx) / 1e9
        if found < self.least:
            self.fail(f"`{value}` is less than {self.least * 1e3:g}ms", param, ctx)
        return found


class _Size(click.ParamType[str]):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from gordon import _core

        try:
            _core.parse_bytes(str(value))
        except GordonError as error:
            self.fail(error.message, param, ctx)
        return str(value)


class _Amount(click.ParamType[int]):
    """A whole number, with an exponent or a prefix: `1e8`, `100M`, `1.5k`, `10_000`."""

    name = "number"

    def __init__(self, least: int, bits: int) -> None:
        self.least, self.bits = least, bits

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        number = _whole(str(value))
        if not self.least <= number < 1 << self.bits:
            self.fail(
                f"{value!r} is not a number from {self.least} to 2^{self.bits} - 1, as in 1e8, "
                "100M or 250k",
                param,
                ctx,
            )
        return number


_SCALES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def _whole(text: str) -> int:
    """The number that a text gives; -1 if it gives none."""
    match = re.fullmatch(r"([0-9][0-9_]*)(?:\.([0-9]+))?(?:[eE]\+?([0-9]{1,2})|([kMGT]?))", text)
    if match is None:
        return -1
    whole, part, power, prefix = match[1].replace("_", ""), match[2] or "", match[3], match[4]
    scale = int(10 ** int(power)) if power else _SCALES[prefix or ""]
    number, rest = divmod(int(whole + part) * scale, int(10 ** len(part)))
    return -1 if rest else number


class _Words(click.ParamType[tuple[str, ...]]):
    name = "words"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        return tuple(word.strip() for word in str(value).split(","))


class _Wholes(click.ParamType[tuple[int, ...]]):
    name = "numbers"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        try:
            found = tuple(int(word) for word in str(value).split(","))
        except ValueError:
            found = ()
        if not found or min(found) < self.least:
            self.fail(
                f"`{value}` is not a list of whole numbers from {self.least} on, separated by "
                "commas",
                param,
                ctx,
            )
        return found


class _Device(click.ParamType[int]):
    """The number of a trace's device, or `MAJOR,MINOR` as blkparse prints it, or `MAJOR:MINOR`."""

    name = "device"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d+)(?:[,:](\d+))?", str(value), re.ASCII)
        major, minor = (int(part or 0) for part in match.groups()) if match else (0, 0)
        if match and match[2] is None and major < 1 << 32:
            return major
        if match and match[2] is not None and major < 1 << 12 and minor < 1 << 20:
            return major << 20 | minor
        return self.fail(
            f"{value!r} is not a device. Give its number in the trace, or MAJOR,MINOR such as 8,3.",
            param,
            ctx,
        )
