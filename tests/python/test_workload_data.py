"""`gordon workload data`: files, manifest, sources, full disks, interrupts, bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gordon import GordonError, sort
from gordon.workload import data
from limits import PATIENCE_S
from serving import mount, quietly

from conftest import Run, raises

#: A folder of seed text, three languages' worth of whatever this test writes.
SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "A dog barks.",
    "Foxes sleep & dream <of> the dog's bones.",
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def seeds(tmp_path: Path) -> list[str]:
    """Two folders of seed text: English lines, and HTML pages."""
    (tmp_path / "en").mkdir()
    (tmp_path / "en/a.txt").write_text("\n".join(SENTENCES * 20) + "\n")
    (tmp_path / "de").mkdir()
    page = "<html><head><title>Der Titel</title></head><body><p>Grüße <a href='b.html'>an alle</a>"
    (tmp_path / "de/a.html").write_text(page + "</p></body></html>\n")
    return ["en", "de"]


def lines(folder: Path) -> list[str]:
    return [line for part in sorted(folder.glob("part-*")) for line in part.read_text().split("\n")]


def test_text_is_made_of_the_words_of_its_sources(
    run: Run, tmp_path: Path, seeds: list[str]
) -> None:
    ran = run(
        *("workload", "data", "text", "--size", "3MB", "--part-size", "1MiB", "-o", "corpus"),
        *("--from", "en", "--from", "de", "--json", "made.json"),
    )
    assert ran.status == 0, ran.err
    assert re.search(r"corpus: [\d,]+ lines, 3\.00 MB in 3 files, ", ran.out)
    assert "2 languages: de, en" in ran.out
    made: dict[str, Any] = json.loads((tmp_path / "made.json").read_text())
    manifest: dict[str, Any] = json.loads((tmp_path / "corpus/manifest.json").read_text())
    assert made | manifest == made
    assert (made["output"], made["kind"], made["seed"]) == ("corpus", "text", 1)
    assert {path.name for path in (tmp_path / "corpus").iterdir()} == {
        "manifest.json",
        *(f"part-0000{n}.txt" for n in range(3)),
    }
    crcs = 0
    for file in made["files"]:
        content = (tmp_path / "corpus" / file["name"]).read_bytes()
        assert len(content) == file["bytes"] <= 1 << 20
        found = [zlib.crc32(line) for line in content.splitlines()]
        assert (len(found), f"{sum(found):x}") == (file["records"], file["checksum"])
        crcs += sum(found)
    assert made["checksum"] == f"{crcs:x}"
    words = set(" ".join(lines(tmp_path / "corpus")).split())
    assert words <= {*" ".join(SENTENCES).split(), "Der", "Titel", "Grüße", "an", "alle"}
    assert made["sources"][0] == {"kind": "folder", "path": "en", "files": 1}


@pytest.mark.parametrize("kind", data.KINDS)
def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(
    tmp_path: Path, seeds: list[str], kind: str
) -> None:
    sources = seeds if kind in ("text", "web") else []
    made = [
        data.generate(
            kind, name, size="4MB", part_size="1MiB", sources=sources, threads=threads, seed=seed
        )
        for name, threads, seed in (("one", 1, 5), ("four", 4, 5), ("other", 4, 6))
    ]
    manifests = [(tmp_path / name / "manifest.json").read_bytes() for name in ("one", "four")]
    assert manifests[0] == manifests[1]
    assert made[0]["checksum"] == made[1]["checksum"] != made[2]["checksum"]
    for file in made[0]["files"]:
        one, four = (tmp_path / name / file["name"] for name in ("one", "four"))
        assert one.read_bytes() == four.read_bytes()


def test_web_pages_are_lines_of_json(tmp_path: Path, seeds: list[str]) -> None:
    made = data.generate("web", "corpus", size="1MB", sources=seeds)
    # Lines have no pages.
    assert [language["language"] for language in made["languages"]] == ["de"]
    records = [json.loads(line) for line in lines(tmp_path / "corpus") if line]
    assert len(records) == made["records"]
    for record in records:
        assert set(record) == {"url", "html"}
        assert re.fullmatch(r"http://site\d+\.example/\d+/\d+\.html", record["url"])
        link = re.search(r"<a href='([^']+)'>\S+ \S+</a></p></body></html>\n", record["html"])
        assert link
        assert link[1].startswith("http://site")
    urls = {record["url"] for record in records}
    assert len(urls) == made["records"]


def test_records_are_those_of_sort_generate(tmp_path: Path) -> None:
    made = data.generate("records", "corpus", size="2MB")
    expected = sort.generate("records", records=20_000)
    assert (tmp_path / "corpus/part-00000.dat").read_bytes() == (tmp_path / "records").read_bytes()
    assert (made["records"], made["checksum"]) == (20_000, expected["checksum"])
    made = data.generate("records", "other", size="2MB", seed=2)
    start = made["parameters"]["first_record"]
    assert start is not None
    expected = sort.generate("records", records=20_000, start=int(start))
    assert made["checksum"] == expected["checksum"]


def test_installed_packages_give_their_languages(tmp_path: Path) -> None:
    try:
        made = data.generate("text", "corpus", size="64MB")
    except GordonError as error:
        if error.kind not in ("no-packages", "packages-without-files"):
            raise
        pytest.skip(error.args[0])
    languages = made["languages"]
    found = lines(tmp_path / "corpus")
    # The mean line is that of the seed text.
    mean = statistics.mean(len(line.encode()) + 1 for line in found)
    seed = sum(one["bytes"] for one in languages) / sum(one["lines"] for one in languages)
    assert abs(mean - seed) < 0.25 * seed
    phrases: Counter[tuple[str, ...]] = Counter()
    for line in found[:100_000]:
        words = line.split()
        phrases.update(zip(words, words[1:], words[2:], strict=False))
    counts = sorted(phrases.values(), reverse=True)
    assert counts[0] > 100 > counts[len(counts) // 10]


@pytest.mark.parametrize("kind", ["text", "web"])
def test_missing_packages_are_named(tmp_path: Path, kind: str) -> None:
    with raises("no-packages") as caught:
        data.generate(kind, "corpus", size="1MB", root=tmp_path)
    assert "apt install" in caught.value.args[1]
    assert "--from" in caught.value.args[1]


def test_a_full_disk_leaves_nothing(run: Run, tmp_path: Path) -> None:
    # A limit on the size of files stands for a disk that fills while the corpus is written.
    resource = pytest.importorskip("resource")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000_000, old[1]))
    try:
        ran = run("workload", "data", "numbers", "--size", "100MB", "-o", "corpus")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    ran.refused("write", "corpus/part-0000")
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_that_does_not_fit_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounts are for root")
    mount("-t", "tmpfs", "-o", "size=8m", "none", tmp_path / "small")
    try:
        ran = run("workload", "data", "numbers", "--size", "20MB", "-o", "small/corpus")
        ran.refused("disk-full", "small/corpus", "20MB")
        assert list((tmp_path / "small").iterdir()) == []
    finally:
        quietly("umount", str(tmp_path / "small"))


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    command = ("workload", "data", "numbers", "--size", "3GB", "-o", "corpus")
    started = subprocess.Popen(
        [sys.executable, "-m", "gordon", *command], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + PATIENCE_S
    while not list(tmp_path.glob(".corpus.partial-*/part-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=PATIENCE_S)
    assert started.returncode == 130, err
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / f".corpus.partial-{ended.pid}").mkdir()
    (tmp_path / f".corpus.partial-{ended.pid}/part-00000.txt").write_text("1\n")
    data.generate("numbers", "corpus", size="1MB")
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


BAD = [
    (("words", "--size", "1MB", "-o", "x"), 2, "", "'words' is not one of"),
    (("text", "-o", "x"), 2, "", "--size"),
    (("numbers", "--size", "1MB"), 2, "", "--output"),
    (("numbers", "--size", "lots", "-o", "x"), 1, "", "lots"),
    (("numbers", "--size", "0", "-o", "x"), 1, "option", "size"),
    (("numbers", "--size", "1MB", "--part-size", "1KiB", "-o", "x"), 1, "option", "part-size"),
    (("numbers", "--size", "1MB", "--seed", str(1 << 64), "-o", "x"), 1, "out-of-range", "seed"),
    (("numbers", "--size", "1MB", "--from", "en", "-o", "x"), 1, "option", "from"),
    (("numbers", "--size", "1MB", "-o", "en"), 1, "exists", "en exists"),
    (("numbers", "--size", "1MB", "-o", "no/x"), 1, "missing-folder", "there is no folder no"),
    (("text", "--size", "1MB", "--from", "none", "-o", "x"), 1, "read", "none"),
    (("text", "--size", "1MB", "--from", "empty", "-o", "x"), 1, "no-seed-text", "empty"),
    (("text", "--size", "1MB", "--from", "binary", "-o", "x"), 1, "no-seed-text", "binary"),
    (("web", "--size", "1MB", "--from", "en", "-o", "x"), 1, "no-pages", "en"),
]


@pytest.mark.parametrize(("args", "status", "kind", "named"), BAD)
def test_bad_input_is_one_error(
    run: Run,
    tmp_path: Path,
    seeds: list[str],
    args: tuple[str, ...],
    status: int,
    kind: str,
    named: str,
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary/image").write_bytes(bytes(range(256)))
    run("workload", "data", *args).refused(kind, named, status=status)
    assert not (tmp_path / "x").exists()
