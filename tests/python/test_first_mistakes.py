"""Mistakes of the first hour: the error names the option, and what would work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gordon

from conftest import Run, mqsim, raises


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mqsim(tmp_path / "a.mqsim", *((at * 1000, at * 8, 8, at % 2) for at in range(20)))


@pytest.mark.parametrize(
    ("words", "option", "given"),
    [
        ("cache replay a.mqsim --dram much", "--dram", "`much`"),
        ("cache replay a.mqsim --policy flashcache --dram 1MiB --flash x", "--flash", "`x`"),
        ("cache tiered a.mqsim --dram x --flash 1MiB", "--dram", "`x`"),
        ("cache sweep a.mqsim --dram 1MiB..", "--dram 1MiB..", "``"),
        ("cache sweep a.mqsim --dram 1MiB,x", "--dram", "`x`"),
        ("cache mrc a.mqsim --dram x", "--dram", "`x`"),
        ("cache serve --root . --dram x", "--dram", "`x`"),
        ("cache generate surge -o o --files x", "--files", "`x`"),
        ("flash bench --pattern mixed --size x", "--size", "`x`"),
        ("flash bench --pattern mixed --span 4Kib", "--span", "`4Kib`"),
        ("disk bench --pattern mixed --stripe 2 --stripe-unit x", "--stripe-unit", "`x`"),
        ("block create i --capacity x", "--capacity", "`x`"),
        ("sort a.mqsim o --lines --memory x", "--memory", "`x`"),
        ("sort tune --memory x", "--memory", "`x`"),
        ("storage characterise --preset nvme-tlc-1tb --sizes x", "--sizes", "`x`"),
    ],
)
def test_a_size_that_is_none_names_its_option(
    run: Run, words: str, option: str, given: str
) -> None:
    ran = run(*words.split())
    ran.refused("bad-size", f"error: {option}: {given}: ", "try: ")
    assert "25us" not in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cache tiered a.mqsim --dram 1MiB --flash 8MiB --layout log --set-size 8KiB",
         "--set-size has no effect with --layout log"),
        ("cache tiered a.mqsim --dram 1MiB --flash 8MiB --layout sets --no-reinsert",
         "--no-reinsert has no effect with --layout sets"),
        ("cache tiered a.mqsim --dram 1MiB --flash 8MiB --journal-batch 2",
         "--journal-batch needs --journal"),
        ("cache serve --root . --dram 1MiB --listen 127.0.0.1:0 --origin-timeout 5s",
         "--origin-timeout needs --origin"),
        ("cache serve --root . --dram 1MiB --listen 127.0.0.1:0 --endurance 1000",
         "--endurance needs --lifetime"),
        ("block stat --socket gone.sock --interval 2s", "--interval needs --follow"),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_refused(run: Run, words: str, said: str) -> None:
    run(*words.split()).refused("", said, status=2)


def test_a_size_that_is_none_names_its_keyword() -> None:
    with raises("bad-size", "dram", "`x`"):
        gordon.cache.ObjectCache(dram="x")
    with raises("bad-size", "--size", "`x`"):
        gordon.flash.bench("mixed", size="x")


@pytest.mark.parametrize(("given", "said"), [(1.5, "1.5 is not a whole number"), (-5, "`-5B`")])
def test_a_number_that_is_no_size_is_said_to_be_none(given: Any, said: str) -> None:
    with raises("bad-size", "--dram", said):
        gordon.cache.replay("a.mqsim", dram=given)
    with raises("bad-size", "--size", said):
        gordon.flash.bench("mixed", size=given)


def test_a_keyword_that_is_none_names_the_nearest_of_all_keywords() -> None:
    wrong: Any = {"policy": "lru"}
    with raises("unknown-name", "`policy`") as error:
        gordon.cache.sweep("a.mqsim", dram="1MiB", **wrong)
    assert error.value.hint == "`policies`"
    wrong = {"requestz": 10}
    with raises("unknown-name", "`requestz`") as error:
        gordon.flash.bench("mixed", **wrong)
    assert error.value.hint == "`requests`"


def test_packages_of_the_reference_need_no_import_of_their_own() -> None:
    code = (
        "import gordon; gordon.sort.tune.tune, gordon.sort.systems.extrapolate, gordon.disk.fit.fit"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_page_in_a_folder_that_is_missing_says_how_to_make_it() -> None:
    with raises("unwritable", "no/x.json") as error:
        gordon.cost.petabyte().save("no/x.json")
    assert error.value.hint == "mkdir -p no"


def test_a_long_list_of_names_is_cut(run: Run) -> None:
    ran = run("cost", "tco", "spark-sort", "--node", "nope", "--space", "ec2")
    ran.refused("unknown-name", "`nope`", "`c5.large`", " more")
    assert len(ran.err) < 800


def test_the_span_of_a_trace_of_requests_is_a_time(run: Run) -> None:
    assert "block requests alone, over 1.90e-05 s" in run("trace", "show", "a.mqsim").out


def test_a_preset_of_another_kind_is_said_to_be_one(run: Run) -> None:
    run("flash", "replay", "a.mqsim", "--preset", "sata-7200-1tb").refused(
        "unknown-name", "sata-7200-1tb is a disk", "`gordon disk`", "`gordon compare`"
    )
    run("disk", "replay", "a.mqsim", "--preset", "nvme-tlc-1tb").refused(
        "unknown-name", "nvme-tlc-1tb is a flash device", "`gordon flash`", "`gordon compare`"
    )
    run("flash", "show", "sata-7200-1tb").refused("unknown-name", "is a disk")
    run("disk", "show", "nvme-tlc-1tb").refused("unknown-name", "is a flash device")
    run("flash", "show", "nvme").refused("unknown-name", "`nvme-tlc-1tb`")


def test_a_pattern_that_is_missing_is_one_of_a_list(run: Run) -> None:
    ran = run("flash", "bench")
    assert ran.status == 2
    assert "Choose from: random-write, random-read, " in ran.err
    assert "\t" not in ran.err


def test_a_policy_with_letters_in_the_wrong_order_is_understood(run: Run) -> None:
    ran = run("cache", "replay", "a.mqsim", "--dram", "1MiB", "--policy", "lur")
    assert ran.status == 1
    assert "try: lru; known: " in ran.err


def test_the_keys_of_a_device_file_are_listed_once(run: Run) -> None:
    Path("mine.toml").write_text("x = 1\n")
    ran = run("flash", "bench", "--pattern", "mixed", "--preset", "mine.toml")
    assert ran.status == 1
    assert ran.err.count("geometry") == 1


def test_presets_of_flash_have_their_size_with_a_prefix(run: Run) -> None:
    ran = run("flash", "presets")
    assert "511 GB" in ran.out
    assert "KiB" not in ran.out
    assert '"capacity": "960GB"' in run("flash", "presets", "--json", "-").out


def test_notes_about_a_trace_have_words(run: Run) -> None:
    log = 'h - - [01/Jan/2026:00:00:01 +0000] "{} /a HTTP/1.1" 200 100\n'
    Path("access.log").write_text(log.format("GET") + log.format("POST"))
    ran = run("cache", "replay", "access.log", "--dram", "1MiB")
    assert "warning: other methods: 1 of other methods than GET, left out" in ran.err


def test_a_table_of_requests_is_shown_by_its_columns(run: Run) -> None:
    Path("c.csv").write_text("t,o,off,len\n0,R,0,4096\n10,W,8192,4096\n")
    run("trace", "show", "c.csv").refused("not-a-trace", "c.csv", "--columns")
    ran = run("trace", "show", "c.csv", "--columns", "time=t:us,op=o,offset=off:B,size=len:B")
    assert ran.status == 0, ran.err
    assert "2 requests; read 1, 4.10 kB; write 1, 4.10 kB" in ran.out
    assert ran.err.startswith("c.csv: format columns, described by --columns; ")
    columns = "time=1:us,op=2,offset=3:B,size=4:B"
    shown: Any = gordon.trace.summary("c.csv", columns=columns, skip_lines=1)
    assert shown["block"]["events"] == 2
    assert run("trace", "show", "a.mqsim", "--format", "mqsim").status == 0
    run("trace", "show", "spark-sort", "--columns", "time=1:s,lba=2:B").refused(
        "exclusive-options", "spark-sort", "columns"
    )
    assert run("trace", "show", "spark-sort", "--format", "spark-eventlog").status == 0
    log = 'h - - [01/Jan/2026:00:00:01 +0000] "GET /a HTTP/1.1" 200 100\n'
    Path("access.log").write_text(log)
    run("trace", "show", "access.log", "--format", "clf").refused(
        "trace-of-objects", "access.log", "`gordon cache replay access.log`"
    )
