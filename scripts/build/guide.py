"""Runs the commands of README.md, the tutorials and the guide, and compares what they print.

    scripts/build/guide.py [PAGE...]   exit status 1 if a command fails or prints something else
    scripts/build/guide.py --update    writes what they print into the page

The pages are those of zensical.toml. Each page is run in an empty folder of its own. Its fenced
blocks say what they are:

    sh                  commands, run by bash in the order of the page
    sh not run: WHY     commands that a test cannot run
    text                what the commands before it print; a line ... stands for any lines
    text varies         the same, measured: numbers, with their units, are not compared, and ... in
                        a line stands for any words
    text example        an example of what they print, not compared: other words elsewhere
    toml FILE           lines to be appended to FILE
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Folders of docs/ whose pages are sessions.
SESSIONS = ("tutorials", "guide")
NUMBER = re.compile(r"\d[\d,.]*(?:e-?\d+)?(?: ?(?:[kKMGT]i?)?[BJW](?:/s)?\b| ?[mun]?s\b)?")
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    """A fenced block: what it is, its text, and where its text is in the page."""

    kind: str
    text: str
    start: int
    end: int


def pages() -> list[Path]:
    """README.md, and the pages of the site that are sessions, in the order of its navigation."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    listed = [
        page
        for section in site["nav"]
        for its in section.values()
        for page in (its if isinstance(its, list) else [its])
    ]
    return [
        ROOT / "README.md",
        *(ROOT / "docs" / page for page in listed if page.startswith(SESSIONS)),
    ]


def blocks(page: str) -> list[Block]:
    return [Block(m[1], m[2], m.start(2), m.end(2)) for m in FENCE.finditer(page)]


def agrees(printed: str, wanted: str, varies: bool) -> bool:
    """Whether the output is the one of the page, in which a line `...` stands for any lines."""
    if varies:
        printed, wanted = masked(printed), masked(wanted)
    lines = (re.escape(line) for line in wanted.splitlines())
    pattern = "".join(r"(?:.*\n)*?" if line == r"\.\.\." else line + "\n" for line in lines)
    if varies:
        pattern = pattern.replace(r"\.\.\.", ".*")
    return re.fullmatch(pattern, printed) is not None


def masked(text: str) -> str:
    """The words of an output: numbers with their units are N, and blanks do not align columns."""
    return re.sub(" +", " ", NUMBER.sub("N", text))


def run(commands: str, folder: Path, fails: bool) -> str:
    """The output of the commands. Raises SystemExit if they fail, or if they do not but should."""
    ran = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"COLUMNS": "200"},
    )
    if (ran.returncode != 0) is not fails:
        raise SystemExit(f"exit status {ran.returncode} of\n{commands}\n{ran.stdout}")
    return ran.stdout


def changes(page: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """The outputs of the page that are not what its commands print, and what they print."""
    all_blocks = blocks(page)
    for block, after in zip(all_blocks, [*all_blocks[1:], None], strict=True):
        if block.kind.startswith("toml "):
            with (folder / block.kind.removeprefix("toml ")).open("a") as file:
                file.write("\n" + block.text)
        if block.kind != "sh":
            continue
        output = after if after and after.kind.split(" ")[0] == "text" else None
        fails = output is not None and output.text.startswith("error: ")
        start = time.monotonic()
        printed = run(block.text, folder, fails)
        print(f"{time.monotonic() - start:6.2f} s  {block.text.splitlines()[-1]}", file=sys.stderr)
        if output is None or output.kind == "text example":
            continue
        if not agrees(printed, output.text, varies=output.kind == "text varies"):
            yield output, printed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write the outputs into the pages")
    parser.add_argument("pages", nargs="*", type=Path, help="these pages; default: all")
    options = parser.parse_args()
    different = False
    for path in options.pages or pages():
        page = path.read_text()
        with tempfile.TemporaryDirectory() as folder:
            changed = list(changes(page, Path(folder)))
        for output, printed in reversed(changed):
            if options.update:
                page = page[: output.start] + printed + page[output.end :]
            else:
                print(f"{path.name} has\n{output.text}\nits commands print\n{printed}")
        if options.update:
            path.write_text(page)
        different |= bool(changed)
    sys.exit(different and not options.update)


if __name__ == "__main__":
    main()
