"""Sweeps: their files, their rows, what an interrupted one keeps."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gordon import cache, engine, flash, sweep
from gordon.cli.schema import schema
from gordon.options.sweeps import ENGINES
from gordon.sweep import axes, rows, store
from limits import PATIENCE_S
from sweeps import SMALL, WA, Write, parquet, write

from conftest import Run, mqsim, raises

__all__ = ["write"]

# The package has the function of this name.
running = import_module("gordon.sweep.run")
SIMULATE = running.simulate


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"from": 0.1, "to": 0.5, "step": 0.1}, [0.1, 0.2, 0.3, 0.4, 0.5]),
        ({"from": 1, "to": 6, "step": 2}, [1, 3, 5]),
        ({"from": 1, "to": 20, "factor": 4}, [1, 4, 16]),
        ({"from": "4KiB", "to": "64KiB", "factor": 4}, ["4KiB", "16KiB", "64KiB"]),
        ({"from": "512KiB", "to": "1MiB", "step": "256KiB"}, ["512KiB", "768KiB", "1024KiB"]),
        ({"from": "0.5ms", "to": "1ms", "step": "250us"}, ["0.5ms", "0.75ms", "1ms"]),
        ({"from": "0.1W", "to": "0.3W", "step": "0.1W"}, ["0.1W", "0.2W", "0.3W"]),
        ([True, False], [True, False]),
        ([1, 1.5, "auto"], [1, 1.5, "auto"]),
    ],
)
def test_the_values_of_a_range(given: Any, found: list[Any]) -> None:
    values = axes.values("ranges.x", given)
    assert values == found
    assert list(map(type, values)) == list(map(type, found))


def test_the_product_has_every_combination_once_the_last_range_fastest(write: Write) -> None:
    loaded = sweep.load(write(WA))
    found = [tuple(loaded.parameters(number).values()) for number in loaded.chosen]
    assert found == [(rho, policy) for rho in (0.5, 0.6, 0.7, 0.8) for policy in ("greedy", "fifo")]
    assert loaded.values(3) == {"blocks": 64, "pages_per_block": 16, "rho": 0.6, "policy": "fifo"}


def test_a_sample_depends_on_its_seed_only_and_big_products_are_not_listed(write: Write) -> None:
    big = "[ranges]\n" + "".join(
        f"{name} = {{ from = 1, to = 1000, step = 1 }}\n"
        for name in ("blocks", "pages-per-block", "choices", "seed")
    )

    def chosen(seed: int) -> list[int]:
        loaded = sweep.load(
            write(f'command = "flash wa"\nsample = 20\nsample_seed = {seed}\n{big}')
        )
        assert loaded.product == 10**12
        return loaded.chosen

    sample = chosen(1)
    assert chosen(1) == sample == sorted(sample)
    assert chosen(2) != sample
    assert len(set(sample)) == 20
    few = sweep.load(write(WA.replace("objectives", "sample = 100\nobjectives")))
    assert few.chosen == list(range(8))


def test_a_row_has_the_ranges_and_the_results_of_the_command(write: Write) -> None:
    result = sweep.run(write(WA), "out.parquet", workers=1)
    found = parquet("out.parquet")
    assert [row["configuration"] for row in found] == list(range(8))
    for row in found:
        alone = flash.wa(row["policy"], row["rho"], blocks=64, pages_per_block=16)
        assert row["write_amplification"] == alone["write_amplification"]
        assert row["pages.host_program"] == alone["pages"]["host_program"]
        assert (row["error"], row["version"], row["seed"]) == (None, alone["version"], 1)
        assert json.loads(row["settings"]) == {"blocks": 64, "pages_per_block": 16}
    assert result["rows"][2]["rho"] == 0.6
    assert (result["failed"], result["combinations"], result["sample"]) == (0, 8, None)
    assert not Path("out.parquet.partial").exists()
    assert sorted(path.name for path in Path().iterdir()) == ["out.parquet", "sweep.toml"]


@pytest.fixture
def objects(tmp_path: Path) -> str:
    """A trace of 2,000 requests for objects, oracleGeneral."""
    keys = [number * number % 997 for number in range(2000)]
    path = tmp_path / "objects.bin"
    path.write_bytes(b"".join(struct.pack("<IQIq", 1, key, 200, -1) for key in keys))
    return path.name


@pytest.mark.parametrize(
    ("command", "settings", "ranges"),
    [
        ("flash replay", 'trace = "mixed.trace"\nfit = "wrap"', 'preset = ["gordon-slc-256g"]'),
        ("flash bench", 'pattern = "mixed"\nrequests = 200', "timing.read = ['25us', '50us']"),
        ("disk replay", "fit = 'wrap'", 'trace = ["mixed.trace"]\nscheduler = ["fcfs", "sstf"]'),
        ("disk bench", 'pattern = "random-read"\nrequests = 50', "interface.queue_depth = [1, 8]"),
        ("cache replay", 'trace = "mixed.trace"\ndram = "64KiB"', 'policy = ["lru", "sieve"]'),
        (
            "cache replay",
            'trace = "mixed.trace"\ndram = "4MiB"\npolicy = "flashcache"\nflash = "4MiB"',
            "cache.ways = [4, 8]",
        ),
        (
            "cache tiered",
            'trace = "objects.bin"\nformat = "oracleGeneral"\ndram = "16KiB"\nflash = "2MiB"\n'
            'pages_per_block = 16\nsegment = "16KiB"',
            'layout = ["log", "sets"]',
        ),
    ],
)
def test_every_command_can_be_swept(
    write: Write, mixed: str, objects: str, command: str, settings: str, ranges: str
) -> None:
    result = sweep.run(
        write(f'command = "{command}"\n[settings]\n{settings}\n[ranges]\n{ranges}\n'),
        "out.parquet",
        workers=1,
    )
    assert result["failed"] == 0, [row["error"] for row in result["rows"]]
    assert len(parquet("out.parquet")) == result["combinations"]
    for objective in result["objectives"]:
        assert rows.is_number(result["rows"][0][objective.partition(":")[0]])
    assert result.html().startswith("<!doctype html>")


def test_a_path_is_relative_to_the_file_and_its_digest_is_in_the_row(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    mqsim(tmp_path / "sub/a.trace", *[(i * 1000, i % 50 * 8, 8, 1) for i in range(200)])
    mqsim(tmp_path / "sub/b.trace", *[(i * 1000, i % 90 * 8, 8, 1) for i in range(200)])
    text = 'command = "cache replay"\n[settings]\ndram = "256KiB"\n[ranges]\n'
    (tmp_path / "sub/s.toml").write_text(f'{text}trace = ["a.trace", "b.trace"]\n')
    monkeypatch.chdir(tmp_path)
    result = sweep.run("sub/s.toml", "out.parquet", workers=1)
    alone = cache.replay("sub/b.trace", dram="256KiB")
    assert result["rows"][1]["miss_ratio"] == alone["miss_ratio"]
    assert [row["trace"] for row in result["rows"]] == ["a.trace", "b.trace"]
    digests = [json.loads(row["inputs"]) for row in result["rows"]]
    assert [list(one) for one in digests] == [["a.trace"], ["b.trace"]]
    assert digests[0]["a.trace"] == result["inputs"][0]["sha256"]
    assert len({*digests[0].values(), *digests[1].values()}) == 2


def test_the_same_bytes_with_any_number_of_workers(write: Write, run: Run) -> None:
    made = []
    for workers in ("1", "2"):
        ran = run(
            *("sweep", write(WA), "-o", "out.parquet", "--workers", workers),
            *("--json", "out.json", "--report", "out.html"),
        )
        assert ran.status == 0, ran.err
        made.append((ran.out, *(Path(f"out.{kind}").read_bytes() for kind in SUFFIXES)))
    assert made[0] == made[1]
    assert "8 configurations of gordon flash wa: 8 results, 0 failed" in made[0][0]


SUFFIXES = ("parquet", "json", "html")


def test_an_impossible_configuration_is_a_row_with_an_error(write: Write, run: Run) -> None:
    text = f'command = "flash bench"\n{SMALL}\n[ranges]\nspan = ["1MiB", "1TiB"]\nseed = [1, 2]\n'
    ran = run("sweep", write(text), "-o", "out.parquet", "--workers", "1")
    assert ran.status == 0, ran.err
    assert "2 results, 2 failed" in ran.out
    assert "failed (2 configurations): " in ran.out
    found = parquet("out.parquet")
    assert [row["error"] is None for row in found] == [True, True, False, False]
    assert [row["write_amplification"] is None for row in found] == [False, False, True, True]
    with raises("all-failed", found[2]["error"]):
        sweep.run(write(text.replace('"1MiB", ', "")), "none.parquet", workers=1)
    assert not Path("none.parquet").exists()
    assert not Path("none.parquet.partial").exists()


def test_two_levels_only_options_of_one_level_are_errors_in_the_rows(
    write: Write, mixed: str
) -> None:
    text = """
        command = "cache replay"
        [settings]
        trace = "mixed.trace"
        dram = "4MiB"
        [ranges]
        policy = ["lru", "flashcache"]
        rate = [100]
    """
    result = sweep.run(write(text), "out.parquet", workers=1)
    assert "--rate" in result["rows"][0]["error"]
    assert result["rows"][1]["error"] is None


class StoppedError(Exception):
    pass


def counting(simulated: list[Any]) -> Callable[[Any], Any]:
    """The simulation of a configuration, each of them added to a list."""

    def call(item: Any) -> Any:
        simulated.append(item)
        return SIMULATE(item)

    return call


def test_finished_configurations_survive_and_are_not_run_again(
    write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sweep.run(write(WA), "whole.parquet", workers=1)
    simulated: list[Any] = []
    count = counting(simulated)

    def stopping(item: Any) -> Any:
        if len(simulated) == 3:
            raise StoppedError
        return count(item)

    monkeypatch.setattr(running, "simulate", stopping)
    with pytest.raises(StoppedError):
        sweep.run("sweep.toml", "out.parquet", workers=1)
    partial = Path("out.parquet.partial")
    assert len(partial.read_text().splitlines()) == 3
    with partial.open("a") as file:
        file.write('{"key": "cut of')
    monkeypatch.setattr(running, "simulate", counting(simulated))
    ran = run("sweep", "sweep.toml", "-o", "out.parquet", "--workers", "1")
    ran.refused("unfinished-sweep", str(partial))
    assert "--resume" in ran.err
    assert partial.exists()
    del simulated[:]
    resumed = sweep.run("sweep.toml", "out.parquet", workers=1, resume=True)
    assert len(simulated) == 5
    assert resumed == whole
    assert Path("out.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    assert not partial.exists()


def test_a_changed_trace_or_setting_is_run_again_and_the_rest_is_reused(
    write: Write, mixed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
        command = "cache replay"
        [settings]
        trace = "mixed.trace"
        [ranges]
        dram = ["64KiB", "128KiB"]
    """
    simulated: list[Any] = []
    monkeypatch.setattr(running, "simulate", counting(simulated))
    monkeypatch.setattr(store.Store, "remove", lambda self: None)

    def count(content: str) -> int:
        del simulated[:]
        sweep.run(write(content), "out.parquet", workers=1, resume=True)
        return len(simulated)

    assert count(text) == 2
    assert count(text) == 0
    assert count(text.replace("64KiB", "96KiB")) == 1
    mqsim(Path(mixed), (0, 0, 8, 1), (10, 8, 8, 1))
    assert count(text) == 2


SLOW = WA.replace("blocks = 64", "blocks = 2048").replace("pages-per-block = 16", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_ended_sweep_is_resumed(write: Write, run: Run, number: int) -> None:
    few = SLOW.replace('policy = ["greedy", "fifo"]', 'policy = ["greedy"]')
    words = ["sweep", write(few), "-o", "out.parquet", "--workers", "2"]
    started = subprocess.Popen(
        [sys.executable, "-m", "gordon", *words], stderr=subprocess.PIPE, text=True
    )
    partial = Path("out.parquet.partial")
    deadline = time.monotonic() + PATIENCE_S
    while not (partial.exists() and partial.stat().st_size):
        assert time.monotonic() < deadline
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(number)
    _, errors = started.communicate(timeout=PATIENCE_S)
    kept = len(partial.read_text().splitlines())
    assert 0 < kept < 4
    if number == signal.SIGKILL:
        assert started.returncode == -number
    else:
        assert started.returncode == 128 + number
        assert "Traceback" not in errors
        assert f"finished configurations are in {partial}" in errors
    ran = run(*words, "--resume")
    assert ran.status == 0, ran.err
    assert not partial.exists()
    assert len(parquet("out.parquet")) == 4


def test_only_one_process_writes_an_output(write: Write) -> None:
    write(WA)
    with store.Store(store.place("out.parquet"), resume=False), raises("in-use", "out.parquet"):
        sweep.run("sweep.toml", "out.parquet", workers=1)


def test_a_file_that_is_not_of_a_sweep_is_kept(write: Write) -> None:
    Path("out.parquet.partial").write_text("mine\n")
    with raises("bad-partial", "out.parquet.partial"):
        sweep.run(write(WA), "out.parquet", workers=1, resume=True)
    assert Path("out.parquet.partial").read_text() == "mine\n"
    # Only what a killed process left of a line is cut off.
    for text in ("mine", '{"kex'):
        Path("out.parquet.partial").write_text(text)
        with raises("bad-partial", "out.parquet.partial"):
            sweep.run(write(WA), "out.parquet", workers=1, resume=True)
        assert Path("out.parquet.partial").read_text() == text
    Path("out.parquet.partial").write_text('{"ke')
    sweep.run(write(WA), "out.parquet", workers=1, resume=True)
    assert not Path("out.parquet.partial").exists()


def test_finished_rows_of_another_version_are_not_used_and_are_reported(
    write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(running._core, "version", lambda: "0.0.1")
        patch.setattr(store.Store, "remove", lambda self: None)
        sweep.run(write(WA), "out.parquet", workers=1)
    lines = len(Path("out.parquet.partial").read_text().splitlines())
    monkeypatch.setattr(running, "simulate", counting(simulated))
    notes: list[str] = []
    sweep.run("sweep.toml", "out.parquet", workers=1, resume=True, notify=notes.append)
    assert len(simulated) == lines
    [note] = notes
    assert f"{lines} of {lines} finished configurations in out.parquet.partial are not used" in note
    assert "another version" in note


HEAD = 'command = "flash bench"\n'
LOAD = '[settings]\npattern = "mixed"\n'


@pytest.mark.parametrize(
    ("text", "kind", "named"),
    [
        ("command = [", "bad-toml", "sweep.toml"),
        (f"{HEAD}comand = 1\n", "unknown-name", "comand"),
        ("[ranges]\nseed = [1]\n", "no-command", "command"),
        ("command = 'flash banch'\n[ranges]\nseed = [1]\n", "unknown-name", "flash banch"),
        (f"{HEAD}ranges = 5\n", "bad-config", "ranges"),
        (f"{HEAD}{LOAD}", "no-ranges", "ranges"),
        (f"{HEAD}{LOAD}[ranges]\nftl.victm = [1]\n", "unknown-name", "ftl.victm"),
        (f"{HEAD}{LOAD}[ranges]\nvictim = [1]\n", "unknown-name", "victim"),
        (f"{HEAD}{LOAD}[ranges]\nftl = [1]\n", "not-a-value", "ftl"),
        (f"{HEAD}{LOAD}[ranges]\nreport = ['a']\n", "file-of-one-run", "report"),
        (f"{HEAD}{LOAD}[ranges]\nset = ['a=1']\n", "unknown-name", "set"),
        (f"{HEAD}{LOAD}[ranges]\nseed = []\n", "empty-range", "seed"),
        (f"{HEAD}{LOAD}[ranges]\nseed = [2, 1, 2]\n", "duplicate-value", "seed"),
        (f"{HEAD}{LOAD}[ranges]\nseed = 5\n", "bad-range", "seed"),
        (f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 1, to = 3 }}\n", "bad-range", "seed"),
        (
            f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 1, to = 3, step = 1, factor = 2 }}\n",
            "bad-range",
            "seed",
        ),
        (
            f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 1, to = 3, stp = 1 }}\n",
            "unknown-name",
            "stp",
        ),
        (
            f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 3, to = 1, step = 1 }}\n",
            "empty-range",
            "seed",
        ),
        (f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 1, to = 3, step = 0 }}\n", "bad-range", "step"),
        (
            f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 0, to = 3, factor = 2 }}\n",
            "bad-range",
            "from",
        ),
        (
            f"{HEAD}{LOAD}[ranges]\nsize = {{ from = '4KiB', to = '1ms', factor = 2 }}\n",
            "bad-range",
            "1ms",
        ),
        (
            f"{HEAD}{LOAD}[ranges]\nspeed = {{ from = 1, to = 2, step = 1e-9 }}\n",
            "bad-range",
            "speed",
        ),
        (f"{HEAD}{LOAD}[ranges]\npattern = ['zipf']\n", "duplicate-key", "pattern"),
        (
            f"{HEAD}{LOAD}[ranges]\nqueue-depth = [1]\nqueue_depth = [2]\n",
            "duplicate-key",
            "queue_depth",
        ),
        (
            f"{HEAD}{LOAD}[ranges]\nftl.victim = ['fifo']\n'ftl.victim' = ['greedy']\n",
            "duplicate-key",
            "ftl.victim",
        ),
        (f"{HEAD}{LOAD}[ranges]\nqueue_depth = [1, 0]\n", "bad-value", "--queue-depth"),
        (f"{HEAD}{LOAD}[ranges]\nqueue_depth = [true]\n", "bad-value", "queue_depth"),
        (f"{HEAD}{LOAD}[ranges]\nqueue_depth = [[1]]\n", "bad-value", "queue_depth"),
        (f"{HEAD}{LOAD}[ranges]\ngaps = [1]\n", "bad-value", "gaps"),
        (f"{HEAD}[ranges]\nseed = [1]\n", "bad-value", "--pattern"),
        (f"{HEAD}sample = 0\n{LOAD}[ranges]\nseed = [1]\n", "bad-value", "sample"),
        (f"{HEAD}sample_seed = 5\n{LOAD}[ranges]\nseed = [1]\n", "no-sample", "sample_seed"),
        (f"{HEAD}objectives = []\n{LOAD}[ranges]\nseed = [1]\n", "bad-objective", "objectives"),
        (f"{HEAD}objectives = ['iops']\n{LOAD}[ranges]\nseed = [1]\n", "bad-objective", "iops"),
        (
            f"{HEAD}objectives = ['iops:min', 'iops:max']\n{LOAD}[ranges]\nseed = [1]\n",
            "bad-objective",
            "iops",
        ),
        (
            f"{HEAD}objectives = ['p99:min']\n{LOAD}requests = 10\n[ranges]\nseed = [1]\n",
            "unknown-name",
            "p99",
        ),
        (
            f"{HEAD}objectives = ['kind:min']\n{LOAD}requests = 10\n[ranges]\nseed = [1]\n",
            "bad-objective",
            "kind",
        ),
        (
            f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 1, to = 2000, step = 1 }}\n"
            "requests = { from = 1, to = 2000, step = 1 }\n",
            "too-many-configurations",
            "4,000,000",
        ),
        (
            "command = 'flash replay'\n[ranges]\ntrace = ['missing']\n",
            "unreadable-file",
            "missing",
        ),
        (f"{HEAD}{LOAD}preset = 'nome'\n[ranges]\nseed = [1]\n", "all-failed", "nome"),
    ],
)
def test_a_bad_file_is_one_error(write: Write, run: Run, text: str, kind: str, named: str) -> None:
    ran = run("sweep", write(text), "-o", "out.parquet", "--workers", "1")
    ran.refused(kind, named)
    assert [path.name for path in Path().iterdir()] == ["sweep.toml"]


DOCS = Path(__file__).parents[2] / "docs"


def valid(text: str) -> bool:
    """Whether the file of a sweep agrees with the JSON Schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    printed = json.loads(CliRunner().invoke(schema, ["sweep"]).output)
    validator = jsonschema.Draft202012Validator
    validator.check_schema(printed)
    return bool(validator(printed).is_valid(tomllib.loads(text)))


@pytest.mark.parametrize("page", ["guide/sweeps.md", "design/sweep.md"])
def test_the_documented_sweeps_agree_with_the_schema(page: str) -> None:
    text = (DOCS / page).read_text()
    blocks = [
        one for one in re.findall(r"```toml[^\n]*\n(.*?)```", text, re.S) if "[ranges]" in one
    ]
    assert blocks
    for block in blocks:
        assert valid(block)


@pytest.mark.parametrize(
    "good",
    [
        f"{HEAD}{LOAD}[ranges]\nqueue-depth = [1]\n'ftl.victim' = ['fifo', 'greedy']\n",
        f"{HEAD}sample = 5\nsample_seed = 1\n{LOAD}[ranges]\nspan = {{ from = '1MiB', to = '1GiB', "
        "factor = 2 }\n",
        "command = 'cache replay'\n[settings]\ntrace = 'a'\nflash = '1GiB'\n[ranges]\n"
        "cache.ways = { from = 4, to = 8, step = 1 }\n",
        WA,
        WA.replace('"fifo"', '"mine.py:Mine"'),
    ],
)
def test_the_schema_admits_what_the_command_does(good: str) -> None:
    assert valid(good)


@pytest.mark.parametrize(
    "bad",
    [
        f"{HEAD}comand = 1\n{LOAD}[ranges]\nseed = [1]\n",
        f"{LOAD}[ranges]\nseed = [1]\n",
        "command = 'flash banch'\n[ranges]\nseed = [1]\n",
        f"{HEAD}{LOAD}",
        f"{HEAD}{LOAD}[ranges]\nftl.victm = [1]\n",
        f"{HEAD}{LOAD}[ranges]\nftl = [1]\n",
        f"{HEAD}{LOAD}[ranges]\nreport = ['a']\n",
        f"{HEAD}{LOAD}[ranges]\nseed = []\n",
        f"{HEAD}{LOAD}[ranges]\nseed = 5\n",
        f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 1, to = 3 }}\n",
        f"{HEAD}{LOAD}[ranges]\nseed = {{ from = 1, to = 3, step = 1, factor = 2 }}\n",
        f"{HEAD}[settings]\npattern = 'nome'\n[ranges]\nseed = [1]\n",
        WA.replace('"fifo"', '"fofi"'),
        f"{HEAD}sample = 0\n{LOAD}[ranges]\nseed = [1]\n",
        f"{HEAD}sample_seed = 5\n{LOAD}[ranges]\nseed = [1]\n",
        f"{HEAD}objectives = ['iops']\n{LOAD}[ranges]\nseed = [1]\n",
    ],
)
def test_the_schema_refuses_a_bad_file(bad: str) -> None:
    assert not valid(bad)


def test_an_unreadable_file_is_one_error(write: Write, run: Run) -> None:
    write("")
    run("sweep", "none.toml", "-o", "out.parquet").refused("unreadable-file", "none.toml")
    run("sweep", "sweep.toml", "-o", "sweep.toml").refused("path-in-use", "sweep.toml")


def test_no_output_destroys_a_trace(write: Write, mixed: str, run: Run) -> None:
    text = (
        'command = "cache replay"\n[settings]\ndram = "1MiB"\n[ranges]\ntrace = ["mixed.trace"]\n'
    )
    run("sweep", write(text), "-o", "mixed.trace").refused("path-in-use", "mixed.trace")
    assert Path(mixed).stat().st_size > 1000


def test_the_engines_of_the_command_are_those_of_the_library(
    write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ENGINES == engine.NAMES
    monkeypatch.setattr(engine, "find_spec", lambda package: None)
    ran = run("sweep", write(WA), "-o", "out.parquet", "--engine", "ray")
    ran.refused("no-engine", "ray")
    assert "gordon-storage[ray]" in ran.err
    assert not Path("out.parquet.partial").exists()


@pytest.mark.parametrize("name", ["ray", "dask", "spark"])
def test_a_cluster_gives_the_bytes_of_this_machine(
    write: Write, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in engine.NEEDS[name]:
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    sweep.run(write(WA), "here.parquet", workers=1)
    sweep.run("sweep.toml", "there.parquet", engine=name, workers=2)
    assert Path("here.parquet").read_bytes() == Path("there.parquet").read_bytes()


def test_a_decimal_step_is_exact() -> None:
    values = axes.values("x", {"from": 0.01, "to": 1.0, "step": 0.01})
    assert [Decimal(str(value)) for value in values] == [
        Decimal(number) / 100 for number in range(1, 101)
    ]
