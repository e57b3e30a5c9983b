"""Warnings as people read them: one line a cause, and what changes no next step last, in one line.

A result has each warning of each trace, as `PATH: text`. Warnings whose texts differ only in their
numbers, or in one name in backticks, have one cause. Their line names the traces, or counts them,
and has the range of each number.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gordon.human import counted

#: Names that a line lists, and traces; of more it has the number.
_NAMED, _TRACES = 3, 4
#: Characters of a list of traces, at most.
_LONGEST = 80
#: Facts that an input may lack: no figure depends on them.
_MINOR = ("no figures of one command", "no core frequency")
#: Numbers that stand alone, not those of names such as `m5.large`.
_NUMBER = re.compile(r"(?<![\w.,/`-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w`/]|[.,-]\w)")
_NAME = re.compile(r"`[^`]*`")
#: Stands for a name in backticks.
_HOLE = "\x00"


@dataclass
class Notices:
    """Warnings for people."""

    lines: list[str]
    """A line for each cause."""
    minor: list[str]
    """Warnings that change no next step."""

    def printed(self) -> list[str]:
        """The lines, with the minor ones folded into the last."""
        folded = "; ".join(line.removeprefix("no ") for line in self.minor)
        return [*self.lines, *([f"not in the input: {folded}"] if folded else [])]


def grouped(warnings: Iterable[str], traces: Sequence[str] = ()) -> Notices:
    """The warnings by cause, in the order of their first ones. `traces` are the paths with which
    warnings about one trace begin, `PATH: ` or, from the core, `PATH and 3 more: `."""
    causes: dict[tuple[bool, str], list[_About]] = {}
    for warning in dict.fromkeys(warnings):
        about = _split(warning, traces)
        cause = _NUMBER.sub("#", _NAME.sub(_HOLE, about.text))
        causes.setdefault((bool(about.trace), cause), []).append(about)
    major = [found for found in causes.values() if not found[0].text.startswith(_MINOR)]
    minor = [found for found in causes.values() if found[0].text.startswith(_MINOR)]
    return Notices(
        [_line(found, len(set(traces))) for found in major],
        # Whose input it is does not matter.
        list(dict.fromkeys(_merged(list(dict.fromkeys(a.text for a in found))) for found in minor)),
    )


class _About(NamedTuple):
    """A warning: its text, the first trace that it is about, if any, and the number of others."""

    trace: str
    others: int
    text: str


def _split(warning: str, traces: Sequence[str]) -> _About:
    for trace in sorted(traces, key=len, reverse=True):
        found = re.match(rf"{re.escape(trace)}(?: and (\d+) more)?: ", warning)
        if found:
            return _About(trace, int(found[1] or 0), warning[found.end() :])
    return _About("", 0, warning)


def _line(found: list[_About], of: int) -> str:
    """One line for warnings of one cause; `of` is the number of all traces."""
    text = _merged(list(dict.fromkeys(about.text for about in found)))
    traces = list(dict.fromkeys(about.trace for about in found if about.trace))
    others = sum(about.others for about in found)
    named = " and ".join([", ".join(traces[:-1]), *traces[-1:]][len(traces) == 1 :])
    is_short = len(traces) <= _TRACES and len(named) <= _LONGEST
    if not traces:
        return text
    if others == 0 and (len(traces) == 1 or is_short):
        return f"{named}: {text}"
    count = len(traces) + others
    return f"all {of} traces: {text}" if count == of else f"{count} of {of} traces: {text}"


def _merged(texts: list[str]) -> str:
    """One text for several that differ in numbers, or in names in backticks."""
    first = texts[0]
    if len(texts) == 1:
        return first
    columns = zip(*(_NUMBER.findall(_NAME.sub(_HOLE, text)) for text in texts), strict=True)
    ranges = iter([_range(column) for column in columns])
    names = iter(_NAME.findall(first))
    text = _NUMBER.sub(lambda _: next(ranges), _NAME.sub(_HOLE, first))
    text = re.sub(_HOLE, lambda _: next(names), text)
    others = list(dict.fromkeys(" and ".join(_NAME.findall(one)) for one in texts))[1:]
    if not others:
        return text
    more = counted(len(others) - _NAMED, "other")
    listed = ", ".join(others[:_NAMED]) + (f" and {more}" if len(others) > _NAMED else "")
    return f"{text} (also {listed})"


def _range(numbers: Sequence[str]) -> str:
    """Equal numbers as they are, others as `least to most`."""
    values = sorted(set(numbers), key=lambda text: float(text.replace(",", "")))
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
