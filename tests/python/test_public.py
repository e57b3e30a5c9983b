"""The public functions and results of the package, all of them: a new one is tested here without
being named.
"""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields as fields_of
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow  # type: ignore[import-untyped, unused-ignore]
import pytest

import gordon
from api import MODULES
from gordon import fields
from gordon.cache import tiered
from gordon.columns import arrow, of
from gordon.errors import GordonError
from gordon.options import kinds
from gordon.result import Result
from gordon.results import Comparison, Run
from gordon.survey import space
from test_options import tables

from conftest import raises

ROOT = Path(__file__).resolve().parents[2]
PLACES = [
    f"gordon.{name}"
    for name in (
        *(one for one in dir(gordon) if one not in ("GordonError", "__version__")),
        *MODULES,
    )
]
#: Functions that list or find something; the others return a result.
PLAIN = {
    *(
        "cache.policies",
        "disk.load",
        "disk.names",
        "disk.fit.probe",
        "disk.text",
        "flash.load",
        "flash.names",
    ),
    *("flash.text", "energy.candidates", "energy.chosen", "energy.named", "run.is_run"),
    *("run.traces", "storage.is_kept", "sweep.load", "trace.formats", "trace.read"),
    *("workload.plan", "workload.run_planned"),
}


def public() -> Iterator[tuple[str, Any]]:
    """The names in `__all__` of each place, with the place in front, and their values."""
    for place in PLACES:
        module = import_module(place)
        for name in module.__all__:
            yield f"{place.removeprefix('gordon.')}.{name}", getattr(module, name)


FUNCTIONS = {name: one for name, one in public() if inspect.isfunction(one)}
RESULTS = {name: one for name, one in public() if isinstance(one, type) and issubclass(one, Result)}


@pytest.mark.parametrize("place", PLACES)
def test_only_what_is_public_is_listed(place: str) -> None:
    module = import_module(place)
    assert dir(module) == sorted(module.__all__)
    assert not [name for name in module.__all__ if name.startswith("_")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_keyword_is_explicit_and_has_a_type(name: str) -> None:
    signature = inspect.signature(FUNCTIONS[name])
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
        assert parameter.annotation is not inspect.Parameter.empty, parameter.name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_has_a_text_and_each_option_of_a_table(name: str) -> None:
    function = FUNCTIONS[name]
    text = inspect.getdoc(function) or ""
    assert text[0].isupper() or text[0] == "`"
    if "**options" not in inspect.getsource(function).partition('"""')[0]:
        return
    listed = text.partition("\nOptions:\n")[2]
    own = inspect.signature(function, follow_wrapped=False)
    written = inspect.Signature.from_callable(
        types.FunctionType(inspect.unwrap(function).__code__, {})
    )
    for parameter in own.parameters:
        if parameter not in written.parameters:
            assert f"    {parameter}: " in listed, parameter


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_returns_a_result(name: str) -> None:
    hint = typing.get_type_hints(inspect.unwrap(FUNCTIONS[name])).get("return")
    found = [typing.get_origin(one) or one for one in typing.get_args(hint) or (hint,)]
    if typing.get_origin(hint) is Comparison:
        found = [Comparison]
    is_result = all(isinstance(one, type) and issubclass(one, Result) for one in found)
    assert is_result == (name not in PLAIN), hint


def sizes() -> set[str]:
    """The names of options that are sizes."""
    found = set()
    for table in tables():
        for field in fields_of(table):
            about = getattr(field.type, "__metadata__", ())
            if any(
                one in (kinds.SIZE, kinds.SIZES) or isinstance(one, kinds.Size) for one in about
            ):
                found.add(field.name)
    return found


SIZES = sizes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_size_is_a_number_or_a_text_and_settings_are_a_mapping(name: str) -> None:
    hints = typing.get_type_hints(inspect.unwrap(FUNCTIONS[name]))
    keywords = hints.pop("options", None)
    if typing.get_origin(keywords) is typing.Unpack:
        hints |= typing.get_type_hints(typing.get_args(keywords)[0])
    for parameter, hint in hints.items():
        text = str(hint)
        if parameter in SIZES and text.startswith("str") and "PathLike" not in text:
            assert "int" in text, parameter
        if parameter == "set":
            assert "Mapping" in text


def test_a_number_may_be_a_text_as_for_the_command_or_one_of_numpy() -> None:
    wanted = gordon.flash.bench("mixed", requests=200, read_share=0.7)
    assert gordon.flash.bench("mixed", requests="2e2", read_share="70%") == wanted  # type: ignore[arg-type]
    numpy = pytest.importorskip("numpy")
    made = gordon.flash.bench("mixed", requests=numpy.int64(200), size=numpy.int64(4096))
    assert made == gordon.flash.bench("mixed", requests=200, size=4096)
    with raises("bad-value", "requests", "many"):
        gordon.flash.bench("mixed", requests="many")  # type: ignore[arg-type]
    with raises("bad-value", "deadline", "soon"):
        gordon.survey.run("spark-sort", deadline="soon")  # type: ignore[arg-type]


def test_a_space_may_be_a_path(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(space.text("modern"))
    found: Any = gordon.survey.run("spark-sort", space=own, deadline="10min")  # type: ignore[arg-type]
    assert found["verdict"]["deadline_s"] == 600


def test_an_option_of_two_levels_is_refused_for_one(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("1,a,100\n2,b,100\n")
    with raises("needs-option", "rate"):
        gordon.cache.replay(trace, dram="1MiB", rate=100.0)  # type: ignore[call-overload]


def test_settings_of_a_mapping_are_those_of_texts(tmp_path: Path) -> None:
    load: Any = {"pattern": "random-write", "requests": 50}
    texts = ["capacity=2GiB", "ftl.victim=fifo", "timing.read=50us", "ftl.write_points=2"]
    wanted = gordon.flash.bench(set=texts, **load)
    table = {
        "capacity": "2GiB",
        "ftl": {"victim": "fifo", "write_points": 2},
        "timing.read": "50us",
    }
    assert gordon.flash.bench(set=table, **load) == wanted
    assert gordon.flash.bench(size=4096, **load) == gordon.flash.bench(size="4KiB", **load)
    with raises("bad-setting", "capacity", "None"):
        gordon.flash.bench(set={"capacity": None}, **load)
    with raises("bad-setting", "capacity"):
        gordon.flash.bench(set="capacity", **load)


def sample(hint: Any) -> Any:
    """A value of a type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.NotRequired, typing.Required):
        return sample(inner[0])
    if origin in (types.UnionType, typing.Union):
        return sample(next(one for one in inner if one is not type(None)))
    if origin is typing.Literal:
        return inner[0]
    if origin is list:
        return [sample(inner[0]), sample(inner[0])]
    if origin is tuple:
        return [sample(one) for one in inner if one is not ...]
    if origin is dict:
        return {"one": sample(inner[1])}
    if typing.is_typeddict(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        return {key: sample(one) for key, one in hints.items()}
    values: dict[Any, Any] = {str: "text", int: 3, float: 0.5, bool: True, type(None): None}
    return values.get(hint, "any")


def made(kind: type[Any], report: Any) -> Any:
    """A result of a kind with this report."""
    result: Any = object.__new__(kind)
    result._report = report
    return result


def _trace(folder: Path) -> Path:
    """A trace of blocks."""
    path = folder / "t.mqsim"
    path.write_text("".join(f"{at * 1000} 0 {at % 40 * 8} 8 {at % 2}\n" for at in range(200)))
    return path


LOAD: Any = {"pattern": "mixed", "requests": 200, "size": "4KiB"}
FLASH: Any = (None, ["gordon-slc-256g", "nvme-tlc-1tb"])
#: Kinds whose parts depend on each other, from a real call.
REAL: dict[str, Callable[[Path], Any]] = {
    "flash.Result": lambda _: gordon.flash.bench(**LOAD),
    "disk.Result": lambda _: gordon.disk.bench(**LOAD),
    "flash.Comparison": lambda _: gordon.flash.compare(*FLASH, **LOAD),
    "disk.Comparison": lambda _: gordon.disk.compare(None, gordon.disk.names()[:2], **LOAD),
    "cache.CacheResult": lambda folder: gordon.cache.replay(_trace(folder), dram=8192),
    "cache.TwoLevelResult": lambda folder: gordon.cache.replay(
        _trace(folder), policy="flashcache", dram="4MiB", flash="8MiB", set={"cache.ways": 4}
    ),
    "cache.CacheSweepResult": lambda folder: gordon.cache.sweep(
        _trace(folder), policies="lru,fifo", dram=[8192, 16384]
    ),
    "cache.TwoLevelSweepResult": lambda folder: gordon.cache.sweep(
        _trace(folder), dram="4MiB", flash=[0, 8 << 20], cores=[4], set={"cache.ways": 4}
    ),
    "cache.CurveResult": lambda folder: gordon.cache.mrc(_trace(folder)),
    "cache.tiered.TieredResult": lambda folder: tiered.replay(
        _trace(folder), dram="1MiB", flash="16MiB", objects=True
    ),
}


def results() -> dict[str, Any]:
    """A result of each public kind, with values of the types of its report."""
    found = {}
    for name, kind in RESULTS.items():
        if kind is gordon.survey.Survey or name in REAL:
            continue
        reports = [fields.KINDS[base] for base in _of_stub(kind) if base in fields.KINDS]
        assert reports, f"{name} has no kind in gordon.fields"
        module, _, report = reports[0][0].rpartition(".")
        found[name] = made(kind, sample(getattr(import_module(module), report)))
    return found


def _of_stub(kind: type[Any]) -> list[str]:
    """The bases of a class in `gordon.fields`, as its source names them."""
    source = inspect.getsource(kind).partition("\n")[0]
    return [word.strip(" ):").removeprefix("fields.") for word in source.split("(")[1].split(",")]


SAMPLES = results()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {name: call(tmp_path_factory.mktemp("real")) for name, call in REAL.items()}


@pytest.fixture(params=[*SAMPLES, *REAL])
def result(request: pytest.FixtureRequest, real: dict[str, Any]) -> Any:
    return (SAMPLES | real)[request.param]


def test_a_result_is_a_mapping_with_attributes(result: Any) -> None:
    assert json.loads(json.dumps(result.report)) == result == result.report
    assert result | {"more": 1} == {**result, "more": 1}
    assert dict(result) == dict(result.items()) == result.report
    assert (list(result), len(result)) == (list(result.keys()), len(result.values()))
    assert result.get("no-such", 1) == 1
    assert "no-such" not in result
    methods = set(dir(Run)) | {"name"}
    for key in result:
        assert key in dir(result) or not key.isidentifier()
        if key.isidentifier() and key not in methods:
            assert getattr(result, key) == result[key]
    first = next(key for key in result if len(key) > 4 and key not in methods)
    with pytest.raises(AttributeError, match=f"`{first}`"):
        getattr(result, f"{first}s")


def test_a_result_says_something_and_is_shown(result: Any) -> None:
    text = repr(result)
    assert text.startswith("<gordon.")
    assert text.endswith(">")
    assert "object at" not in text
    assert len(text.partition(": ")[2]) > 3, text
    html = result._repr_html_()
    assert html.count("<tr>") >= 1
    assert html.count("<table>") == html.count("</table>") == 1


def test_a_result_is_kept_by_pickle_and_copy(result: Any) -> None:
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):  # noqa: S301 our own
        assert type(again) is type(result)
        assert again == result
        assert repr(again) == repr(result)
        assert again.tables == result.tables
        assert again.columns() == result.columns()


def test_a_result_has_tables_for_arrow(result: Any, tmp_path: Path) -> None:
    assert not isinstance(result, Mapping), "polars would take it for columns"
    whole = pyarrow.table(result)
    assert whole.to_pydict() == pyarrow.table(result.table()).to_pydict()
    assert whole.column_names == list(result.columns())
    assert result.columns() == result.columns(result.tables[0])
    result.to_parquet(tmp_path / "tables")
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in result.tables:
        if result.columns(name):
            read = parquet.read_table(tmp_path / "tables" / f"{name}.parquet")
            assert read.num_rows == len(result.table(name))
    with raises("unknown-name", "no-such"):
        result.table("no-such")


@pytest.mark.parametrize("rows", [0, 1, 20, 21, 1000])
def test_a_table_says_what_it_has_and_notebooks_show_its_first_rows(rows: int) -> None:
    names = [f"c{number}" for number in range(8)]
    table = arrow({name: [*range(rows)] for name in names})
    assert repr(table) == (
        f"<Table: {rows:,} row{'s' * (rows != 1)} of c0, c1, c2, c3, c4, c5, ...>"
    )
    assert len(table.head(20)) == min(rows, 20)
    shown = table._repr_html_()
    assert shown.count("<th>") == 8
    assert shown.count("<tr>") == 1 + min(rows, 20)
    assert ("more rows" in shown) == (rows > 20)
    assert ("980 more rows" in shown) == (rows == 1000)


def test_the_requests_of_a_trace_are_shown_although_they_are_in_batches(tmp_path: Path) -> None:
    path = str(tmp_path / "t.trace")
    Path(path).write_text("".join(f"{number} 0 {8 * number} 8 1\n" for number in range(50)))
    table = gordon.trace.read(path, format="mqsim")
    assert repr(table).startswith("<Table: 50 rows of ")
    assert table._repr_html_().endswith("<p>30 more rows</p>")


def test_a_result_is_saved(result: Any, tmp_path: Path) -> None:
    for suffix in ("json", "csv", "parquet"):
        result.save(tmp_path / f"x.{suffix}")
        assert (tmp_path / f"x.{suffix}").stat().st_size > 1
    assert json.loads((tmp_path / "x.json").read_text()) == result
    with raises("bad-report-format", ".txt"):
        result.save(tmp_path / "x.txt")


def test_figures_and_pages_are_those_of_the_kind(real: dict[str, Any], tmp_path: Path) -> None:
    go = pytest.importorskip("plotly.graph_objects")
    for name, result in real.items():
        if name in ("cache.CacheResult", "cache.TwoLevelResult"):
            continue
        assert isinstance(result.figure(), go.Figure)
        (first, *_) = result.figures()
        assert result.figure(first) == result.figure()
        with raises("unknown-name", "no-such"):
            result.figure("no-such")
        result.save(tmp_path / "x.html")
        assert (tmp_path / "x.html").read_text().startswith("<!doctype html>")
    with raises("no-figure", "PetabyteResult"):
        gordon.cost.petabyte().figure()
    with raises("no-page", "PetabyteResult"):
        gordon.cost.petabyte().save(tmp_path / "y.html")


@pytest.mark.parametrize("method", ["to_pandas", "to_polars"])
def test_a_library_that_is_missing_is_named(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with raises("missing-package", method.removeprefix("to_")):
        getattr(gordon.cost.petabyte(), method)()


def test_to_polars_gives_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for polars: what is handed over is Arrow."""
    polars = types.ModuleType("polars")
    polars.DataFrame = pyarrow.table  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "polars", polars)
    found = gordon.cost.petabyte()
    assert found.to_polars().to_pydict() == found.columns("media")
    assert found.to_polars("values").num_rows == 1


def test_nested_values_become_columns_and_lists_become_tables() -> None:
    report = {"a": {"b": 1, "c": None}, "rows": [{"x": 1}, {"x": 2, "y": {"z": "t"}}], "n": [1, 2]}
    assert of(report) == {
        "values": {"a_b": [1], "a_c": [None], "n_1": [1], "n_2": [2]},
        "rows": {"x": [1, 2], "y_z": [None, "t"]},
    }
    assert list(of({})) == []


def test_every_kind_of_result_is_public() -> None:
    used = {base for kind in RESULTS.values() for base in _of_stub(kind)}
    assert fields.KINDS.keys() | fields.UNIONS.keys() == used & (
        fields.KINDS.keys() | fields.UNIONS.keys()
    )
    with pytest.raises(AttributeError, match="NoSuchResult"):
        fields.NoSuchResult  # type: ignore[attr-defined]  # noqa: B018


def test_traces_are_recorded_read_and_converted(tmp_path: Path) -> None:
    source = tmp_path / "a.mqsim"
    source.write_text("".join(f"{at * 1000} 0 {at * 8} 8 {at % 2}\n" for at in range(5)))
    requests = pyarrow.table(gordon.trace.read(source, format="mqsim"))
    assert requests.column_names == [
        *("at_ns", "op", "device", "offset_bytes", "bytes", "latency_ns")
    ]
    assert requests["op"].to_pylist() == ["write", "read", "write", "read", "write"]
    assert requests["offset_bytes"].to_pylist() == [at * 4096 for at in range(5)]
    assert requests["latency_ns"].null_count == 5
    made = gordon.trace.convert(source, tmp_path / "a.trace", format="mqsim")
    assert isinstance(made, gordon.trace.ConvertResult)
    assert made["requests"] == 5
    again = pyarrow.table(gordon.trace.read(tmp_path / "a.trace"))
    assert again["bytes"].to_pylist() == requests["bytes"].to_pylist()
    shown = gordon.trace.summary(tmp_path / "a.trace")
    assert "path" in shown
    assert shown["path"] == str(tmp_path / "a.trace")
    assert "mqsim" in {one["name"] for one in gordon.trace.formats()}
    log = tmp_path / "access.log"
    log.write_text('h - - [01/Jan/2026:00:00:01 +0000] "GET /a HTTP/1.1" 200 100\n' * 3)
    objects = pyarrow.table(gordon.trace.read(log))
    assert objects.column_names == ["at_ns", "key", "bytes", "write", "next"]
    with raises("exclusive-options", "cores"):
        gordon.trace.convert(source, tmp_path / "b", cores=2)
    with pytest.raises(FileNotFoundError):
        gordon.trace.read(tmp_path / "none")
    with raises("command-is-text"):
        gordon.trace.record("sleep 1", tmp_path / "r")
    with raises("out-of-range", "memory"):
        gordon.trace.record(["true"], tmp_path / "r", memory=1000)


def test_an_error_is_one_of_the_system_or_of_a_value(tmp_path: Path) -> None:
    cases: list[tuple[type[Exception], Callable[[], object]]] = [
        (FileNotFoundError, lambda: gordon.cache.replay("none", dram=1 << 20)),
        (FileNotFoundError, lambda: gordon.sort.run("none", tmp_path / "out")),
        (FileNotFoundError, lambda: gordon.block.check(tmp_path / "none")),
        (ValueError, lambda: gordon.flash.bench("mixed", size="much")),
        (ValueError, lambda: gordon.flash.text("nothing")),
        (ValueError, lambda: gordon.cost.petabyte("nothing")),
    ]
    for kind, call in cases:
        with pytest.raises(GordonError) as found:
            call()
        assert isinstance(found.value, kind), found.value
        assert found.value.message
        again = pickle.loads(pickle.dumps(found.value))  # noqa: S301 our own
        assert (type(again), again.args, again.kind) == (
            *(type(found.value), found.value.args, found.value.kind),
        )
        if isinstance(found.value, OSError):
            assert found.value.errno == again.errno == 2
            # A reader of the message has no use for the number.
            assert "os error" not in found.value.message


def test_a_folder_of_tables_is_not_made_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with raises("unwritable", "file/tables"):
        gordon.cost.petabyte().to_parquet(tmp_path / "file/tables")
    assert (tmp_path / "file").read_text() == "mine"


WRONG = """\
import gordon
gordon.flash.bench("random-write", requestz=3)
gordon.flash.bench("randwrite")
gordon.flash.bench("mixed", precondition="lots")
gordon.cache.replay("t", dram="1MiB", polcy="lru")
gordon.cache.replay("t", dram="1MiB", policy="lruu")
gordon.cache.replay("t", dram=1.5)
gordon.survey.run("t", spaze="ec2")
gordon.survey.run("t")["desings"]
gordon.cache.replay("t", dram="1MiB").mis_ratio
gordon.flash.compare(None, ["a", "b"], pattern="mixed", order="strict")
gordon.flash.wa("oldest")
gordon.flash.bench("mixed")["read"]["latency"]
gordon.cost.petabyte()["media"][0]["totl_cost"]
gordon.block.create("i", set=3)
"""
RIGHT = """\
import gordon
gordon.flash.bench("random-write", requests=3, size=4096, set={"capacity": "2GiB"})
gordon.cache.replay("t", dram=1 << 20, policy="flashcache", flash="1GiB", ecc=2)["wear"]
gordon.cache.replay("t", dram="1MiB").miss_ratio
gordon.survey.run("t", space="ec2", set={"machines": {"a": {"cores": 2}}})["verdict"]
gordon.flash.bench("mixed")["read"]["latency_us"]["p99"]
gordon.flash.compare("t", ["a", "b"], order="strict").figure()
gordon.cost.petabyte()["media"][0]["total_cost"]
"""


def test_the_examples_of_the_reference_call_what_there_is(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs/API.md").read_text(), re.DOTALL)
    assert len(examples) > 15
    for number, text in enumerate(examples):
        (tmp_path / f"example_{number}.py").write_text(f"import gordon\n{text}")
    # An example shows a value that may be None, and lists calls in one line.
    off = ["--disable-error-code=index", "--disable-error-code=func-returns-value"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", *off, str(tmp_path)],
        cwd=ROOT,
        env={"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout


def test_a_type_checker_finds_each_wrong_call_and_no_right_one(tmp_path: Path) -> None:
    files = [tmp_path / "wrong.py", tmp_path / "right.py"]
    for file, text in zip(files, (WRONG, RIGHT), strict=True):
        file.write_text(text)
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", *map(str, files)],
        cwd=ROOT,
        env={"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    found = [line for line in ran.stdout.splitlines() if ": error:" in line]
    lines = {line.partition("wrong.py:")[2].partition(":")[0] for line in found}
    assert lines == {str(at) for at in range(2, len(WRONG.splitlines()) + 1)}, ran.stdout
    assert not [line for line in found if "right.py" in line], ran.stdout
