"""The crates and the parts of the Python package depend on each other as the tables in
docs/ARCHITECTURE.md say, and no modules import each other in a circle.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import imports
from modules import circle
from serving import need

ROOT = Path(__file__).resolve().parents[2]


def _table() -> dict[str, set[str]]:
    """Each crate of the table in docs/ARCHITECTURE.md, and the crates that it may use."""
    found = {}
    for line in (ROOT / "docs/ARCHITECTURE.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and (ROOT / "crates" / cells[0]).is_dir():
            found[cells[0]] = set() if cells[-1] == "-" else set(cells[-1].split(", "))
    return found


def _layers() -> list[set[str]]:
    """The layers of the Python package in docs/ARCHITECTURE.md, from the lowest."""
    text = (ROOT / "docs/ARCHITECTURE.md").read_text()
    table = text.partition("| layer | parts |")[2].partition("\n\n")[0]
    return [set(re.findall(r"`(\w+)`", line)) for line in table.splitlines()[2:]]


ALLOWED = _table()
PACKAGE = imports.imports(ROOT / "python/gordon")
#: Crates without files, sockets, clocks and threads: they build where there is no standard library.
PURE = {"units", "nand", "ftl", "cache"}
BARE = "x86_64-unknown-none"


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


def test_every_crate_is_in_the_table(crates: dict[str, dict[str, set[str]]]) -> None:
    assert set(crates) == set(ALLOWED)


@pytest.mark.parametrize("crate", sorted(ALLOWED))
def test_a_crate_uses_what_the_table_allows(
    crates: dict[str, dict[str, set[str]]], crate: str
) -> None:
    assert crates[crate]["normal"] == ALLOWED[crate]


def test_only_tests_use_the_testkit(crates: dict[str, dict[str, set[str]]]) -> None:
    assert not [crate for crate in crates if "testkit" in crates[crate]["normal"]]
    for crate, uses in crates.items():
        assert uses["dev"] <= _below(crate) | {"testkit", "trace", "units"}, crate


def _below(crate: str) -> set[str]:
    """The crates that a crate may use, and those that these may use."""
    return ALLOWED[crate].union(*(_below(used) for used in ALLOWED[crate]))


def test_the_table_has_no_cycle() -> None:
    left = dict(ALLOWED)
    while left:
        done = {crate for crate, uses in left.items() if not uses & left.keys()}
        assert done, f"these crates use each other: {sorted(left)}"
        left = {crate: uses for crate, uses in left.items() if crate not in done}


@pytest.mark.parametrize("crate", sorted(ALLOWED))
def test_modules_of_a_crate_do_not_import_each_other_in_a_circle(crate: str) -> None:
    found = circle(ROOT / "crates" / crate)
    assert not found, found


def test_no_modules_of_the_package_import_each_other_in_a_circle() -> None:
    found = imports.circle({name: used - {"gordon"} for name, used in PACKAGE.items()})
    assert not found, found
    found = imports.circle(imports.of_parts(PACKAGE))
    assert not found, found


def test_the_parts_of_the_package_import_from_their_layer_and_those_below() -> None:
    layers = _layers()
    parts = imports.of_parts(PACKAGE)
    assert set().union(*layers) == set(parts)
    below: set[str] = set()
    for layer in layers:
        below |= layer
        for part in layer:
            assert parts[part] <= below, f"gordon.{part} imports from a layer above it"


def test_only_the_commands_of_the_studies_use_them() -> None:
    users = {
        name
        for name, used in PACKAGE.items()
        if name != "gordon" and any(f"{one}.".startswith("gordon.reproduce.") for one in used)
    }
    assert users
    for name in users:
        assert name.startswith(("gordon.reproduce", "gordon.cli.reproduce_")), name


def test_a_circle_through_a_function_is_found(tmp_path: Path) -> None:
    files = {
        "__init__.py": "",
        "low.py": "def lazy():\n    from made.high import page\n",
        "high/__init__.py": "",
        "high/page.py": "import json\n",
    }
    package = tmp_path / "made"
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert imports.circle(imports.of_parts(imports.imports(package))) is None
    (package / "high/page.py").write_text("from made import low\n")
    found = imports.circle(imports.of_parts(imports.imports(package)))
    assert found is not None
    assert "low imports high" in found
    assert "high imports low" in found


def test_a_circle_through_a_re_export_is_found_and_test_modules_are_left_out(
    tmp_path: Path,
) -> None:
    files = {
        "lib.rs": "mod low;\nmod part;\npub use part::{Error, table::Table as Rows};\n",
        "low.rs": "use crate::{Error, Rows};\n",
        "part/mod.rs": "pub(crate) mod table;\n// crate::low is not used here\npub struct Error;\n",
        "part/table.rs": "#[cfg(test)]\nmod tests {\n    use crate::low;\n}\n",
    }
    for name, text in files.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text)
    assert circle(tmp_path) is None
    (tmp_path / "src/part/table.rs").write_text("pub struct Table(crate::low::Low);\n")
    found = circle(tmp_path)
    assert found is not None
    assert "low uses part (low.rs)" in found
    assert "part uses low (part/table.rs)" in found


@pytest.mark.parametrize("crate", sorted(PURE))
def test_a_pure_crate_builds_without_the_standard_library(crate: str) -> None:
    need("cargo", "rustup")
    listed = subprocess.run(
        ["rustup", "target", "list", "--installed"], cwd=ROOT, capture_output=True, text=True
    )
    if BARE not in listed.stdout.split():
        pytest.skip(f"the Rust target {BARE} is not installed")
    subprocess.run(
        ["cargo", "check", "--quiet", "--locked", "--target", BARE, "-p", f"gordon-{crate}"],
        cwd=ROOT,
        check=True,
    )


def _named_files(where: str) -> list[Path]:
    """The Rust files of a cell. A path that starts with no crate is next to the one before."""
    files: list[Path] = []
    path = ROOT
    for name in where.split(", "):
        crate, _, rest = name.partition("/")
        source = ROOT / "crates" / crate / "src"
        path = source / rest if source.is_dir() else path.parent / name
        assert path.exists(), where
        files += [path] if path.is_file() else sorted(path.rglob("*.rs"))
    return files


def test_the_glossary_names_what_is_in_the_code() -> None:
    text = (ROOT / "docs/GLOSSARY.md").read_text().partition("## Published spellings")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if "`" in line]
    rows = [[cell.strip() for cell in row] for row in rows if len(row) == 3]
    assert len(rows) >= 100
    for _, names, where in rows:
        code = "\n".join(path.read_text() for path in _named_files(where))
        code = re.sub(r"//.*|^(pub )?use [^;]*;", "", code, flags=re.MULTILINE)
        for name in re.findall(r"`(\w+)", names):
            assert re.search(rf"\b{name}\b", code), f"{name} is not in {where}"


def test_the_files_that_the_page_names_are_there() -> None:
    text = (ROOT / "docs/ARCHITECTURE.md").read_text()
    section = text.partition("## Where is it?")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if "crates/" in line]
    answers = [row[2] for row in rows]
    assert len(answers) >= 20
    for answer in answers:
        for path in re.findall(r"crates/[\w/.]+", answer):
            assert (ROOT / path).exists(), path
        for path, name in re.findall(r"(crates/[\w/.]+) \(`(\w+)`\)", answer):
            assert f"fn {name}" in (ROOT / path).read_text(), answer
