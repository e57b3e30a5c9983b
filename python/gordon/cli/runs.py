"""The commands that run simulated devices, from their options to files and screen."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from gordon.cli import output
from gordon.cli.progress import Part
from gordon.cli.terminal import Output
from gordon.cli.trace_input import reading
from gordon.options import only_given
from gordon.options.loads import PATTERNS
from gordon.options.outputs import Tables
from gordon.runs import FILES
from gordon.untyped import Given

if TYPE_CHECKING:
    from gordon.results import Comparison, DeviceRun, Run


def run(
    simulate: "Callable[..., Run[DeviceRun]]",
    load: str,
    given: Given,
    view: "Callable[[Output, Any], None]",
) -> None:
    """Runs a trace or a pattern on a device, writes the requested files, and shows the result."""
    to, report = given.pop("to"), given.pop("report")
    files = [given[name] for name in FILES if name in given]
    used = [] if load in PATTERNS else [load]
    output.check(to=to, report=report, files=files, used=used)
    # A run may write its checkpoint over the one that it started from.
    started = [given.get("from_checkpoint"), given.get("diskspecs")]
    output.check(to=to, report=report, used=started)
    from gordon.results import CheckpointError

    unkept = None
    is_trace = load not in PATTERNS
    read = reading(load, given, objects=False) if is_trace else nullcontext()
    with read, Part("simulating") as progress:
        try:
            result = simulate(load, progress=progress.tick, **only_given(given))
        except CheckpointError as error:
            result, unkept = error.result, error
    _finish(result, to, report, view, files)
    if unkept is not None:
        raise unkept


def compare(
    simulate: "Callable[..., Comparison[Any]]",
    words: tuple[str, ...],
    given: Given,
    view: "Callable[[Output, Any], None]",
) -> None:
    """Runs a trace or a pattern on several devices; a trace comes before them where there is no
    pattern."""
    to, report, pattern = (given.pop(name) for name in ("to", "report", "pattern"))
    output.check(to=to, report=report, used=words)
    trace, devices = (words[0], words[1:]) if pattern is None else (None, words)
    read = nullcontext() if trace is None else reading(trace, given, objects=False)
    with read, Part("simulating") as progress:
        result = simulate(
            trace, devices, pattern=pattern, progress=progress.tick, **only_given(given)
        )
    _finish(result, to, report, view)


def _finish(
    result: "Run[DeviceRun] | Comparison[Any]",
    to: Tables,
    report: str | None,
    view: "Callable[[Output, Any], None]",
    written: Iterable[str | None] = (),
) -> None:
    output.finish(
        lambda console: view(console, result),
        [(report, result.html)],
        written=written,
        to=to,
        result=result,
    )
