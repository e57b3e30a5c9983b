"""Tables of options: each field has its kind and its help, and the functions have its defaults."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest

import gordon.cost
import gordon.energy
import gordon.flash
import gordon.options
import gordon.survey
from gordon.cli import gordon as gordon_command
from gordon.options import command, kinds
from gordon.options.costs import PetabyteOptions
from gordon.options.devices import Amplification
from gordon.options.loads import Host
from gordon.options.meters import MeteredRuns, Metering, Rest, Root
from gordon.options.outputs import FlashTables
from gordon.options.sorting import Generated
from gordon.options.surveys import SurveyOptions
from gordon.options.table import Option, options

_FOLDER = Path(gordon.options.__file__).parent
MODULES = sorted(
    path.stem
    for path in _FOLDER.glob("*.py")
    if path.stem not in ("__init__", "kinds", "table", "command")
)


def tables() -> list[type[Any]]:
    """All tables of options."""
    found: list[type[Any]] = []
    for name in MODULES:
        module = import_module(f"gordon.options.{name}")
        own = (
            one
            for one in vars(module).values()
            if getattr(one, "__module__", "") == module.__name__
        )
        found += [one for one in own if isinstance(one, type) and is_dataclass(one)]
    return found


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.__name__)
def test_every_option_has_a_kind_and_a_help(table: type[Any]) -> None:
    listed = list(options(table))
    assert [option.name for option in listed] == [field.name for field in fields(table)]
    for option in listed:
        assert option.help[0].isupper() or ":" in option.help, option
        assert option.help.endswith("."), option
        hint = get_type_hints(table)[option.name]
        assert (option.kind is None) == (hint is bool), option


def test_no_help_is_written_twice() -> None:
    """A field that a table inherits is written once. The same option may have another default."""
    written: Counter[tuple[str, str | None]] = Counter()
    for table in tables():
        own = inspect.get_annotations(table)
        written.update(
            (option.help, option.default) for option in options(table) if option.name in own
        )
    assert [help for help, count in written.items() if count > 1] == []


def of_commands(command: click.Command, context: click.Context) -> Iterator[click.Option]:
    """The options of a command and of the commands in it."""
    yield from (one for one in command.params if isinstance(one, click.Option))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from of_commands(inner, context)


def every(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """The commands that are no groups, with their names."""
    if not isinstance(command, click.Group):
        yield context.command_path, command
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from every(inner, click.Context(inner, info_name=name, parent=context))


def test_every_option_of_a_command_is_of_a_table() -> None:
    known = {option.help for table in tables() for option in options(table)}
    shown = [
        option
        for option in of_commands(gordon_command, click.Context(gordon_command))
        if not option.hidden and option.name != "version"
    ]
    assert len(shown) > 300
    for option in shown:
        assert option.help is not None
        # A long list of names is in the help, and not in the table.
        text = option.help.partition("  [default: ")[0].partition(" One of ")[0]
        assert text in known, option.opts


@pytest.mark.parametrize(
    ("function", "own", "of_tables"),
    [
        (gordon.flash.wa, {"progress"}, [Amplification]),
        (gordon.survey.run, {"traces", "progress"}, [SurveyOptions]),
        (gordon.cost.petabyte, set(), [PetabyteOptions]),
        (
            gordon.energy.record,
            {"command", "stdout", "notify"},
            [Metering, Rest, MeteredRuns, Root],
        ),
    ],
)
def test_a_function_has_the_keywords_and_defaults_of_its_tables(
    function: Callable[..., Any], own: set[str], of_tables: list[type[Any]]
) -> None:
    parameters = inspect.signature(function).parameters
    listed = [field for table in of_tables for field in fields(table)]
    for field in listed:
        assert parameters[field.name].default == field.default, field.name
    assert set(parameters) - own == {field.name for field in listed}


def of(kind: kinds.Kind, text: str) -> Any:
    """The value that a command gets of a text."""

    @click.command()
    @click.option("--value", **command.how(kind))
    @click.pass_context
    def read(ctx: click.Context, value: Any) -> None:
        ctx.obj.append(value)

    found: list[Any] = []
    read.main(["--value", text], standalone_mode=False, obj=found)
    return found[0]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (kinds.SHARE, "80%", 0.8),
        (kinds.SHARE, "0.8", 0.8),
        (kinds.COUNT, "3", 3),
        (kinds.COUNT, "1e3", 1000),
        (kinds.COUNT, "10k", 10_000),
        (kinds.Whole(0), "0", 0),
        (kinds.Amount(1), "1.5k", 1500),
        (kinds.Amount(1), "1e8", 10**8),
        (kinds.Number("X", 0.5), "0.5", 0.5),
        (kinds.Whole(1, most=3), "3", 3),
        (kinds.Seconds(), "10min", 600.0),
        (kinds.Seconds(), "10m", 600.0),
        (kinds.Seconds(), "10ms", 0.01),
        (kinds.Seconds(), "10", 10.0),
        (kinds.Nanoseconds(), "1s", 10**9),
        (kinds.Nanoseconds(), "0.5", 5 * 10**8),
        (kinds.Ratio(), "1/8", Fraction(1, 8)),
        (kinds.Size(), "2GiB", "2GiB"),
        (kinds.Day(), "2026-08-03", datetime(2026, 8, 3)),
        (kinds.Seconds(), "0", 0.0),
        (kinds.Words("W,W"), "a, b", ("a", "b")),
        (kinds.Wholes(), "1,32", (1, 32)),
        (kinds.DeviceNumber(), "8,3", 8 << 20 | 3),
        (kinds.SETTING, "a=b", ("a=b",)),
    ],
)
def test_a_text_becomes_a_value(kind: kinds.Kind, text: str, value: Any) -> None:
    assert of(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        (kinds.SHARE, "120%", "not in the range"),
        (kinds.SHARE, "nan", "not a finite number"),
        (kinds.NUMBER, "inf", "not a finite number"),
        (kinds.SHARE, "80", "80%"),
        (kinds.COUNT, "0", "not in the range"),
        (kinds.COUNT, "-5", "not in the range"),
        (kinds.COUNT, "1,000", "not a whole number"),
        (kinds.COUNT, "1.5", "not a whole number"),
        (kinds.COUNT, "1e-3", "not a whole number"),
        (kinds.COUNT, "", "not a whole number"),
        (kinds.Amount(1), "0.5", "not a number from 1"),
        (kinds.Amount(1), "1e30", "not a number from 1"),
        (kinds.Number("X", 0.5), "0.4", "not in the range"),
        (kinds.Number("X", 0.5), "nan", "not a finite number"),
        (kinds.Whole(1, most=3), "4", "not in the range"),
        (kinds.Seconds(), "soon", "soon"),
        (kinds.Seconds(), "-1", "-1"),
        (kinds.Seconds(0.01), "0s", "less than 10ms"),
        (kinds.Nanoseconds(), "soon", "soon"),
        (kinds.Ratio(), "1/0", "not a fraction"),
        (kinds.Ratio(), "0", "not above 0"),
        (kinds.Size(), "much", "much"),
        (kinds.Wholes(), "1,x", "whole numbers from 1 on"),
        (kinds.Wholes(), "0", "whole numbers from 1 on"),
        (kinds.DeviceNumber(), "8,3,1", "not a device"),
        (kinds.Choice(("a", "b")), "c", "'c' is not one of"),
    ],
)
def test_a_text_that_is_none_is_refused(kind: kinds.Kind, text: str, why: str) -> None:
    with pytest.raises(click.UsageError, match=why):
        of(kind, text)


def test_a_default_in_words_is_not_part_of_the_help() -> None:
    depth = next(one for one in options(Host) if one.name == "queue_depth")
    assert depth == Option(
        name="queue_depth",
        flags=("--queue-depth",),
        kind=kinds.COUNT,
        help="Maximum number of requests outstanding at the device.",
        default="32 in a closed loop, 1 with gaps, no limit for arrivals",
        is_required=False,
        group="Load",
    )
    seed = next(one for one in options(Host) if one.name == "seed")
    assert seed.default == "1"


def test_fields_without_a_default_are_required() -> None:
    required = [one.name for one in options(Generated) if one.is_required]
    assert required == ["records", "outputs"]
    assert required == [field.name for field in fields(Generated) if field.default is MISSING]


def headings(help: str) -> list[str]:
    """The headings of a help, in order."""
    return re.findall(r"^([A-Z][^:\n]*):$", help, re.MULTILINE)


def test_many_options_are_in_groups_with_the_input_of_traces_last() -> None:
    seen = 0
    for path, one in every(gordon_command, click.Context(gordon_command)):
        many = [option for option in one.params if isinstance(option, click.Option)]
        context = click.Context(one, info_name=path, help_option_names=["-h", "--help"])
        text = one.get_help(context)
        shown = [title for title in headings(text) if title != "Commands"]
        if len(many) < 12:  # and the help
            assert shown in ([], ["Options"]), path
            continue
        seen += 1
        assert len(shown) > 2, path
        assert shown[-1] == "Other", path
        last = [title for title in shown if title in ("Output", "Trace input")]
        assert shown[-1 - len(last) : -1] == last == sorted(last), path
        for option in many:
            flag = rf"^  (?:-., )?{re.escape(option.opts[0])}(?=[, \n])"
            assert option.hidden or len(re.findall(flag, text, re.MULTILINE)) == 1, path
    assert seen > 15


def test_a_group_of_a_field_or_of_the_overridden_field_goes_before_that_of_its_table() -> None:
    groups = {one.name: one.group for one in options(SurveyOptions)}
    assert (groups["space"], groups["years"]) == ("", "Use of machines")
    assert (groups["rows"], groups["engine"]) == ("Output", "Computation")
    assert {one.group for one in options(FlashTables)} == {"Output"}
