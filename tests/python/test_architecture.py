"""Do the arrows between the rooms point one way? docs/ARCHITECTURE.md draws them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from serving import need

ROOT = Path(__file__).resolve().parents[2]

#: Room: the rooms it may use. What is not listed here may not be.
ARROWS: dict[str, set[str]] = {
    "units": set(),
    "pages": set(),
    "ring": set(),
    "des": {"units"},
    "nand": {"units"},
    "ftl": {"nand", "units"},
    "cache": {"units"},
    "trace": {"units"},
    "device": {"des", "ftl", "nand", "pages", "units"},
    "replay": {"cache", "device", "ftl", "nand", "trace", "units"},
    "cluster": {"device", "replay", "sort", "trace", "units"},
    "io": {"units"},
    "store": {"ftl", "nand", "ring", "units"},
    "nbd": {"device", "nand", "store", "units"},
    "sort": {"pages", "ring", "units"},
    "testkit": {"ftl", "nand", "units"},
    "py": {"cluster", "device", "io", "nbd", "replay", "sort", "store", "trace", "units"},
}

#: Rooms without files, sockets, clocks and threads: they do not even link the standard library.
PURE = {"units", "nand", "ftl", "cache"}


@pytest.fixture(scope="module")
def crates() -> dict[str, dict[str, set[str]]]:
    need("cargo")
    out = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps", "--offline", "--locked"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    found: dict[str, dict[str, set[str]]] = {}
    for package in json.loads(out)["packages"]:
        uses: dict[str, set[str]] = {"normal": set(), "dev": set()}
        for dependency in package["dependencies"]:
            name = dependency["name"]
            if name.startswith("gordon-"):
                kind = "dev" if dependency["kind"] == "dev" else "normal"
                uses[kind].add(name.removeprefix("gordon-"))
        found[package["name"].removeprefix("gordon-")] = uses
    return found


def test_every_room_is_known(crates: dict[str, dict[str, set[str]]]) -> None:
    assert set(crates) == set(ARROWS)


@pytest.mark.parametrize("room", sorted(ARROWS))
def test_a_room_uses_only_what_it_may(crates: dict[str, dict[str, set[str]]], room: str) -> None:
    assert crates[room]["normal"] <= ARROWS[room]


def test_tests_may_use_the_testkit_but_nobody_ships_it(
    crates: dict[str, dict[str, set[str]]],
) -> None:
    assert not [room for room in crates if "testkit" in crates[room]["normal"]]
    for room, uses in crates.items():
        assert uses["dev"] <= ARROWS[room] | {"testkit"} | {"trace"}, room


@pytest.mark.parametrize("room", sorted(PURE))
def test_pure_rooms_have_no_standard_library(room: str) -> None:
    source = (ROOT / "crates" / room / "src/lib.rs").read_text()
    assert "#![no_std]" in source
    for file in (ROOT / "crates" / room / "src").rglob("*.rs"):
        assert "extern crate std" not in file.read_text(), file


def test_the_drawing_is_the_same() -> None:
    """The table in docs/ARCHITECTURE.md says what this file holds."""
    text = (ROOT / "docs/ARCHITECTURE.md").read_text()
    for room, uses in ARROWS.items():
        row = f"| {room} | {', '.join(sorted(uses)) or '-'} |"
        assert row in text, f"docs/ARCHITECTURE.md lacks: {row}"
