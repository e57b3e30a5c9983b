#!/usr/bin/env python3
"""Writes THIRD-PARTY.txt: what the wheel carries of others, with the licences.

    third_party.py           write it
    third_party.py --check   fail if it is not up to date

These are the crates that the core is linked with, by `cargo metadata`, the libraries in C inside of
them (zstd, lz4), and plotly.js. The texts are those of the sources that cargo has downloaded; one
that several share is there once. Data of others is named with its source where it is used.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly_js

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "THIRD-PARTY.txt"
#: The crate that the wheel is built of, and the target of the lists.
CORE, TARGET = "gordon-py", "x86_64-unknown-linux-gnu"
#: Names of files with licences, also in a folder below, where a crate has the sources of a library.
LICENCES = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
#: Folders of crates with the sources of libraries in C.
LIBRARIES = ("zstd", "lz4", "liblz4")
RULE = "=" * 100
#: The licence that the head of plotly.js names without its text.
MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
#: Files with data of others, which name their sources themselves.
DATA = ("python/gordon/grids.toml", "python/gordon/cost/prices.toml")

Json = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A part of others."""

    name: str
    version: str
    licence: str
    place: str
    texts: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"{self.name} {self.version}: {self.licence}. {self.place}".rstrip()


def metadata() -> Json:
    """The packages of the lock file and what they depend on."""
    words = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"error: cargo metadata: {ran.stderr}")
    found: Json = json.loads(ran.stdout)
    return found


def linked(found: Json) -> list[Json]:
    """The crates of others that the core is linked with, by name."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    packages = {package["id"]: package for package in found["packages"]}
    (core,) = [id for id, package in packages.items() if package["name"] == CORE]
    seen, waiting = {core}, [core]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_normal and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    others = [packages[id] for id in seen if packages[id]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def texts(folder: Path, licence: str = "") -> tuple[str, ...]:
    """The licences in a folder; of a choice that has MIT, that one."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    named = [file for file in files if LICENCES.match(file.name) and file.suffix != ".rs"]
    if " OR " in licence and "MIT" in licence:
        named = [file for file in named if "MIT" in file.name.upper()] or named
    return tuple(file.read_text(encoding="utf-8", errors="replace").strip() for file in named)


def parts() -> list[Part]:
    """The parts of others in the wheel."""
    found = []
    for package in linked(metadata()):
        folder = Path(package["manifest_path"]).parent
        licence, place = package["license"] or "see its text", package["repository"] or ""
        name, version = package["name"], package["version"]
        found.append(Part(name, version, licence, place, texts(folder, licence)))
        for library in LIBRARIES:
            inner = folder / library
            if inner.is_dir() and (own := texts(inner)):
                found.append(Part(library, f"in {name} {version}", "see its text", place, own))
    plot = f"Copyright 2012-2026, Plotly, Inc.\n\n{MIT}"
    found.append(Part(plotly_js.NAME, plotly_js.VERSION, "MIT", "https://plotly.com", (plot,)))
    return found


def page(found: list[Part]) -> str:
    """The file."""
    by_text: dict[str, list[Part]] = defaultdict(list)
    first: dict[str, str] = {}
    for part in found:
        for text in part.texts:
            # Copies of a text differ in their line ends.
            by_text[first.setdefault(" ".join(text.split()), text)].append(part)
    without = [part.name for part in found if not part.texts]
    lines = [
        "The wheel of gordon carries these parts of others. Their licences are below, each with",
        "the parts that come with it. Written by scripts/build/third_party.py; do not edit.",
        "",
        *(part.line for part in found),
        "",
    ]
    if without:
        lines += [
            "Without a text of their own, under the licences named above: " + ", ".join(without),
            "",
        ]
    lines += ["Data of others, with the sources that the files name:", ""]
    for name in DATA:
        content = tomllib.loads((ROOT / name).read_text(encoding="utf-8"))
        lines += [f"{name.removeprefix('python/')}: {one}" for one in sources(content)]
    lines.append("")
    for text, own in sorted(by_text.items(), key=lambda one: one[1][0].name):
        lines += [RULE, ", ".join(sorted({part.name for part in own})), RULE, "", text, ""]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def sources(table: Json) -> list[str]:
    """The sources that a table and those inside of it name, each once."""
    found = [table["source"]] if isinstance(table.get("source"), str) else []
    for value in table.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                found += sources(one)
    return list(dict.fromkeys(found))


def main() -> None:
    """Writes or checks the file."""
    wanted = page(parts())
    if sys.argv[1:] == ["--check"]:
        if not FILE.exists() or FILE.read_text(encoding="utf-8") != wanted:
            sys.exit("error: THIRD-PARTY.txt is not up to date\n  try: make third-party")
        return
    FILE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
