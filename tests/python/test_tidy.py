"""The text that people read follows a few rules: plain words, lines of 100 columns, no empty files.

Checked are the strings, comments and docstrings of python/gordon, the help pages, and the pages of
docs except docs/lab, and the strings and comments of the core. Files and crates that do not follow
a rule yet are listed here; the lists can only shrink, since a listed one that follows the rule
fails the test.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gordon.cli import gordon

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 100
#: First words of a docstring or a comment that has no noun of its own.
NOUNLESS = re.compile(r"(?:It|So much|What|The same|Those|Same)\b")
EMPTY = {
    "python/gordon/py.typed",  # marks the package as typed (PEP 561)
    "python/gordon/report/__init__.py",  # marks a folder of templates as a package
    "tests/golden/renamed.toml",  # a table of renamed keys, when there are none
}

#: A phrase that misleads, as a regular expression over words, and what to write instead.
PHRASES = {
    r"so many": "that many, or the number itself",
    r"no more(?! (?:\w+ )?than)": "at most, no further",
    r"(?<!there )(?:is|are) no(?! worse)": "is not a; 'there is no' is fine",
    r"held against": "compared with",
    r"asked of": "requested from",
    r"what it has": "name it",
    r"where there is one": "if any",
    r"by its content": "auto-detected",
}
BANNED = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)


def tracked() -> list[Path]:
    """The files in the repository; all files, if this is not a checkout."""
    ran = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if ran.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in ran.stdout.split("\0") if name and (ROOT / name).is_file()]


def of_kind(suffix: str, *folders: str) -> list[str]:
    """Tracked files of a kind in these folders, relative to the root."""
    names = (str(path.relative_to(ROOT)) for path in tracked() if path.suffix == suffix)
    return [name for name in names if name.startswith(folders)]


def pages() -> list[str]:
    """The pages for users: those of the root and of docs, without the lab diary."""
    found = of_kind(".md", "docs/", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
    return [name for name in found if not name.startswith("docs/lab/")]


def prose(source: str) -> str:
    """The strings, docstrings and comments of a Python file; a single word is a name, not prose."""
    parts = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    parts += [token.string for token in tokens if token.type == tokenize.COMMENT]
    return "\n".join(parts)


def literals(source: str) -> str:
    """The strings of a Rust file that are more than a word, without those of its tests."""
    source = re.sub(r"^\s*//.*$", "", source.partition("#[cfg(test)]")[0], flags=re.MULTILINE)
    found = re.findall(r'"((?:[^"\\]|\\.|\\\n)*)"', source)
    return "\n".join(text.replace("\\\n", " ") for text in found if " " in text)


def comments(source: str) -> str:
    """The comments of a Rust file."""
    return "\n".join(re.findall(r"(?<!\S)//[/!]?(.*)$", source, flags=re.MULTILINE))


def without_code(page: str) -> str:
    """A Markdown page without its fenced blocks: their outputs are those of programs."""
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def phrases(text: str) -> list[str]:
    """The phrases to avoid in a text, each with the words around it. Code is left out."""
    plain = " ".join(re.sub(r"`[^`\n]*`|\{[{%].*?[%}]\}", " ", text).split())
    return [plain[max(0, m.start() - 40) : m.end() + 40] for m in BANNED.finditer(plain)]


def helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The help page of a command and of all its commands, by name."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from helps(child, click.Context(child, parent=context, info_name=name))


def test_the_text_of_the_package_and_the_pages_is_plain() -> None:
    texts = {name: prose((ROOT / name).read_text()) for name in of_kind(".py", "python/gordon/")}
    texts |= {name: without_code((ROOT / name).read_text()) for name in pages()}
    texts |= {
        name: (ROOT / name).read_text() for name in of_kind(".j2", "python/gordon/", "scripts/")
    }
    found = {name: phrases(text) for name, text in texts.items()}
    assert not {name: hits[:5] for name, hits in found.items() if hits}


def test_dictionaries_of_unknown_keys_have_a_name_with_a_reason() -> None:
    """A misspelt key is found by mypy, except in what `gordon.untyped` names."""
    found = {}
    for name in of_kind(".py", "python/gordon/"):
        source = (ROOT / name).read_text()
        if not source.startswith("# Generated by") and "dict[str, Any]" in source:
            found[name] = source.count("dict[str, Any]")
    del found["python/gordon/untyped.py"]
    # A public result joined with any other mapping.
    assert found == {"python/gordon/result.py": 1}


def test_docstrings_have_a_noun_of_their_own() -> None:
    found = {}
    for name in of_kind(".py", ""):
        source = (ROOT / name).read_text()
        if source.startswith("# Generated by"):
            continue
        starts = re.findall(r'^ *"""(.*)', source, flags=re.MULTILINE)
        starts += re.findall(r"#: (.*)", source)
        found[name] = [text[:60] for text in starts if NOUNLESS.match(text)]
    assert not {name: starts for name, starts in found.items() if starts}


def test_the_strings_of_the_core_are_plain() -> None:
    sources = [name for name in of_kind(".rs", "crates/") if "/src/" in name]
    sources = [name for name in sources if "testkit" not in name and "tests" not in name]
    assert len(sources) > 200
    found = {name: phrases(literals((ROOT / name).read_text())) for name in sources}
    assert not {name: hits for name, hits in found.items() if hits}


def test_the_comments_of_the_core_are_plain() -> None:
    found = {
        name: phrases(comments((ROOT / name).read_text())) for name in of_kind(".rs", "crates/")
    }
    assert not {name: hits[:5] for name, hits in found.items() if hits}


def test_the_help_pages_are_plain() -> None:
    top = click.Context(gordon, info_name="gordon")
    found = {name: phrases(text) for name, text in helps(gordon, top)}
    assert not {name: hits for name, hits in found.items() if hits}


def test_no_output_of_a_test_is_at_the_root() -> None:
    written = {".json", ".html", ".csv", ".parquet"}
    assert not [path for path in tracked() if path.parent == ROOT and path.suffix in written]


def test_lines_have_100_columns() -> None:
    """Lines of Markdown that cannot be wrapped may be longer: tables, links, code. So may the lines
    of pages that a program prints."""
    found = {}
    for name in pages():
        page = (ROOT / name).read_text()
        if re.search(r"(?:Generated|Printed) by `", page[:300]):
            continue
        lines, fenced, long = page.splitlines(), False, []
        for number, line in enumerate(lines, 1):
            fenced ^= line.startswith("```")
            code = fenced or line.startswith("    ")
            free = code or line.lstrip().startswith("|") or "](" in line or "://" in line
            if len(line) > COLUMNS and not free:
                long.append(f"{number}: {line[:60]}...")
        found[name] = long
    for name in of_kind(".rs", "crates/"):
        # Code is wrapped by rustfmt.
        source = (ROOT / name).read_text().splitlines()
        found[name] = [
            f"{n}: {line.strip()[:60]}..."
            for n, line in enumerate(source, 1)
            if len(line) > COLUMNS and line.lstrip().startswith("//") and "://" not in line
        ]
    for name in of_kind(".py", ""):
        # What follows a `noqa` or a `type: ignore` is for programs.
        source = re.sub(r"  # (?:noqa|type:).*", "", (ROOT / name).read_text()).splitlines()
        found[name] = [
            f"{n}: {line[:60]}..."
            for n, line in enumerate(source, 1)
            if len(line) > COLUMNS and "://" not in line
        ]
    assert not {name: lines for name, lines in found.items() if lines}


def test_no_tracked_file_is_empty() -> None:
    empty = {str(path.relative_to(ROOT)) for path in tracked() if path.stat().st_size == 0}
    assert empty <= EMPTY


def test_contributing_names_every_program_and_the_makefile_runs_it() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    programs = of_kind(".py", "scripts/") + of_kind(".sh", "scripts/")
    assert len(programs) > 15
    for name in programs:
        path = ROOT / name
        assert f"`{path.name}`" in contributing or f"/{path.name}`" in contributing, name
        if path.suffix == ".sh" or '__name__ == "__main__"' in path.read_text():
            assert name in makefile, name
