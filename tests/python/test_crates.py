"""The crates that are published have what crates.io and their readers need."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
#: The crates with a version, which packages need of the crates that they use.
PUBLISHED = {
    name.removeprefix("gordon-")
    for name, given in WORKSPACE["dependencies"].items()
    if name.startswith("gordon-") and "version" in given
}
ALONE = set(re.findall(r"\.\./crates/(\w+)/README", (ROOT / "docs/crates.md").read_text()))


def manifest(crate: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())


def test_the_makefile_packs_the_published_crates_in_an_order_that_can_be_uploaded() -> None:
    (line,) = re.findall(r"^CRATES := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    order = line.split()
    assert set(order) == PUBLISHED
    for at, crate in enumerate(order):
        used = {n for n in manifest(crate).get("dependencies", {}) if n.startswith("gordon-")}
        assert used <= {f"gordon-{before}" for before in order[:at]}, crate


def test_crates_have_one_version() -> None:
    version = WORKSPACE["package"]["version"]
    for crate in PUBLISHED:
        assert WORKSPACE["dependencies"][f"gordon-{crate}"]["version"] == version


@pytest.mark.parametrize("crate", sorted(PUBLISHED | ALONE))
def test_a_published_crate_says_what_it_is(crate: str) -> None:
    package = manifest(crate)["package"]
    assert package["documentation"] == f"https://docs.rs/gordon-{crate}"
    assert "publish" not in package
    assert len(package["description"]) > 20
    assert 1 <= len(package["keywords"]) <= 5
    assert 1 <= len(package["categories"]) <= 5
    folder = ROOT / "crates" / crate
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    for name in package["include"]:
        assert (folder / name).exists(), name


@pytest.mark.parametrize("crate", sorted(ALONE))
def test_the_readme_of_a_crate_is_its_front_page_and_is_compiled(crate: str) -> None:
    folder = ROOT / "crates" / crate
    readme = (folder / "README.md").read_text()
    assert readme.startswith(f"# gordon-{crate}\n")
    assert "\n```rust\n" in readme  # neither `ignore` nor `no_run`
    rust = WORKSPACE["package"]["rust-version"]
    assert f"Rust {rust} or later. {WORKSPACE['package']['license']} licence." in readme
    assert (folder / "src/lib.rs").read_text().startswith('#![doc = include_str!("../README.md")]')
    assert manifest(crate)["package"]["readme"] == "README.md"
