#!/usr/bin/env python3
"""Writes the manual pages, of what `--help` says: gordon(1), and a page for each of its commands.

man.py           write them into man/data/share/man/man1, which the wheel carries
man.py --check   fail if they are not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from gordon.cli import GROUPS, gordon
from gordon.options.command import Command

FOLDER = Path(__file__).resolve().parents[2] / "man/data/share/man/man1"


def plain(text: str) -> str:
    """A text whose characters mean themselves."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in text.split("\n"))


def described(command: click.Command) -> Iterator[str]:
    """The paragraphs of a command's help; those behind \\b keep their lines."""
    # Docstrings are indented until Python 3.13.
    for part in cleandoc(command.help or "").replace("\f", "").split("\n\n"):
        if part.startswith("\b"):
            yield f".nf\n{plain(part.removeprefix(chr(8)).strip(chr(10)))}\n.fi"
        else:
            yield plain(" ".join(part.split()))


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """The options, each with its help, under the headings of their groups if there are several."""
    if not isinstance(command, Command):
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and record[1]:
                yield described_option(*record)
        return
    groups = command.groups(context)
    for title, records in groups:
        if len(groups) > 1:
            yield f".PP\n.I {plain(title)}"
        for record in records:
            yield described_option(*record)


def described_option(names: str, text: str) -> str:
    """An option with its help."""
    return f".TP\n.B {plain(names)}\n{plain(' '.join(text.split()))}"


def sections(command: click.Command, context: click.Context, level: str) -> Iterator[str]:
    """A command and those below it, each with its usage, text and options."""
    usage = " ".join(command.collect_usage_pieces(context))
    yield f'.{level} "{plain(context.command_path)}"'
    yield f".B {plain(context.command_path)}\n{plain(usage)}\n.PP"
    yield "\n.PP\n".join(described(command))
    yield from options(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                inner = click.Context(found, parent=context, info_name=name)
                yield from sections(found, inner, "SH")


def titled(name: str, summary: str, body: Iterator[str] | list[str]) -> str:
    """A whole page."""
    head = f'.TH "{name.upper()}" 1 "" "gordon" "Gordon"\n.SH NAME\n{plain(name)} \\- '
    return "\n".join([head + plain(summary.rstrip(".")), *body]) + "\n"


def pages() -> dict[str, str]:
    """The pages by the names of their files."""
    root = click.Context(gordon, info_name="gordon", **gordon.context_settings)
    commands = [
        ".SH SYNOPSIS\n.B gordon\nCOMMAND [OPTIONS] [ARGS]...",
        ".SH DESCRIPTION",
        "\n.PP\n".join(described(gordon)),
    ]
    found = {}
    for group, members in GROUPS.items():
        commands.append(f'.SH "{group.upper()}"')
        for name, summary in members.items():
            command = gordon.get_command(root, name)
            assert command is not None
            commands.append(f".TP\n.BR gordon\\-{name} (1)\n{plain(summary)}")
            context = click.Context(command, parent=root, info_name=name)
            body = [*sections(command, context, "SH"), ".SH SEE ALSO\n.BR gordon (1)"]
            found[f"gordon-{name}.1"] = titled(f"gordon-{name}", summary, body)
    summary = "find the machine that should run a job, and simulate flash, disks, caches and sorts"
    return {"gordon.1": titled("gordon", summary, commands), **found}


def main() -> None:
    """Writes or checks the pages."""
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.1")}
    if sys.argv[1:] == ["--check"]:
        if there != wanted:
            sys.exit("error: the manual pages are not up to date\n  try: make reference")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in there.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
