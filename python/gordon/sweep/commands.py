"""The commands that can be swept. The keys of a sweep are the options of the command, under the
names of the command line, and the values of its device, as `--set` takes them: each has one
definition, with its checks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import click

from gordon import settings
from gordon.errors import GordonError
from gordon.options import command, only_given, schemas
from gordon.options.caches import (
    Cache,
    DramPolicy,
    FlashCacheDesign,
    Objects,
    TieredOptions,
    Tiers,
    Warmup,
)
from gordon.options.command import Decorator
from gordon.options.devices import (
    Amplification,
    Array,
    Checkpoints,
    DiskDevice,
    DiskPreset,
    FlashDevice,
    FlashPreset,
    Responses,
)
from gordon.options.loads import BenchLoad, Host, Pattern, TraceLoad
from gordon.parts import unknown
from gordon.untyped import Given

Values = Given
"""Values by key: numbers, texts, truth values, and lists for options that may be repeated."""

#: Options that write files of one run, by the names of their parameters.
FILES = ("requests_out", "responses_out", "checkpoint")
#: Options of the outputs of one run.
OF_OUTPUTS = ("json", "report", "parquet")
#: Keys whose values are files or folders.
INPUTS = ("trace", "diskspecs", "from_checkpoint")
#: Keys whose values are names, or files.
NAMES_OR_FILES = ("preset", "backend")
#: A list in place of a text with commas.
WITH_COMMAS = ("weights",)


@dataclass(frozen=True)
class Command:
    """A command that can be swept."""

    name: str
    load: Decorator
    """The argument or option of its load."""
    tables: tuple[type[Any], ...]
    """Its options."""
    kind: str | None
    """Schema of the device whose values are keys. None: there are none."""
    simulate: Callable[[Values, list[str]], Mapping[str, Any]]
    """Runs it with the parameters of the click command and settings `KEY=VALUE` of the device."""
    objectives: tuple[str, ...]
    """Objectives of a sweep that names none."""
    without: tuple[str, ...] = ()
    """Options of the tables that it does not have."""

    @cached_property
    def command(self) -> click.Command:
        """A command of click with these options."""

        def nothing(**_: Any) -> None:
            """The options are parsed, and not used here."""

        made: click.Command = click.command(self.name)(
            self.load(command.of(*self.tables, without=self.without)(nothing))
        )
        return made

    @cached_property
    def options(self) -> dict[str, click.Parameter]:
        """The options by key, without those that a sweep sets or that write files."""
        return {key(one): one for one in self.command.params if one.name not in (*FILES, "set")}

    @cached_property
    def device_keys(self) -> list[str]:
        return [] if self.kind is None else schemas.paths(self.kind)

    def check_key(self, name: str) -> None:
        """Raises GordonError for a key that is neither an option nor a value of the device."""
        if name in self.options or name in self.device_keys:
            return
        files = [key(one) for one in self.command.params if one.name in FILES]
        if name in (*files, *OF_OUTPUTS):
            raise GordonError(
                f"{name}: each configuration would write the same file",
                "the options of gordon sweep write the results of all configurations",
                kind="file-of-one-run",
            )
        tables = {known.rpartition(".")[0] for known in self.device_keys}
        if self.kind is not None and name in tables:
            within = [known for known in self.device_keys if known.startswith(f"{name}.")]
            raise GordonError(
                f"{name} is a table, not a value",
                f"one of its keys, such as {within[0]}",
                kind="not-a-value",
            )
        raise self._unknown(name)

    def _unknown(self, name: str) -> GordonError:
        leaf = name.rpartition(".")[2]
        full = [f"`{known}`" for known in self.device_keys if known.rpartition(".")[2] == leaf]
        error = unknown("key", name, [*self.options, *self.device_keys])
        hint = " or ".join(full) or error.hint
        if hint.startswith("one of "):
            keys = f", and `gordon schema {self.kind}` the keys of its device" if self.kind else ""
            hint = f"`gordon {self.name} --help` lists the options{keys}"
        return GordonError(f"there is no key `{name}` of gordon {self.name}", hint, kind=error.kind)

    def parse(self, values: Values) -> tuple[Values, list[str]]:
        """The parameters of the click command and the settings of the device. Raises GordonError
        for a value that the command line refuses too."""
        words: list[str] = []
        last: list[str] = []
        changes: list[str] = []
        for name, value in values.items():
            option = self.options.get(name)
            if option is None:
                changes.append(f"{name}={_text(value)}")
            elif isinstance(option, click.Argument):
                last.append(_text(value))
            else:
                words += _words(name, option, value)
        if self.kind is not None:
            for change in changes:
                path, _, text = change.partition("=")
                settings.change(self.kind, {}, path, text)
        try:
            context = self.command.make_context(self.name, [*words, "--", *last])
        except click.UsageError as error:
            # The usage of an option has its dashes, and a sweep has none.
            raise GordonError(
                " ".join(error.format_message().split()),
                f"gordon {self.name} --help",
                kind="bad-value",
            ) from None
        return dict(context.params), changes


def key(parameter: click.Parameter) -> str:
    """The name of an option, or of an argument, in a sweep."""
    return max(parameter.opts, key=len).lstrip("-").replace("-", "_")


def _words(name: str, option: click.Parameter, value: Any) -> list[str]:
    """An option with its value, as on the command line."""
    long = f"--{name.replace('_', '-')}"
    if getattr(option, "is_flag", False):
        if not isinstance(value, bool):
            raise _bad(name, value, "true or false")
        return [long] if value else []
    if isinstance(value, bool):
        raise _bad(name, value, "a number or a text")
    if getattr(option, "multiple", False):
        return [f"{long}={_text(one)}" for one in (value if isinstance(value, list) else [value])]
    if isinstance(value, list) and name not in WITH_COMMAS:
        raise _bad(name, value, f"one value, or several in [ranges]: {name} = {value}")
    return [f"{long}={_text(value)}"]


def _bad(name: str, value: Any, hint: str) -> GordonError:
    return GordonError(f"{name}: {value!r} is not a value of it", hint, kind="bad-value")


def _text(value: Any) -> str:
    """A value as on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return str(value)


def _of_device(module: str, function: str) -> Callable[[Values, list[str]], Mapping[str, Any]]:
    """A replay or a pattern on a simulated device."""

    def simulate(given: Values, changes: list[str]) -> Mapping[str, Any]:
        chosen = only_given(given)
        load = chosen.pop("trace" if function == "replay" else "pattern")
        run = getattr(import_module(module), function)
        report: Mapping[str, Any] = run(load, set=changes, **chosen).report
        return report

    return simulate


def _wa(given: Values, _: list[str]) -> Mapping[str, Any]:
    from gordon import flash

    return flash.wa(**only_given(given))


def _cache(given: Values, changes: list[str]) -> Mapping[str, Any]:
    from gordon import cache
    from gordon.cache.flashcache import NAME, refused

    chosen = only_given(given) | ({"set": changes} if changes else {})
    if chosen.get("policy") != NAME:
        chosen = refused(chosen, f'policy = "{NAME}"')
    found: Mapping[str, Any] = cache.replay(chosen.pop("trace"), **chosen)
    return found


def _tiered(given: Values, _: list[str]) -> Mapping[str, Any]:
    from gordon.cache import tiered

    chosen = only_given(given)
    return tiered.replay(chosen.pop("trace"), **chosen)


_DEVICE = ("bandwidth_mb_s:max", "energy_j:min")
_FLASH = (*_DEVICE, "write_amplification:min", "endurance_used:min")
_TRACE = click.argument("trace")


def _none(made: Any) -> Any:
    """No load: the command makes its own."""
    return made


def _commands() -> list[Command]:
    flash = (FlashPreset, FlashDevice)
    disk = (DiskPreset, DiskDevice, Array)
    objects = (Objects, TraceLoad)
    pattern = command.of(Pattern)
    return [
        Command(
            "flash replay",
            _TRACE,
            (*flash, TraceLoad, Host, Checkpoints),
            "flash",
            _of_device("gordon.flash", "replay"),
            _FLASH,
        ),
        Command(
            "flash bench",
            pattern,
            (BenchLoad, *flash, Host, Checkpoints),
            "flash",
            _of_device("gordon.flash", "bench"),
            _FLASH,
            ("queue_by",),
        ),
        Command("flash wa", _none, (Amplification,), None, _wa, ("write_amplification:min",)),
        Command(
            "disk replay",
            _TRACE,
            (TraceLoad, *disk, Host, Responses),
            "disk",
            _of_device("gordon.disk", "replay"),
            _DEVICE,
        ),
        Command(
            "disk bench",
            pattern,
            (BenchLoad, *disk, Host, Responses),
            "disk",
            _of_device("gordon.disk", "bench"),
            _DEVICE,
            ("order", "queue_by"),
        ),
        Command(
            "cache replay",
            _TRACE,
            (Cache, DramPolicy, Warmup, FlashCacheDesign, *objects),
            "flashcache",
            _cache,
            ("miss_ratio:min",),
            ("repeat",),
        ),
        Command(
            "cache tiered",
            _TRACE,
            (Tiers, TieredOptions, *objects),
            None,
            _tiered,
            ("miss_ratio:min", "write_amplification:min"),
            ("repeat",),
        ),
    ]


COMMANDS = {one.name: one for one in _commands()}


def find(name: str) -> Command:
    """The command of a sweep. Raises GordonError."""
    if name not in COMMANDS:
        raise unknown("command to sweep", name.removeprefix("gordon "), list(COMMANDS))
    return COMMANDS[name]
