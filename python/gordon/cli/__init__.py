"""The commands. Each command is one module, imported when it is called: `gordon --help` is quick.

Data goes to stdout, everything else to stderr. The exit status is 0 after success, 1 after a
failure, 2 after wrong usage, and 128 plus the number of the signal that ended the command: 130 for
Ctrl-C, and 141, as of SIGPIPE, if the reader of its output leaves, as `head` does. `gordon trace`
and `gordon meter record` exit with the status of their command.
"""

import atexit
import errno
import gc
import os
import select
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import Any, ClassVar, NoReturn

import click

from gordon.errors import GordonError
from gordon.options.command import Command

# At its end Python looks for garbage in all that was imported, in vain: a tenth of a short command.
atexit.register(gc.freeze)

#: The commands by group, with what they do. Each is in the module of its name.
GROUPS = {
    "Which machine": {
        "demo": "Survey a job that comes with gordon, in seconds.",
        "trace": "Trace a command while it runs, or show a trace.",
        "survey": "Predict a traced job on every machine of a space.",
        "explain": "Show where the time, energy and money of a surveyed design go.",
        "cost": "Compute what a job, or a petabyte of storage, costs in all.",
        "rack": "Add up a node, an enclosure and a rack; check limits.",
        "plan": "Plan jobs on slices of an array, with deadlines.",
        "workload": "Run jobs on Spark, traced on every node: list, data, run.",
    },
    "Devices and caches": {
        "flash": "Simulate a flash device: replay, bench, wa, compare.",
        "disk": "Simulate a hard disk: replay, bench, compare, fit.",
        "cache": "Replay a trace through a cache, or serve a site from one.",
        "storage": "Measure the bandwidth of storage, real or simulated.",
        "block": "Serve simulated flash, or a file as a disk, over NBD.",
        "compare": "Compare flash, disks and measured storage under one trace.",
        "sweep": "Run flash, disk or cache over many configurations.",
    },
    "Sorting and energy": {
        "sort": "Sort files larger than memory; generate and check records.",
        "meter": "Measure energy: list, watch, record.",
        "joulesort": "Measure records sorted per joule by the rules of JouleSort.",
    },
    "Tools": {
        "doctor": "Show what this machine can measure and run, and what to install.",
        "parts": "List the catalogue of parts, or show one part.",
        "spaces": "List the design spaces, or show one space.",
        "schema": "Print the JSON Schema of a kind of file.",
        "reproduce": (
            "Compare results with those of the papers: flashcache, gordon, joulesort, rewrite."
        ),
    },
}
COMMANDS = [name for group in GROUPS.values() for name in group]


#: Kinds of errors that are wrong usage, although they show only with the files that are named.
_OF_USAGE = ("wrong-model", "bad-nodes", "bad-shift")


#: SIGPIPE, which Windows does not have.
_SIGPIPE = 13
#: Signals that end a command; Windows has two of them.
_ENDING = [
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))
]


def _imported(place: str) -> click.Command:
    """A command by its place, `module:name`."""
    module, _, name = place.partition(":")
    command: click.Command = getattr(import_module(module), name)
    return command


class Suggesting(click.Group):
    """A group that knows the names of its commands before they are imported."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            names = self.list_commands(ctx)
            raise click.NoSuchCommand(error.command_name, possibilities=names, ctx=ctx) from None


class ReaderLeftError(Exception):
    """The reader of the output has left."""


def _has_left() -> bool:
    """Whether the reader of stdout or of stderr has left."""
    if not hasattr(select, "poll"):
        return True  # Windows does not say
    poll = select.poll()
    for output in (1, 2):
        poll.register(output, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


@contextmanager
def _reader() -> Iterator[None]:
    """Raises ReaderLeftError if the reader of the output leaves; click and rich would exit with
    1."""
    try:
        yield
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):
            raise ReaderLeftError from None
        raise
    except OSError as error:
        if error.errno == errno.EPIPE:
            if _has_left():
                raise ReaderLeftError from None
            error.errno = None  # another pipe or socket: click would exit without a message
        raise


class Lazy(Suggesting):
    """A group whose commands are imported when they are called."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        with _reader():  # help is printed here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _reader():
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        match args:
            case ["help", *command]:
                args = [*command, "--help"]
            case ["version"]:
                args = ["--version"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _imported(f"gordon.cli.{cmd_name}:{cmd_name}") if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                # Names have the same width in all groups.
                rows = [(name.ljust(longest), help) for name, help in commands.items()]
                formatter.write_dl(rows)


class Placed(Suggesting):
    """A group with commands that are imported when they are called."""

    places: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *self.places])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.places:
            return _imported(self.places[cmd_name])
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from gordon.cli.options import list_whole

        list_whole(self, ctx, formatter)


class WithDefault(Placed):
    """A group that is a command too: what is none of its commands is given to the default one."""

    default: str
    takes_words = False  # whether the default command's own words may come first

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {*self.list_commands(ctx), *ctx.help_option_names}
        if not args or (args[0] not in known and (self.takes_words or args[0].startswith("-"))):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        main = self.commands[self.default]
        pieces = " ".join(main.collect_usage_pieces(ctx))
        formatter.write_usage(ctx.command_path, pieces)
        for name, command in self._others(ctx).items():
            pieces = " ".join(command.collect_usage_pieces(ctx))
            formatter.write_usage(f"{ctx.command_path} {name}", pieces, "       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.commands[self.default].format_options(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, c.get_short_help_str(80)) for name, c in self._others(ctx).items()]
            )

    def _others(self, ctx: click.Context) -> dict[str, click.Command]:
        """All but the default one, in order, imported."""
        names = [name for name in (*self.commands, *self.places) if name != self.default]
        found = {name: self.get_command(ctx, name) for name in names}
        return {name: command for name, command in found.items() if command is not None}


def _version(ctx: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
        from gordon import __version__

        click.echo(f"gordon {__version__}")
        ctx.exit()


@click.group(
    cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
def gordon() -> None:
    """Trace a real job, predict it on other machines, see which one should run it.

    \b
    gordon trace -o sort.trace -- sort records.txt -o sorted.txt
    gordon survey sort.trace -o report.html
    """


class Ended(KeyboardInterrupt):
    """A signal asks the command to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def _end(number: int, _: FrameType | None) -> None:
    """Ends the command, which tidies up first; once more, and it ends at once."""
    signal.signal(number, signal.SIG_DFL)
    raise Ended(number)


def _end_by_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may take signals
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


def _encode_output() -> None:
    """Makes stdout and stderr write UTF-8 to pipes and files, as results are written, and `?` to a
    terminal for a character that it does not have."""
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, TextIOWrapper) or stream.encoding.lower().startswith("utf"):
            continue
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8")


def _end_at_once() -> None:
    """Lets signals end the process: all that is left to do is to print a message."""
    for number in _ENDING:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_DFL)


def _discard_output() -> None:
    """Leads stdout and stderr nowhere: their reader has left, and Python would complain once more
    when it flushes them at its end."""
    for file in (sys.stdout, sys.stderr):
        if file is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Runs a command and exits; a failure is one line and a hint on stderr, and the cause of the
    SystemExit."""
    failure: BaseException | None = None
    try:
        _end_by_signals()
        _encode_output()
        try:
            status = gordon.main(args, prog_name="gordon", standalone_mode=False)
        finally:
            _end_at_once()
        if sys.stdout is not None:
            with _reader():
                sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        status = error.exit_code
    except click.ClickException as error:
        say(error.format_message(), _help_of(getattr(error, "ctx", None)))
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort) as error:
        by = error.__cause__ if isinstance(error, click.Abort) else error
        status = 128 + getattr(by, "number", signal.SIGINT)
    except ReaderLeftError:
        _discard_output()
        status = 128 + _SIGPIPE
    except BaseException as error:
        # A panic of the core is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if os.environ.get("GORDON_DEBUG"):
            raise
        say(*_message_and_hint(error))
        status, failure = 2 if getattr(error, "kind", "") in _OF_USAGE else 1, error
    raise SystemExit(status if isinstance(status, int) else 0) from failure


def say(what: str, hint: str = "", kind: str = "error") -> None:
    """Prints one message, and its hint if any, on stderr."""
    note(f"{kind}: {what}" + (f"\n  try: {hint}" if hint else ""))


def note(text: str) -> None:
    """Prints a text on stderr; a terminal gets lines that fit."""
    from gordon.cli.terminal import messages

    line_width = messages().line_width
    click.echo(text if line_width is None else _folded(text, line_width), err=True)


def _folded(text: str, line_width: int) -> str:
    """The text, with lines folded at words. What is folded is indented by two more blanks; a word
    longer than a line is not broken."""
    from textwrap import TextWrapper

    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        folds = TextWrapper(
            width=line_width,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += folds.wrap(line.lstrip()) or [""]
    return "\n".join(lines)


def warn(warnings: Sequence[str], traces: Sequence[str] = ()) -> None:
    """Prints a line for each cause of warnings (`gordon.notices`)."""
    from gordon import notices

    warn_each(notices.grouped(warnings, traces).printed())


def warn_each(warnings: Iterable[str], about: str = "") -> None:
    """Prints a line for each warning, behind the name of what they are about, if any."""
    for warning in warnings:
        say(f"{about}: {warning}" if about else warning, kind="warning")


def _help_of(context: click.Context | None) -> str:
    """Where the usage is explained; a default command's is with its group."""
    if context is None:
        return ""
    group = context.parent
    if (
        group
        and isinstance(group.command, WithDefault)
        and group.command.default == context.info_name
    ):
        context = group
    return f"{context.command_path} --help"


def _message_and_hint(error: BaseException) -> tuple[str, str]:
    if isinstance(error, GordonError):
        return error.message, error.hint
    if isinstance(error, ImportError) and "_core" in str(error):
        if str(error).startswith("cannot import name"):
            return (
                "the Rust core of gordon is not built",
                "`make build`, or `pip install .`, in the source folder",
            )
        return (
            f"the Rust core of gordon cannot be loaded: {error}",
            "install gordon-storage again, for this system and this version of Python",
        )
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'gordon'}: {error.strerror}", ""
    return (
        f"a defect of gordon: {type(error).__name__}: {error}",
        "GORDON_DEBUG=1 to get a traceback, and report it",
    )
