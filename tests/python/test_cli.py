"""The commands: what they print where, how they end, what they leave behind."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from gordon import GordonError

from conftest import JOB_BYTES, Run, Traced, gordon

PAPER = ("--space", "gordon-2009")

# What takes long to import, or much memory: never before it is used.
HEAVY = (
    "rich",
    "jinja2",
    "plotly",
    "matplotlib",
    "numpy",
    "pyarrow",
    "difflib",
    "tomllib",
    "zipfile",
    "importlib.metadata",
    "importlib.resources",
    "gordon.report.page",
    "gordon.survey",
)
PYTHON = Path(__file__).parents[2] / "python"


def imported(folder: Path, *args: str) -> list[str]:
    """The modules that a command that ends well has imported, its output being a pipe."""
    code = (
        "import sys\nfrom gordon.cli import main\n"
        f"try: main({list(args)!r})\n"
        "except SystemExit as end: print(end.code, *sys.modules)"
    )
    env = os.environ | {"PYTHONPATH": str(PYTHON)}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    status, *modules = ran.stdout.splitlines()[-1].split()
    assert (status, ran.stderr) == ("0", "")
    assert len(ran.stdout.splitlines()) > 1
    return modules


def test_the_package_imports_none_of_its_modules_before_they_are_used() -> None:
    code = "import sys, gordon; print(*(m for m in sys.modules if m.startswith('gordon')))"
    env = os.environ | {"PYTHONPATH": str(PYTHON)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["gordon"]


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["survey", "--help"],
        ["trace", "--help"],
        ["flash", "--help"],
        ["flash", "replay", "--help"],
        ["sort", "--help"],
    ],
)
def test_help_imports_nothing_heavy(args: list[str], tmp_path: Path) -> None:
    modules = imported(tmp_path, *args)
    assert [m for m in modules if m.startswith((*HEAVY, "gordon._core", "gordon.flash"))] == []


@pytest.mark.parametrize(
    "args",
    [
        ["--version"],
        ["sort", "in", "out"],
        [
            "flash",
            "bench",
            "--pattern",
            "random-write",
            "--requests",
            "9",
            "--set",
            "capacity=4GiB",
        ],
    ],
)
def test_a_run_imports_only_what_it_uses(args: list[str], tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(100))
    modules = imported(tmp_path, *args)
    assert [m for m in modules if m.startswith(HEAVY)] == []
    others = {m for m in modules if m.startswith("gordon.cli.sort_")}
    assert others == ({"gordon.cli.sort_view"} if args[0] == "sort" else set())


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_files_are_not_a_failure(closed: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(100))
    words = f'exec "$0" -m gordon sort in out {closed}'
    env = os.environ | {"PYTHONPATH": str(PYTHON)}
    ran = subprocess.run(
        ["sh", "-c", words, sys.executable], cwd=tmp_path, env=env, capture_output=True
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert (tmp_path / "out").read_bytes() == bytes(100)


@pytest.mark.parametrize("words", ["parts", "--help", "survey --help", "trace formats --csv -"])
@pytest.mark.parametrize("errors", ["", "2>&1"])
def test_a_reader_that_leaves_ends_a_command_quietly(
    words: str, errors: str, tmp_path: Path
) -> None:
    # `sleep` never reads, and ends before Python has started.
    pipe = f'{{ "$0" -m gordon {words} {errors}; echo $? > status; }} | sleep 0'
    env = os.environ | {"PYTHONPATH": str(PYTHON)}
    ran = subprocess.run(
        ["sh", "-c", pipe, sys.executable], cwd=tmp_path, env=env, capture_output=True
    )
    assert ran.stderr == b""
    assert (tmp_path / "status").read_text() == "141\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (GordonError("cannot write sock: Broken pipe"), "error: cannot write sock: Broken pipe\n"),
        (BrokenPipeError(32, "Broken pipe"), "error: gordon: Broken pipe\n"),
    ],
)
def test_a_broken_pipe_that_is_not_the_output_is_an_error(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("gordon.cli.output.finish", fail)
    ran = run("doctor")
    assert (ran.status, ran.err) == (1, said)


def test_a_pipe_gets_what_rich_would_print(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    from gordon.cli.terminal import Column, data

    columns = [
        Column("name", ["a", "  b", "", "long [bold]name[/bold]"]),
        Column("much", ["1", "", "3,000", "4.5"], right=True, spare=1),
        Column("", ["", "x", "", ""]),
        Column("of it", ["1.0 s", "20 s", "", "300 s"], wraps=True),
    ]
    data().table(columns)
    data().table([Column("a table without rows", [])])
    data().text("[dim]" + "line " * 40)
    ours = capsys.readouterr().out
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for c in columns:
        table.add_column(c.title, justify="right" if c.right else "left", min_width=c.width)
    for row in zip(*(c.cells for c in columns), strict=True):
        table.add_row(*row)
    Console(markup=False, width=200).print(table)
    Console(markup=False, highlight=False).print("[dim]" + "line " * 40, soft_wrap=True)
    assert ours == capsys.readouterr().out


def test_trace_exits_with_the_commands_status(traced: Traced) -> None:
    assert traced.ran.status == 3
    assert traced.ran.out == ""
    assert "traced to job.trace" in traced.ran.err
    shown = gordon(traced.folder, "trace", "show", ".", "--json", "-")
    summary = json.loads(shown.out)
    assert summary["manifest"]["command"][:2] == ["sh", "-c"]
    assert summary["manifest"]["interval"] == "200ms"
    for missing in summary["manifest"]["unavailable"]:
        assert missing["why"] in traced.ran.err


def test_the_commands_own_options_are_left_to_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from gordon import _core

    calls: list[Any] = []

    def record(*args: Any) -> str:
        calls.append(args)
        return '{"exit_status": 0, "warnings": []}'

    monkeypatch.setattr(_core, "trace_record", record)
    run("trace", "-o", "d", "--interval", "0.1s", "--memory", "2GiB", "--", "sort", "-n", "--help")
    run("trace", "-o", "d", "sort", "-o", "x")
    assert calls == [
        ("d", 10**8, ["sort", "-n", "--help"], 2 * 2**30),
        ("d", 10**9, ["sort", "-o", "x"], None),
    ]


@pytest.mark.parametrize(
    ("args", "status", "what"),
    [
        (["trace", "-o", "d", "--", "no-such-command"], 1, "command not found: no-such-command"),
        (["trace", "-o", "d", "--interval", "often", "--", "true"], 2, "'--interval': `often`"),
        (["trace", "-o", "d", "--memory", "much", "--", "true"], 2, "'--memory': `much`"),
        (["trace", "-o", "d"], 2, "try: gordon trace --help"),
        (["trace", "--", "true"], 2, "Missing option '-o'"),
        (["trace", "show", "missing"], 1, "no trace at missing"),
        (["survey"], 2, "give a TRACE, or --bundled"),
        (["survey", "missing"], 1, "no trace at missing"),
        (["survey", "."], 1, ". is not a gordon trace"),
        (["survey", "x", "--nodes", "0"], 2, "--nodes"),
        (["survey", "x", "--nodes", "many"], 2, "--nodes"),
        (["survey", "x", "--shift", "1.5"], 2, "--shift"),
        (["survey", "x", "-o", "no/such/folder/r.html"], 1, "no folder no/such/folder"),
        (["survey", "x", "-o", "."], 1, "it is a folder"),
        (["survey", "x", "--json", "a", "--csv", "a"], 1, "two outputs have the path a"),
        (["parts", "show", "atum"], 1, "try: `atom`"),
        (["spaces", "show", "x"], 1, "no space `x`"),
        (["schema", "house"], 2, "house"),
        (["schema", "spac"], 2, "Did you mean space?"),
        (["no-such"], 2, "No such command"),
        (["servey"], 2, "Did you mean 'survey'?"),
        (["parts", "shw"], 2, "Did you mean 'show'?"),
        (["flash", "bench", "--pattern", "random-wite"], 2, "Did you mean random-write?"),
    ],
)
def test_bad_input_is_one_clear_error(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    status: int,
    what: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(*args)
    assert ran.status == status
    assert ran.out == ""
    assert what in ran.err
    assert ran.err.startswith("error: ")
    assert "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_an_internal_error_prints_no_traceback(
    run: Run, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gordon import _core

    monkeypatch.setattr(_core, "survey", lambda *_: "{}")
    ran = run("survey", trace, *PAPER)
    assert ran.status == 1
    assert ran.err.startswith("error: a defect of gordon: KeyError")
    assert "GORDON_DEBUG=1" in ran.err


def surveyed(run: Run, trace: str, *options: str) -> tuple[dict[str, Any], str]:
    """The JSON of a survey, and what it printed on stderr."""
    ran = run("survey", trace, *PAPER, *options, "--json", "-")
    assert ran.status == 0, ran.err
    return json.loads(ran.out), ran.err


def counted(trace: str, column: str) -> float:
    """The rise of a counter of a trace, from the first row to the last."""
    parquet = pytest.importorskip("pyarrow.parquet")
    values = parquet.read_table(Path(trace) / "activity.parquet")[column].to_pylist()
    return float(values[-1] - values[0])


def test_a_survey_charges_the_machine_or_the_command(run: Run, trace: str) -> None:
    manifest = Path(trace) / "manifest.json"
    text = json.loads(manifest.read_text())
    columns = {c["name"]: c for part in text["parts"] for c in part["columns"]}
    # A machine without counters estimates these columns. As measured ones they are not scaled.
    counters = ("instructions", "llc_misses")
    for name in (*counters, "command_cpu_ns", *(f"command_{name}" for name in counters)):
        columns[name]["kind"] = "measured"
    manifest.write_text(json.dumps(text))
    machine, errors = surveyed(run, trace, "--charge", "machine")
    command, command_errors = surveyed(run, trace, "--charge", "command")
    assert (machine["charge"], command["charge"]) == ("machine", "command")
    # The default is the command where the trace has it, and the result names what was taken.
    auto, _ = surveyed(run, trace)
    assert auto == command
    whole, own = machine["traces"][0], command["traces"][0]
    # The machine's CPU time is counted in clock ticks and the command's in ns, so that on a quiet
    # machine either can be the larger one.
    assert whole["instructions"] == counted(trace, "instructions")
    assert own["instructions"] == counted(trace, "command_instructions")
    assert whole["cpu_s"] == own["cpu_s"]
    share = 1 - min(whole["command_cpu_s"], whole["cpu_s"]) / whole["cpu_s"]
    assert whole["other_cpu_share"] == own["other_cpu_share"] == pytest.approx(share)
    assert ("--charge command leaves it out" in errors) == (share > 0.05)
    assert ("--charge machine includes it" in command_errors) == (share > 0.05)
    charged = run("survey", trace, *PAPER, "--charge", "command").out
    assert "the CPU time of the command is simulated" in charged
    whole_text = run("survey", trace, *PAPER, "--charge", "machine").out
    assert "the CPU time of the traced machine is simulated" in whole_text
    columns["command_instructions"]["kind"] = "missing"
    manifest.write_text(json.dumps(text))
    ran = run("survey", trace, *PAPER, "--charge", "command")
    assert (ran.status, "no command_instructions" in ran.err) == (1, True)
    auto, _ = surveyed(run, trace)
    assert auto["charge"] == "machine"
    assert auto["traces"][0]["instructions"] == whole["instructions"]


def test_estimates_take_the_speed_of_the_traced_processor(run: Run, trace: str) -> None:
    manifest = Path(trace) / "manifest.json"
    text = json.loads(manifest.read_text())
    columns = {c["name"]: c for part in text["parts"] for c in part["columns"]}
    text["machine"]["cpu_model"] = "Some CPU @ 2.60GHz"
    instructions = ("instructions", "command_instructions")
    for name in instructions:
        columns[name]["kind"] = "estimated"
    manifest.write_text(json.dumps(text))
    plain, errors = surveyed(run, trace)
    assert "the trace is of Some CPU @ 2.60GHz" in errors
    assert plain["traces"][0]["estimated_ipc"] == 1.5
    for reference, ipc in (("3", 3.0), ("atom", 0.5)):
        other, errors = surveyed(run, trace, "--reference", reference)
        assert other["traces"][0]["estimated_ipc"] == ipc
        ratio = other["traces"][0]["instructions"] / plain["traces"][0]["instructions"]
        assert ratio == pytest.approx(ipc / 1.5)
        assert "--reference" not in errors
    # The manifest's own processor.
    text["machine"]["cpu_model"] = "Intel(R) Atom(TM) CPU N270   @ 1.60GHz"
    manifest.write_text(json.dumps(text))
    own, errors = surveyed(run, trace)
    assert own["traces"][0]["estimated_ipc"] == 0.5
    assert "--reference" not in errors
    for bad in ("0", "-1", "nan", "inf", "core3"):
        assert run("survey", trace, *PAPER, "--reference", bad).status == 1, bad
    for name in instructions:
        columns[name]["kind"] = "measured"
    manifest.write_text(json.dumps(text))
    assert "--reference 3 has no effect" in surveyed(run, trace, "--reference", "3")[1]


def test_interrupted_ends_with_130(
    run: Run, trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gordon import _core

    def interrupted(*_: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(_core, "survey", interrupted)
    assert run("survey", trace, *PAPER, "-o", str(tmp_path / "r.html")).status == 130
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("args", [("parts",), ("survey", "."), ("schema", "cpu")])
def test_without_the_core_the_error_says_how_to_build_it(
    tmp_path: Path, args: tuple[str, ...]
) -> None:
    source = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(PYTHON / "gordon", tmp_path / "gordon", ignore=source)
    ran = gordon(tmp_path, *args)
    assert ran.status == 1
    assert ran.err.startswith("error: the Rust core of gordon is not built\n  try: ")


def test_a_core_of_another_system_is_not_called_missing(tmp_path: Path) -> None:
    source = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(PYTHON / "gordon", tmp_path / "gordon", ignore=source)
    (tmp_path / "gordon" / "_core.abi3.so").write_bytes(b"MZ")
    ran = gordon(tmp_path, "parts")
    assert ran.status == 1
    assert ran.err.startswith("error: the Rust core of gordon cannot be loaded: ")


def test_json_on_stdout_is_alone_and_equals_the_api(
    run: Run, trace: str, result: dict[str, Any]
) -> None:
    ran = run("survey", trace, *PAPER, "--json", "-")
    assert ran.status == 0
    printed = json.loads(ran.out)
    for key in ("nodes", "designs", "named", "assumptions", "parameters"):
        assert printed[key] == result[key]
    assert "MaxE" in ran.err
    # Warnings of several storages or traces with one text are one line.
    for warning in printed["warnings"]:
        assert warning.partition(": ")[2] in ran.err
    shown = run("trace", "show", trace, "--json", "-")
    assert json.loads(shown.out)["manifest"]["machine"]["kernel"]


def test_json_and_csv_hold_the_same_numbers(run: Run, trace: str, tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.csv"
    assert run("survey", trace, *PAPER, "--json", str(a), "--csv", str(b)).status == 0
    designs = json.loads(a.read_text())["designs"]
    with b.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [r["id"] for r in rows] == [d["id"] for d in designs]
    for row, design in zip(rows, designs, strict=True):
        for model in ("sync", "nosync"):
            for key, number in design[model].items():
                assert float(row[f"{model}_{key}"]) == number
        for part, joules in design["energy_by_part_j"].items():
            assert float(row[f"energy_by_part_{part}_j"]) == joules
        for limit in ("cpu", "storage", "network", "cpu+storage"):
            assert float(row.get(f"limits_{limit}") or 0) == design["limits"].get(limit, 0)
        assert row["pareto"] == str(design["pareto"]).lower()
        assert row["names"].split() == design["names"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "b.csv", "job.trace"]


def test_two_runs_give_the_same_bytes(run: Run, trace: str, tmp_path: Path) -> None:
    for name in ("1", "2"):
        run(
            "survey",
            trace,
            *PAPER,
            "--json",
            str(tmp_path / name),
            "-o",
            str(tmp_path / f"{name}.html"),
        )
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


def test_a_full_disk_leaves_nothing_half_written(run: Run, trace: str, tmp_path: Path) -> None:
    # A limit on the size of files stands for the full disk: the table fits, the report does not.
    resource = pytest.importorskip("resource")
    import signal

    (tmp_path / "r.html").write_text("the last one")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, old[1]))
    try:
        ran = run(
            "survey",
            trace,
            *PAPER,
            "--json",
            str(tmp_path / "r.json"),
            "-o",
            str(tmp_path / "r.html"),
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert ran.status == 1
    assert "error: cannot write " in ran.err
    assert "r.html: File too large" in ran.err
    assert (tmp_path / "r.html").read_text() == "the last one"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job.trace", "r.html"]


def test_a_pipe_gets_the_whole_table(run: Run, trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = run("survey", trace, *PAPER, "--all").out.splitlines()
    assert lines[1].split()[-2:] == ["flash", "life"]
    assert sum("GHz-x" in line and " W " in line and " s " in line for line in lines) == 84


def test_every_help_fits_80_columns_and_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    from gordon.cli import gordon

    monkeypatch.setenv("COLUMNS", "80")
    seen = 0

    def check(command: click.Command, context: click.Context) -> None:
        nonlocal seen
        seen += 1
        lines = command.get_help(context).splitlines()
        assert [line for line in lines if len(line) > 80] == [], context.command_path
        if isinstance(command, click.Group):
            listed = lines[lines.index("Commands:") :] if "Commands:" in lines else []
            assert [line for line in listed if line.endswith("...")] == [], context.command_path
            for name in command.list_commands(context):
                one = command.get_command(context, name)
                assert one is not None
                check(one, click.Context(one, info_name=name, parent=context))

    check(gordon, click.Context(gordon, info_name="gordon"))
    assert seen > 80


def test_an_error_is_as_wide_as_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    wide = run("flash", "bench", "--pattern", "mixd")
    assert wide.status == 2
    lines = wide.err.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "  try: gordon flash bench --help"
    monkeypatch.delenv("TTY_COMPATIBLE")
    assert len(run("flash", "bench", "--pattern", "mixd").err.splitlines()) == 2


def test_a_narrow_terminal_does_not_cut_numbers(
    run: Run, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    ran = run("survey", trace, *PAPER, "--all")
    assert "…" not in ran.out
    for cell in (r"[\d.]+ W", r"[\d.]+ [mkM]?J"):
        assert len(re.findall(rf" {cell}\b", ran.out)) >= 84, cell


def test_nodes_default_to_the_traces(run: Run, trace: str, tmp_path: Path) -> None:
    from shutil import copytree

    other = copytree(trace, tmp_path / "other")
    run("survey", trace, str(other), *PAPER).refused("overlapping-scopes", trace, str(other))
    manifest = json.loads((other / "manifest.json").read_text())
    manifest["scope"]["host"] = "another"
    (other / "manifest.json").write_text(json.dumps(manifest))
    ran = run("survey", trace, str(other), *PAPER, "--json", "-")
    assert json.loads(ran.out)["nodes"] == 2
    ran = run("survey", trace, *PAPER, "--nodes", "7", "--json", "-")
    assert json.loads(ran.out)["nodes"] == 7


def test_trace_show_separates_measured_from_estimated(run: Run, trace: str) -> None:
    ran = run("trace", "show", trace, "--json", f"{trace}/../shown.json")
    summary = json.loads((Path(trace).parent / "shown.json").read_text())
    assert ran.out.startswith("sh -c dd if=/dev/urandom of=made")
    assert "[a-z].txt" in ran.out
    assert "exit status 3" in ran.out
    lines = {line[:20].strip(): line for line in ran.out.splitlines()}
    for what, column in {
        "processor": "cpu_ns",
        "instructions": "instructions",
        "cache misses": "llc_misses",
        "memory in use": "memory_bytes",
        "network, sent": "tx_bytes",
    }.items():
        assert summary["kinds"][column] in lines[what].split(), lines[what]
    if summary["block"] is None:
        assert "block I/O: not traced" in ran.out
    else:
        assert f"block I/O: {summary['block']['events']:,} requests; " in ran.out
        # What disks of this machine counted is in the log: not all temporary folders are on one.
        counted = sum(summary["samples"]["disk_write_bytes"]) >= JOB_BYTES
        if counted and summary["block"]["lost"] == 0:
            assert summary["block"]["write"]["bytes"] >= JOB_BYTES
    for warning in summary["warnings"]:
        assert f"warning: {warning}" in ran.err


def test_trace_show_has_the_settings_of_devices_and_the_read_amplification(
    run: Run, trace: str, tmp_path: Path
) -> None:
    from shutil import copytree

    copy = copytree(trace, tmp_path / "copy.trace")
    manifest = json.loads((copy / "manifest.json").read_text())
    for disk in manifest["machine"]["disks"]:
        disk |= {"read_ahead": "4MiB", "scheduler": "kyber", "max_request": "640KiB"}
        disk |= {"model": "made up", "members": ["sdx"]}
    reads = {"fetched": "4MiB", "returned": "1MiB", "mapped": "0B"}
    manifest["reads"] = reads | {"is_asynchronous": False, "is_partial": False}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    ran = run("trace", "show", str(copy), "--json", str(tmp_path / "shown.json"))
    summary = json.loads((tmp_path / "shown.json").read_text())
    assert "read amplification of the command: at least 4.00" in ran.out
    assert summary["read_amplification"] == 4
    assert "warning: read amplification 4.00" in ran.err
    # A bound below one says nothing.
    manifest["reads"] = reads | {"returned": "8MiB", "is_asynchronous": False, "is_partial": False}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert "read amplification" not in run("trace", "show", str(copy)).out
    manifest["reads"] = reads | {"is_asynchronous": False, "is_partial": False}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    settings = "read-ahead 4 MiB, requests up to 640 KiB, scheduler kyber"
    # Another program may use a device that was not there at the start.
    known = {disk["name"] for disk in manifest["machine"]["disks"]}
    for device in (device for device in summary["devices"] if device["name"] in known):
        line = next(line for line in ran.out.splitlines() if line.startswith(device["name"]))
        assert line.startswith(f"{device['name']} (made up): ")
        assert settings in line
        assert "made of sdx" in line


def test_parts_spaces_and_schemas_are_listed(run: Run) -> None:
    listed = run("parts").out
    assert "gordon-slc-256g" in listed
    assert "Barracuda" in listed
    assert "2.4W" in run("parts", "show", "atom").out
    assert run("parts", "list").out == run("parts").out
    assert "84" in run("spaces").out
    assert "[[processors]]" in run("spaces", "show", "gordon-2009").out
    assert json.loads(run("schema", "cpu").out)["title"] == "Cpu"


def test_every_shipped_file_loads() -> None:
    from gordon import parts
    from gordon.survey import space

    for kind in parts.KINDS:
        assert parts.names(kind)
        for name in parts.names(kind):
            assert parts.load(kind, name)["summary"]
    for name in space.names():
        assert space.load(name)["name"] == name


def test_a_trace_without_work_is_a_warning(
    run: Run, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`true` may take no tick of the CPU clock: every design would need no time."""
    from gordon import _core

    real = _core.survey

    def idle(*arguments: Any) -> str:
        raw = json.loads(real(*arguments))
        for design in raw["designs"]:
            design["sync"] |= {"time_s": 0.0, "energy_j": 0.0}
        return json.dumps(raw)

    monkeypatch.setattr(_core, "survey", idle)
    ran = run("survey", trace, *PAPER)
    assert (ran.status, ran.out) == (1, "")
    assert ran.kind == "no-work"


@pytest.mark.parametrize("memory", ["0", "1KiB"])
def test_too_little_memory_is_refused(run: Run, tmp_path: Path, memory: str) -> None:
    ran = run("trace", "-o", str(tmp_path / "t"), "--memory", memory, "--", "true")
    assert (ran.status, list(tmp_path.iterdir())) == (2, [])
    assert "--memory" in ran.err


def test_more_traces_than_nodes_are_refused(run: Run, trace: str, tmp_path: Path) -> None:
    other = str(shutil.copytree(trace, tmp_path / "other.trace"))
    ran = run("survey", trace, other, *PAPER, "--nodes", "1")
    assert ran.status == 1
    assert "2 traces for 1 nodes" in ran.err
    assert "--nodes 2" in ran.err


def test_a_huge_count_is_one_error(run: Run, trace: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    shown = run("spaces", "show", "gordon-2009").out
    mine.write_text(shown.replace("counts = [1]", "counts = [4000000000]"))
    ran = run("survey", trace, *PAPER, "--space", str(mine))
    assert ran.status == 1
    assert "is not 1 to 1024" in ran.err


def test_a_signal_while_an_error_is_printed_leaves_no_traceback() -> None:
    script = (
        "import os, signal; from gordon import cli;"
        "cli.say = lambda *_: os.kill(os.getpid(), signal.SIGTERM);"
        "cli.main(['flash', 'replay', 'no-such-trace'])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (-signal.SIGTERM, "")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["help"], ["--help"]),
        (["help", "parts", "show"], ["parts", "show", "--help"]),
        (["version"], ["--version"]),
    ],
)
def test_help_and_version_are_words_too(run: Run, words: list[str], options: list[str]) -> None:
    assert run(*words).out == run(*options).out != ""
