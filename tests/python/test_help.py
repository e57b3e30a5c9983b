"""The examples of all help pages: lines that are commands run, and commands in a text exist."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest

import sadf
from gordon.cli import gordon

from conftest import Run

#: A help page is as wide as this, so that no command is broken over lines.
_WIDTH = 10_000
_INLINE = re.compile(r"`gordon( [^`]+)?`")
_OBJECT = re.compile(r"\{\"[^'\n]*\}")


@cache
def pages() -> dict[str, str]:
    """The text of each help page, by its command."""

    def of(command: click.Command, parent: click.Context | None, name: str) -> None:
        settings = dict(command.context_settings) | {
            "terminal_width": _WIDTH,
            "max_content_width": _WIDTH,
        }
        context = click.Context(command, parent=parent, info_name=name, **settings)
        found[context.command_path] = command.get_help(context)
        if isinstance(command, click.Group):
            for child in command.list_commands(context):
                inner = command.get_command(context, child)
                assert inner is not None
                of(inner, context, child)

    found: dict[str, str] = {}
    of(gordon, None, "gordon")
    return found


def examples() -> list[tuple[str, list[str]]]:
    """The lines that are commands, in their order, by page."""
    found = [
        # The lines of the usage are indented more. Spaces follow a command that is called `gordon`.
        (page, [line.strip() for line in text.splitlines() if re.match(r"  gordon \S", line)])
        for page, text in pages().items()
    ]
    return [(page, lines) for page, lines in found if lines]


def tables() -> list[tuple[str, str]]:
    """The files in TOML that pages show, by page."""
    found = []
    for page, text in pages().items():
        for block in re.findall(r"(?m)^  \w+ = .*(?:\n  .+)*", text):
            found.append((page, "\n".join(line.strip() for line in block.splitlines())))
    return found


def made(run: Run, word: str) -> None:
    """Makes the input that an example names: a trace, or a text."""
    path = Path(word)
    if path.suffix == ".trace":
        Path("day.json").write_text(sadf.day([sadf.second(n) for n in range(5)], "host"))
        ran = run("trace", "convert", "day.json", word, "--format", "sysstat")
        assert ran.status == 0, ran.err
    else:
        path.write_text("".join(f"{number}\n" for number in range(1000, 0, -1)))


def inputs(words: list[str]) -> list[str]:
    """The words of a command that are names of files it reads: not those after an option."""
    outputs = ("-o", "--out", "--json", "--report")
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if Path(word).suffix in (".trace", ".txt") and before not in outputs
    ]


def test_the_examples_are_found() -> None:
    found = dict(examples())
    assert len(found["gordon"]) >= 2
    assert len(found["gordon survey"]) >= 2
    assert [page for page, _ in tables()] == ["gordon sweep"]
    # Every command has a page.
    assert len(pages()) > 50


@pytest.mark.parametrize(("page", "lines"), examples(), ids=[page for page, _ in examples()])
def test_the_commands_of_a_help_page_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, lines: list[str]
) -> None:
    """In the order of the page, in an empty folder; files that no earlier line wrote are made."""
    monkeypatch.chdir(tmp_path)
    for line in lines:
        words = shlex.split(line)[1:]
        for word in inputs(words):
            if not Path(word).exists():
                made(run, word)
        ran = run(*words)
        assert ran.status == 0, f"{line}\n{ran.err}"
        assert "error: " not in ran.err


@pytest.mark.parametrize(("page", "text"), tables(), ids=[page for page, _ in tables()])
def test_a_file_of_a_help_page_runs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ranges = tomllib.loads(text)["ranges"]
    assert len(ranges) > 1
    # The same file with less work: the device and the number of requests are not of the example.
    less = text.replace("[settings]\n", '[settings]\nrequests = 200\ncapacity = "1GiB"\n')
    assert less != text
    Path("example.toml").write_text(less)
    ran = run(*page.split()[1:], "example.toml", "-o", "out.parquet", "--json", "out.json")
    assert ran.status == 0, ran.err
    result = json.loads(Path("out.json").read_text())
    assert not any(row.get("error") for row in result["rows"]), result["rows"]


def test_the_objects_of_help_pages_are_json() -> None:
    found = [text for page in pages().values() for text in _OBJECT.findall(page)]
    assert any("stages" in text for text in found)
    for text in found:
        assert json.loads(text), text


def test_a_command_that_a_page_names_exists_with_its_options() -> None:
    named = [
        (page, words or "") for page, text in pages().items() for words in _INLINE.findall(text)
    ]
    assert len(named) > 30
    for page, words in named:
        command: click.Command = gordon
        path = ["gordon"]
        context = click.Context(gordon, info_name="gordon")
        options = []
        for word in shlex.split(words):
            inner = command.get_command(context, word) if isinstance(command, click.Group) else None
            if inner is not None:
                command, path = inner, [*path, word]
                context = click.Context(command, parent=context, info_name=word)
            elif word.startswith("-"):
                options.append(word)
        assert len(path) > 1 or not words.strip(), f"{page} names `gordon{words}`"
        default = getattr(command, "default", None)
        commands = [command]
        if default is not None and isinstance(command, click.Group):
            commands.append(command.commands[default])
        known = {o for one in commands for param in one.params for o in param.opts}
        for option in options:
            assert option in known, f"{page} names `gordon{words}`: no {option}"


#: Commands that print a file, a stream of lines or a page of several commands, and no table.
_WITHOUT_JSON = {
    *("gordon demo", "gordon schema", "gordon cost inputs", "gordon parts show"),
    *("gordon spaces show", "gordon flash show", "gordon disk show", "gordon cache show"),
    *(
        "gordon flash probe",
        "gordon disk probe",
        "gordon meter watch",
        "gordon trace agent",
        "gordon trace record",
    ),
}


def test_every_command_with_a_table_writes_it_as_json() -> None:
    inner = {page.rpartition(" ")[0] for page in pages()}
    without = {page for page, text in pages().items() if page not in inner and "--json" not in text}
    assert without == _WITHOUT_JSON


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("flash presets", "presets"),
        ("disk presets", "presets"),
        ("cache presets", "presets"),
        ("cache policies", "policies"),
    ],
)
def test_the_json_of_a_list_has_its_rows(run: Run, command: str, key: str) -> None:
    ran = run(*command.split())
    rows = json.loads(run(*command.split(), "--json", "-").out)[key]
    assert [row["id"] for row in rows] == [line.split()[0] for line in ran.out.splitlines()[1:]]
