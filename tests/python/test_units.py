"""Sizes, frequencies, powers and voltages, wherever a person writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gordon import _core, flash, quantity, sizes

from conftest import Run, raises


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512", 512),
        ("4k", 4 << 10),
        ("4K", 4 << 10),
        ("4KiB", 4 << 10),
        ("4kB", 4000),
        ("4KB", 4000),
        ("1M", 1 << 20),
        ("1MB", 1_000_000),
        ("1g", 1 << 30),
        ("1GB", 1_000_000_000),
        ("2T", 2 << 40),
    ],
)
def test_a_letter_alone_is_a_power_of_two_and_with_b_a_power_of_ten(text: str, size: int) -> None:
    assert _core.parse_bytes(text) == size


def test_short_sizes_stand_in_options_in_settings_and_in_files(tmp_path: Path) -> None:
    def report(size: str, capacity: str, device: str) -> object:
        capacity = f"capacity={capacity}"
        run = flash.bench("random-write", device, size=size, requests=10, set=capacity)
        return run.report["write"], run.report["raw_capacity_bytes"]

    preset = flash.text("gordon-slc-256g")
    file = tmp_path / "device.toml"
    file.write_text(preset.replace('"2048B"', '"2k"'))
    assert '"2k"' in file.read_text()
    assert report("8k", "2g", str(file)) == report("8KiB", "2GiB", "gordon-slc-256g")


def test_short_sizes_stand_in_ranges() -> None:
    assert sizes.doubling("4k..1M,3G", "--sizes") == sizes.doubling("4KiB..1MiB,3GiB", "--sizes")


def test_an_unknown_unit_is_an_error_that_names_the_units(run: Run) -> None:
    for given in (("--size", "4kb"), ("--set", "capacity=4kb"), ("--set", "geometry.oob=4kb")):
        ran = run("flash", "bench", "--pattern", "mixed", *given)
        assert (ran.status, ran.err.count("error: ")) == (1, 1)
        for part in ("4kb", ": unknown unit", "one of KiB, MiB", "k, M, G, T, P"):
            assert part in ran.err


@pytest.mark.parametrize(
    ("text", "number"), [("2.4GHz", 2.4e9), (" 0.16 W ", 0.16), ("3mW", 0.003), ("1.2V", 1.2)]
)
def test_other_quantities_are_in_their_base_unit(text: str, number: float) -> None:
    assert quantity.number({"value": text, "assumed": "a test"}) == number


@pytest.mark.parametrize("text", ["1.2.3W", "W", "-19W", "19", "19 parsecs", "19xW"])
def test_what_is_not_a_quantity_is_an_error_that_names_its_place(text: str) -> None:
    with raises("bad-quantity", "power.idle: "):
        quantity.number(text, "power.idle")


def test_every_command_that_takes_a_size_names_the_units(run: Run) -> None:
    for words in (
        ("trace", "--memory", "4kb", "-o", "x.trace", "--", "true"),
        ("sort", "in", "out", "--memory", "4kb"),
        ("storage", "characterise", "--preset", "sata-7200-1tb", "--sizes", "4kb"),
        ("cache", "mrc", "in", "--dram", "4kb"),
    ):
        ran = run(*words)
        assert ran.status != 0
        assert "`4kb`: unknown unit" in ran.err.replace("\n", " "), ran.err
        assert "KiB, MiB" in ran.err, ran.err
