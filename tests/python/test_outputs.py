"""A command that cannot write its output fails before it works; one with a table writes it in every
format."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gordon import locks
from gordon.cli import gordon

from conftest import Run

# The other required words of a command. The input is missing, which would be the next error.
ALSO = {
    "doctor": [],
    "reproduce flashcache": [],
    "trace formats": [],
    "flash presets": [],
    "disk presets": [],
    "cache presets": [],
    "cache policies": [],
    "spaces list": [],
    "spaces update": ["--from", "in"],
    "parts list": [],
    "trace show": ["in"],
    "trace convert": ["in", "out.trace"],
    "trace anonymise": ["in", "out.trace"],
    "survey": ["in"],
    "flash replay": ["in"],
    "flash bench": ["--pattern", "mixed", "--from-checkpoint", "in"],
    "flash compare": ["in", "in.toml", "other.toml"],
    "flash wa": ["--rho", "1"],
    "flash probe": ["in"],
    "flash fit": ["in"],
    "flash validate": ["in.toml", "in"],
    "disk replay": ["in"],
    "disk bench": ["--pattern", "mixed", "--preset", "in.toml"],
    "disk compare": ["in", "in.toml", "other.toml"],
    "disk probe": ["in"],
    "disk fit": ["in"],
    "cache replay": ["in", "--dram", "1MiB"],
    "cache sweep": ["in", "--dram", "1MiB"],
    "cache mrc": ["in"],
    "cache latency": ["in"],
    "cache tiered": ["in", "--dram", "1MiB", "--flash", "1GiB"],
    "cache generate": ["surge", "--files", "1B"],
    "cache serve": ["--root", "in", "--dram", "1MiB", "--listen", "127.0.0.1:0"],
    "cache stat": ["--socket", "in"],
    "cache purge": ["/in", "--socket", "in"],
    "cache check": ["--socket", "in"],
    "cache warm": ["/in", "--socket", "in"],
    "storage characterise": ["in"],
    "compare": ["in", "in.toml", "other.toml"],
    "sort run": ["in", "out"],
    "sort generate": ["-n", "5"],
    "sort validate": ["in"],
    "sort extrapolate": ["in"],
    "reproduce gordon": ["in"],
    "reproduce joulesort": [],
    "reproduce rewrite": ["--export", "in"],
    "sort tune": ["--input", "in"],
    "workload list": [],
    "workload run": ["ngram", "--from", "in"],
    "workload data": ["text", "--size", "1MB", "--from", "in", "-o", "corpus"],
    "block create": ["in/no.img", "--preset", "in.toml"],
    "block stat": ["--socket", "in"],
    "block serve": ["in"],
    "block check": ["in"],
    "block export": ["in", "in/no.raw"],
    "block wear": ["in"],
    "sweep": ["in"],
    "cost petabyte": ["--inputs", "in"],
    "cost tco": ["in", "--node", "framework-desktop"],
    "explain": ["in"],
    "cost grids": [],
    "cost prices": [],
    "cost replicas": ["in"],
    "rack": ["--node", "none", "--space", "in"],
    "plan": ["--node", "none", "--link", "1Gb", "--jobs", "in"],
    "meter list": [],
    "meter record": ["--", "in"],
    "joulesort": ["--records", "5", "--dir", "in"],
}
# Options that name what is written. A trace is recorded into a folder that is made first of all.
FILES = {"json_path", "report", "plot", "csv_path", "out", "summary"}
FILES |= {"requests_out", "responses_out", "checkpoint"}


def commands(group: click.Command, *words: str) -> Iterator[tuple[str, click.Command]]:
    """Every command under its name, a group's default one under that of the group."""
    if not isinstance(group, click.Group):
        yield " ".join(words), group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command, *words, name)


OUTPUTS = [
    (name, command, option)
    for name, command in commands(gordon)
    for option in command.params
    if isinstance(option, click.Option)
    and (option.name in FILES or option.name == "parquet" or option.opts[-1] == "--output")
    and name != "trace record"
]


@pytest.mark.parametrize(
    ("name", "command", "option"), OUTPUTS, ids=[f"{name} {o.opts[0]}" for name, _, o in OUTPUTS]
)
def test_an_unwritable_output_is_reported_before_the_work(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    command: click.Command,
    option: click.Option,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    path = "file/x" if option.name == "parquet" else "no/x.svg"
    needed = [one for one in command.params if one.required and isinstance(one, click.Option)]
    also = list(ALSO[name])
    for one in needed:
        if one is not option and not {*one.opts} & {*also}:
            also += [one.opts[-1], f"{one.name}.svg"]
    ran = run(*name.split(), option.opts[-1], path, *also)
    assert (ran.status, ran.out) == (1, ""), ran.err
    assert ran.err.startswith(f"error: cannot write {path}: "), ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_no_output_destroys_what_a_command_reads(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text("dear")
    (tmp_path / "link").symlink_to("in")
    # Folders, servers and work of their own are no files that could be written over.
    others = {"trace show", "survey", "block create", "block stat", "joulesort"}
    others |= {"reproduce gordon", "reproduce joulesort", "reproduce rewrite"}
    others |= {
        "doctor",
        "reproduce flashcache",
        "trace formats",
        "cost grids",
        "cost prices",
        "workload list",
        "spaces list",
        "parts list",
        "flash presets",
        "disk presets",
        "cache presets",
        "cache policies",
        "meter list",
        "meter record",
        "sort generate",
        "cache generate",
    }
    others |= {"cache stat", "cache purge", "cache check", "cache warm"}
    others |= {"flash bench", "flash wa", "disk bench", "sort extrapolate"}
    reports = {name for name, _, option in OUTPUTS if option.name == "json_path"}
    for name in sorted(reports - others):
        for path in ("in", "./in", "link"):
            also = (
                ["-o", "tuned"]
                if name in ("sort tune", "sweep", "workload run", "spaces update")
                else []
            )
            ran = run(*name.split(), *ALSO[name], *also, "--json", path)
            assert ran.status == 1, (name, ran.err)
            assert ran.kind == "path-in-use", (name, ran.err)
            assert ran.err.startswith(f"error: cannot write {path}: "), (name, ran.err)
    ran = run("sort", "in", "out", "--json", "out")
    ran.refused("path-in-use", "cannot write out: ")
    assert (tmp_path / "in").read_text() == "dear"
    assert {path.name for path in tmp_path.iterdir()} == {"in", "link"}


@pytest.mark.parametrize(
    ("words", "used"),
    [
        ("flash bench --pattern mixed --preset own.toml", "own.toml"),
        ("flash bench --pattern mixed --from-checkpoint kept", "kept"),
        ("disk bench --pattern mixed --preset own.toml", "own.toml"),
        ("storage characterise --preset own.toml", "own.toml"),
        ("sort in out --config own.toml", "own.toml"),
        ("survey day.trace --space own.toml", "own.toml"),
        ("survey day.trace", "day.trace/manifest.json"),
        ("trace show day.trace", "day.trace/manifest.json"),
    ],
)
def test_no_output_destroys_the_files_of_options_and_traces(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, used: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("day.trace").mkdir()
    Path(used).write_text("dear")
    for path in (used, f"./{used}"):
        run(*words.split(), "--json", path).refused("path-in-use", f"cannot write {path}: ")
    assert Path(used).read_text() == "dear"


def test_two_names_of_one_file_are_one_output(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("survey", "in", "--json", "out", "--csv", "./out")
    ran.refused("path-in-use", "two outputs have the path")


#: Commands whose result is in sentences, without a table.
NO_TABLE = {
    *("trace convert", "trace anonymise", "spaces update", "workload data", "flash wa", "disk fit"),
    "flash fit",
    *("cache generate", "cache serve", "cache stat", "cache purge", "cache check", "cache warm"),
    *("block create", "block serve", "block stat", "block check", "block export"),
    *("sort generate", "sort validate"),
}
#: Commands that print a file or a stream, or run another command.
NO_RESULT = {
    *("demo", "trace agent", "trace record", "disk probe", "meter watch", "schema"),
    "flash probe",
    *("cost inputs", "flash show", "disk show", "cache show", "parts show", "spaces show"),
}


def test_every_command_with_a_table_writes_json_csv_and_parquet() -> None:
    lacking = {}
    for name, command in commands(gordon):
        known = {flag for option in command.params for flag in option.opts}
        wanted = set() if name in NO_RESULT else {"--json"}
        if wanted and name not in NO_TABLE:
            wanted |= {"--csv", "--parquet"}
        if wanted - known:
            lacking[name] = wanted - known
    assert lacking == {}


LISTS = {
    "trace formats": "formats",
    "parts list": "parts",
    "spaces list": "spaces",
    "workload list": "jobs",
    "cache policies": "policies",
    "cache presets": "presets",
    "disk presets": "presets",
    "flash presets": "presets",
    "doctor": "findings",
    "meter list": "meters",
    "cost grids": "grids",
    "trace show spark-sort": "stages",
    "sort extrapolate": "systems",
    "compare web.parquet nvme-tlc-1tb sata-7200-1tb": "devices",
    "flash compare nvme-tlc-1tb mqsim-mlc-512g --pattern mixed --requests 100": "devices",
    "flash bench --pattern mixed --requests 100": "series",
    "cache sweep web.parquet --dram 1MiB,2MiB": "caches",
    "cache latency web.parquet --dram 1MiB": "points",
    "block wear new.img": "blocks",
    "sort web.parquet out --lines": "phases",
    "storage characterise --preset nvme-tlc-1tb --sizes 64KiB --depths 1": "points",
}


@pytest.mark.parametrize("words", LISTS)
def test_a_table_has_the_same_rows_in_csv_and_parquet(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    if "web.parquet" in words:
        load = ["--files", "100MB", "--requests", "1k", "-o", "web.parquet"]
        made = run("cache", "generate", "surge", *load)
        assert made.status == 0, made.err
    if "new.img" in words:
        made = run("block", "create", "new.img", "--set", "capacity=1GiB")
        assert made.status == 0, made.err
    ran = run(*words.split(), "--csv", "-", "--parquet", "tables", "--json", "all.json")
    assert ran.status == 0, ran.err
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    table = pq.read_table(tmp_path / "tables" / f"{LISTS[words]}.parquet")
    assert rows
    assert list(rows[0]) == table.column_names
    assert len(rows) == table.num_rows
    listed = json.loads((tmp_path / "all.json").read_text()).get(LISTS[words])
    assert listed is None or len(listed) == len(rows)


#: Commands that make data in the place of their last word, and the words behind it.
DATA = {
    "trace --interval 100ms -o": "-- sleep 0.2",
    "trace convert web.parquet": "",
    "trace anonymise in.trace": "",
    "cache generate surge --files 100MB --requests 1k -o": "",
    "workload data numbers --size 1MB -o": "",
    "block create": "--preset nvme-tlc-1tb --set capacity=1GiB",
    "block export in.img": "",
}


@pytest.fixture
def inputs(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trace of requests, a trace of a machine and an image."""
    monkeypatch.chdir(tmp_path)
    load = ["--files", "100MB", "--requests", "1k", "-o", "web.parquet"]
    for words in (
        ["cache", "generate", "surge", *load],
        ["trace", "convert", "web.parquet", "in.trace"],
        ["block", "create", "in.img", "--preset", "nvme-tlc-1tb", "--set", "capacity=1GiB"],
    ):
        made = run(*words)
        assert made.status == 0, made.err
    return tmp_path


@pytest.mark.parametrize("words", DATA)
def test_data_are_replaced_with_force_alone(run: Run, inputs: Path, words: str) -> None:
    out, also = inputs / "out", DATA[words].split()
    first = run(*words.split(), "out", *also)
    assert first.status == 0, first.err
    before = out.stat().st_ino
    again = run(*words.split(), "out", *also)
    again.refused("exists", "--force")
    assert out.stat().st_ino == before
    forced = run(*words.split(), "out", "--force", *also)
    assert forced.status == 0, forced.err
    assert out.stat().st_ino != before
    assert not list(inputs.glob(".out.old-*"))


def test_what_is_there_comes_back_if_the_new_data_fail(run: Run, inputs: Path) -> None:
    (inputs / "out").write_text("dear")
    (inputs / "bad.csv").write_text("no trace")
    ran = run("trace", "convert", "bad.csv", "out", "--force")
    assert ran.status == 1
    assert (inputs / "out").read_text() == "dear"


@pytest.mark.parametrize("inner", ["notes.txt", "manifest.json"])
def test_a_folder_of_something_else_is_not_replaced(run: Run, inputs: Path, inner: str) -> None:
    own = inputs / "own"
    own.mkdir()
    (own / inner).write_text('{"name": "an extension of a browser"}')
    (inputs / "link").symlink_to("in.trace")
    for name in ("own", "link"):
        ran = run("trace", "convert", "web.parquet", name, "--force")
        ran.refused("exists", "not a folder that gordon wrote")
    assert (own / inner).is_file()
    assert (inputs / "in.trace" / "manifest.json").is_file()


@pytest.mark.parametrize(
    "words",
    [
        "trace convert web.parquet ./web.parquet",
        "trace convert in.trace/block.parquet in.trace",
        "trace anonymise in.trace in.trace",
        "block export in.img in.img",
    ],
)
def test_data_that_a_command_reads_are_not_replaced(run: Run, inputs: Path, words: str) -> None:
    before = sorted(path.name for path in inputs.iterdir())
    run(*words.split(), "--force").refused("path-in-use", "the command itself reads it")
    assert sorted(path.name for path in inputs.iterdir()) == before


def test_an_image_in_use_is_not_replaced(run: Run, inputs: Path) -> None:
    with (inputs / "in.img").open("rb") as file:
        locks.hold(file)
        words = ["--preset", "nvme-tlc-1tb", "--set", "capacity=1GiB", "--force"]
        run("block", "create", "in.img", *words).refused("in-use", "in.img")
