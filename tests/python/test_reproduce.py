"""The paper's figures next to ours: comparisons, their reasons, and the printed page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import paper_jobs
import sadf
from gordon import bundled, survey
from gordon.reproduce import array, costs, designs, disk_use, flash_array, flashcache, suite
from gordon.reproduce.disk_use import DiskUse
from gordon.reproduce.flash_array import Load, Variant
from gordon.reproduce.row import MEAN, Row
from gordon.workload.jobs import JOBS
from markdown_pages import render
from surveyed import of_grid
from test_run import made_run

from conftest import Run, mqsim, raises

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/design/paper-jobs.md"
SECONDS = 10
KIB = 1 << 10
PLAIN, SMALL = Variant("64 KiB"), Variant("8 KiB", ("super_page.size=8KiB",))


@pytest.fixture
def short(run: Run, tmp_path: Path) -> str:
    """A trace of ten seconds. Each reads 64 KiB in eight requests and writes 4 MiB in four."""
    seconds = [sadf.second(n, user=3.0, writes=12, write_kib=4160) for n in range(SECONDS)]
    (tmp_path / "day.json").write_text(sadf.day(seconds, "host"))
    rows = []
    for second in range(SECONDS):
        start = second * 10**9
        for nth in range(8):
            rows.append((start + nth * 10**6, (second * 8 + nth) * 16, 16, 1))
        for nth in range(4):
            rows.append(
                (start + 10**8 + nth * 10**6, (1 << 20) + (second * 4 + nth) * 2048, 2048, 0)
            )
    mqsim(tmp_path / "block.txt", *rows)
    for source, out, form in (
        ("day.json", "a.trace", "sysstat"),
        ("block.txt", "b.trace", "mqsim"),
    ):
        args = (str(tmp_path / source), str(tmp_path / out), "--format", form)
        converted = run("trace", "convert", *args)
        assert converted.status == 0, converted.err
    # One trace with both: the activity of the first, and the block log of the second.
    activity, blocks = tmp_path / "a.trace", tmp_path / "b.trace"
    shutil.copy(blocks / "block.parquet", activity)
    manifest = json.loads((activity / "manifest.json").read_text())
    log = json.loads((blocks / "manifest.json").read_text())
    manifest["parts"] += [part for part in log["parts"] if part["file"] == "block.parquet"]
    (activity / "manifest.json").write_text(json.dumps(manifest))
    return str(activity)


def made(folder: Path, trace: str, job: str, number: int, nodes: int = 2, **totals: int) -> Path:
    """Run FOLDER/JOB/NUMBER with an input of 1,000,000 bytes; `totals` are of the nodes and of the
    engine."""
    out = folder / job / str(number)
    out.parent.mkdir(parents=True, exist_ok=True)
    made_run(out, trace, [0] * nodes)
    for manifest in out.glob("*/manifest.json"):
        # Repeats are at different times; here they are on different hosts.
        text = manifest.read_text()
        manifest.write_text(text.replace('"host": "node-', f'"host": "run-{number}-node-'))
    report = json.loads((out / "run.json").read_text())
    engine = dict.fromkeys(
        (
            *("input_bytes", "output_bytes", "shuffle_write_bytes", "spill_disk_bytes"),
            *("shuffle_read_local_bytes", "shuffle_read_remote_bytes"),
        ),
        0,
    )
    of_nodes = {"read_bytes": 0, "write_bytes": 0, "cpu_s": 2.0}
    report["job"] = {"id": job, "parameters": {"size": 1_000_000}}
    report["data"] = None if JOBS[job].data == "none" else {"bytes": 1_000_000}
    report["engine"] = {
        "settings": {"spark.shuffle.compress": "true", "spark.io.compression.codec": "lz4"}
    }
    report["totals"] = {
        "nodes": of_nodes | {k: v for k, v in totals.items() if k in of_nodes},
        "engine": engine | {k: v for k, v in totals.items() if k in engine},
    }
    (out / "run.json").write_text(json.dumps(report))
    return out


@pytest.fixture
def runs(tmp_path: Path, short: str) -> Path:
    """Two runs of Identity and one of Sort."""
    folder = tmp_path / "runs"
    made(folder, short, "identity", 1, read_bytes=1_000_000, write_bytes=1_100_000)
    made(folder, short, "identity", 2, read_bytes=1_200_000, write_bytes=1_300_000)
    made(folder, short, "sort", 1, read_bytes=1_000_000, write_bytes=2_000_000)
    return folder


@pytest.mark.parametrize(
    ("ours", "low", "high", "ratio", "agrees"),
    [
        (2.0, 2.0, 2.0, 1.0, True),
        (2.19, 2.0, 2.0, 1.095, True),
        (1.0, 2.0, 2.0, 0.5, False),
        (2.3, 2.2, 2.5, 1.0, True),
        (1.1, 2.2, 2.5, 0.5, False),
        (5.0, 2.2, 2.5, 2.0, False),
        (9.0, 1.0, None, 1.0, True),
        (0.5, 1.0, None, 0.5, False),
        (0.5, None, 1.0, 1.0, True),
        (3.0, None, 1.0, 3.0, False),
        (3.0, None, None, None, None),
    ],
)
def test_a_figure_is_compared_with_the_nearest_of_the_paper(
    ours: float, low: float | None, high: float | None, ratio: float | None, agrees: bool | None
) -> None:
    row = Row("Table", "sort", "what", ours, low, high)
    assert row.ratio == (None if ratio is None else pytest.approx(ratio))
    assert row.agrees is agrees
    as_json = json.loads(json.dumps(row.as_dict(), allow_nan=False))
    assert as_json["paper"] == (None if ratio is None else {"low": low, "high": high})


def test_a_figure_that_grows_with_the_input_has_a_ratio_and_does_not_agree_or_differ() -> None:
    row = Row("Table", "sort", "what", 1.0, 8.0, 8.0, is_scaled=True)
    assert row.ratio == 1 / 8
    assert row.agrees is None


def test_runs_are_found_by_job_and_in_the_order_of_their_numbers(
    tmp_path: Path, short: str
) -> None:
    folder = tmp_path / "runs"
    for number in (10, 2, 1):
        made(folder, short, "sort", number, nodes=1)
    made(folder, short, "randomwriter", 1, nodes=1)
    (folder / "sort" / "logs").mkdir()
    found = suite.jobs(folder)
    assert list(found) == ["randomwriter", "sort"]
    assert [run.name for run in found["sort"]] == ["1", "2", "10"]
    with raises("no-runs", str(tmp_path / "nothing")):
        suite.jobs(tmp_path / "nothing")


def test_table_2_has_every_job_and_the_papers_figures() -> None:
    paper = disk_use.paper()
    assert list(paper) == list(JOBS)
    assert paper["identity"] == {"read": 45_106e6, "write": 103_650e6}


def test_disk_use_is_the_mean_of_the_runs_for_each_gb_of_input(runs: Path) -> None:
    use = disk_use.of("identity", suite.jobs(runs)["identity"])
    assert (use.read, use.write, use.size_bytes) == pytest.approx((1.1, 1.2, 1e6))
    assert use.cpu_s_per_gb == 2000
    read, each, write, last = disk_use.rows([use])
    assert (read.ours, read.low) == pytest.approx((1.1, 45_106))
    # 15 GB were copied in the paper.
    assert (each.ours, each.low) == pytest.approx((1100, 45_106 / 15))
    assert each.ratio == pytest.approx(1100 * 15 / 45_106)
    assert (write.ours, last.ours) == pytest.approx((1.2, 1200))
    assert (read.agrees, each.agrees) == (None, False)


def use(job: str, **figures: float) -> DiskUse:
    zero: dict[str, Any] = dict.fromkeys(
        ("read", "write", "scanned", "output", "shuffled", "spilled", "fetched", "cpu_s_per_gb"),
        0.0,
    )
    return DiskUse(job=job, size_bytes=1e9, codec="lz4", **(zero | figures))


@pytest.mark.parametrize(
    ("made_use", "reason"),
    [
        (use("randomwriter", write=1, output=1), "3 copies (the paper does not print"),
        (use("identity", read=1, write=1, output=1), "Spark copies without a shuffle"),
        (use("sort", write=2, output=1, shuffled=1), "That is 2.7 times as much"),
        (use("grep-simple", write=0.3, output=0.3), "writes each match with its count"),
        (use("grep-complex", write=0.12, output=0.12), "Its size depends on text and expression"),
        (use("ngram", write=4, output=0.035, shuffled=2, spilled=2), "2000 MB of spilled data"),
        (
            use("webindex", write=9, output=5, shuffled=3, spilled=2),
            "5000 MB of output for each GB",
        ),
    ],
)
def test_reasons_of_writes_depend_on_what_was_written(made_use: DiskUse, reason: str) -> None:
    rows = [row for row in disk_use.rows([made_use]) if row.what.startswith("disk, write, for")]
    assert reason in rows[0].reason


@pytest.mark.parametrize(
    ("made_use", "reason"),
    [
        (use("randomwriter"), "The job has no input"),
        (use("grep-simple", read=1, scanned=1), "Both read the input once"),
        (use("identity", read=1, scanned=1), "The engine copies without a shuffle"),
        (use("sort", read=1, scanned=2, shuffled=1, fetched=1), "Spark reads the input 2.0 times"),
        (use("ngram", read=1, scanned=1, shuffled=2, fetched=3), "supplies 75% of what"),
        (use("grep-complex", read=2, scanned=2), "The page cache is dropped before the job"),
        (use("webindex", read=4, scanned=2, shuffled=3, fetched=3), "supplies 20% of these reads"),
    ],
)
def test_reasons_of_reads_depend_on_what_was_read(made_use: DiskUse, reason: str) -> None:
    rows = [row for row in disk_use.rows([made_use]) if row.what.startswith("disk, read, for")]
    assert reason in rows[0].reason


def test_bandwidth_is_bytes_over_the_device_time_of_the_survey(runs: Path) -> None:
    found = suite.jobs(runs)
    ticks: list[tuple[int, int]] = []
    one, other = flash_array.simulate(found, lambda *at: ticks.append(at), [PLAIN, SMALL])
    assert ticks == [(1, 4), (2, 4), (3, 4), (4, 4)]
    # Two runs of two nodes, and one run.
    assert (one.job, one.transfers, other.transfers) == ("identity", 4 * 120, 2 * 120)
    assert one.read_bytes == 4 * 80 * 8 * KIB
    assert one.write_bytes == 4 * 40 * 1024 * KIB
    assert (one.small, one.in_large, one.largest) == (4 * 80, one.write_bytes, 1024 * KIB)
    result = of_grid(survey.run(found["sort"][0], space="gordon-2009", nodes=32, rows=0))
    (seconds,) = (
        row["simulated_s"] for row in result["storages"] if row["part"] == flash_array.ARRAY
    )
    assert other.mb_s["64 KiB"] == pytest.approx(
        (other.read_bytes + other.write_bytes) / 1e6 / seconds
    )
    assert other.mb_s["64 KiB"] != other.mb_s["8 KiB"]


def test_the_variants_are_those_of_the_paper() -> None:
    found = {variant.name: variant.settings for variant in flash_array.variants()}
    assert found["64 KiB"] == ("super_page.size=65536B",)
    assert found["8 KiB plain"] == ("super_page.size=8192B", *flash_array.PLAIN)
    assert found["8 KiB, 4 points"][-1] == "ftl.write_points=4"
    assert found["40 MHz"] == ("timing.bus_rate=40MHz",)
    # Table 1: MLC programs in 800 us, with 64 bytes out of band and 128 pages a block.
    assert set(found["MLC"]) == {
        "timing.program=800us",
        "geometry.oob=64B",
        "geometry.pages_per_block=128",
    }


def load(job: str, read_share: float, **mb_s: float) -> Load:
    """A load of 100 MB with the same bandwidth on all arrays but those given."""
    speeds = {variant.name: 100.0 for variant in flash_array.variants()}
    changed = {name.replace("_", " "): value for name, value in mb_s.items()}
    read = int(100e6 * read_share)
    return Load(
        job,
        read,
        int(100e6) - read,
        transfers=10,
        small=5,
        in_large=int(90e6),
        largest=128 * KIB,
        mb_s=speeds | changed,
    )


def test_arrays_are_compared_with_what_the_text_says_about_figure_5() -> None:
    loads = [
        load("randomwriter", 0.0, **{"64_KiB": 600.0, "400_MHz": 720.0, "MLC": 180.0}),
        load("grep-simple", 1.0, **{"64_KiB": 200.0, "40_MHz": 80.0, "400_MHz": 500.0}),
    ]
    rows = flash_array.rows(loads)
    of = {(row.job, row.what): row for row in rows}
    gain = of["randomwriter", flash_array.PAPERS]
    assert (gain.ours, gain.low, gain.high, gain.agrees) == (6.0, 1.1, 6.3, True)
    assert of["grep-simple", flash_array.SLOW].ours == pytest.approx(0.4)
    assert of["grep-simple", flash_array.SLOW].agrees
    assert of["randomwriter", "400 MHz over 133 MHz, write-intensive"].ours == pytest.approx(1.2)
    assert of["randomwriter", "MLC over SLC, write-intensive"].agrees
    assert of["grep-simple", "400 MHz over 133 MHz, read-intensive"].ours == 2.5
    # Without bypassing, only some of the jobs gain in the paper.
    assert of["randomwriter", flash_array.UNBYPASSED].low == 1
    assert of["grep-simple", flash_array.UNBYPASSED].high == 1
    assert of[MEAN, flash_array.PAPERS].ours == pytest.approx(4.0)
    assert of[MEAN, flash_array.PAPERS].agrees is None
    share = of["grep-simple", "transfers of 8 KiB and less"]
    assert (share.ours, share.agrees) == (0.5, True)
    assert of["grep-simple", "bytes in transfers of 120 KB and more"].ours == pytest.approx(0.9)


def test_designs_are_compared_by_job_and_in_the_mean(runs: Path) -> None:
    results = designs.run(suite.jobs(runs))
    assert list(results) == ["identity", "sort", MEAN]
    rows = designs.rows(results)
    of = {(row.table, row.job, row.what): row for row in rows}
    assert len(of) == len(rows)
    for job, result in results.items():
        by_id = {design["id"]: design for design in result["designs"]}
        best = {name: by_id[id] for name, id in result["named"].items() if id is not None}
        row = of[designs.CLAIMS, job, "performance per watt of MaxE over MaxE-disk, sync"]
        gain = best["MaxE-disk"]["sync"]["energy_j"] / best["MaxE"]["sync"]["energy_j"]
        assert (row.ours, row.low, row.high) == pytest.approx((gain, 2.2, 2.5))
        row = of[designs.CLAIMS, job, "speed of MinT over MinT-disk, nosync"]
        gain = best["MinT-disk"]["nosync"]["time_s"] / best["MinT"]["nosync"]["time_s"]
        assert (row.ours, row.low, row.high) == pytest.approx((gain, 1.5, 1.8))
        row = of[designs.ENERGY, job, "energy of MaxE over that of MaxE-disk"]
        parts = [row for row in rows if row.job == job and row.what.startswith("MaxE: energy of")]
        assert sum(part.ours for part in parts) == pytest.approx(row.ours)
        limits = [row for row in rows if row.job == job and row.what.startswith("MinT: share of")]
        assert sum(limit.ours for limit in limits) == pytest.approx(1)


def test_all_of_table_6_is_compared(runs: Path) -> None:
    results = designs.run(suite.jobs(runs))
    rows = [row for row in designs.rows(results) if row.table == designs.TABLE]
    # Six designs, two models, four columns; two jobs and the mean.
    assert len(rows) == 6 * 2 * 4 * 3
    table = results["sort"]["table6"]
    assert table is not None
    ours = next(row["ours"] for row in table["rows"] if row["paper_name"] == "MaxE")
    assert ours is not None
    row = next(r for r in rows if (r.job, r.what) == ("sort", "MaxE, sync: power_w"))
    assert (row.low, row.ours) == (4.81, ours["sync"]["power_w"])
    assert all(row.reason for row in rows if not row.agrees)
    # Table 3: 0.16 + 3 + 64 x 0.003 + 0.16 + 0.7 W.
    nosync = next(r for r in rows if (r.job, r.what) == ("sort", "MaxE, nosync: power_w"))
    assert "2.32 W are below the 4.21 W" in nosync.reason


def test_figures_6_and_7_are_compared(runs: Path) -> None:
    results = designs.run(suite.jobs(runs))
    rows = {(row.job, row.what): row for row in designs.rows(results)}
    front = results["sort"]["front"]
    flash = rows["sort", "designs on the front that have flash"]
    assert flash.ours == sum("flash" in id for id in front) / len(front)
    same = rows[MEAN, "jobs with the front of the mean"]
    fronts = [set(results[job]["front"]) for job in ("identity", "sort")]
    assert same.ours == sum(front == set(results[MEAN]["front"]) for front in fronts) / 2
    # Both jobs have the same trace.
    place = rows["identity", "MinT: place of the job by the time that is flash bound"]
    assert (place.ours, place.agrees) == (1, True)
    assert ("grep-complex", "MinT: place of the job by the time that is CPU bound") not in rows


def test_one_job_is_its_own_mean(tmp_path: Path, short: str) -> None:
    made(tmp_path / "one", short, "sort", 1)
    results = designs.run(suite.jobs(tmp_path / "one"))
    assert list(results) == ["sort", MEAN]
    assert results["sort"]["designs"] == results[MEAN]["designs"]
    assert {row.job for row in designs.rows(results)} == {"sort", MEAN}


def test_less_work_of_the_processor_is_the_same_survey_with_fewer_instructions(
    runs: Path,
) -> None:
    found = suite.jobs(runs)
    less, plain = designs.by_work(found, (0.75, 1.5))
    assert (less["factor"], plain["factor"]) == (0.5, 1.0)
    claims = {row.job: row for row in designs.claims(MEAN, designs.run(found)[MEAN])}
    assert claims[MEAN].table == designs.CLAIMS
    wanted = designs.claims("sort", designs.run(found)["sort"])
    assert plain["gains"]["sort"]["MaxE"] == pytest.approx(wanted[0].ours)
    assert plain["gains"]["sort"]["MinT"] == pytest.approx(wanted[1].ours)
    # With less work, disks limit the fastest disk design for longer.
    assert less["gains"]["sort"]["MinT"] >= plain["gains"]["sort"]["MinT"]


def test_all_comparisons_are_plain_data(runs: Path) -> None:
    rows = suite.rows(runs)
    tables = list(dict.fromkeys(row.table for row in rows))
    assert {"Table 2", "Figure 5", "Table 6", "Figure 8", "Claims"} <= set(tables)
    as_json = json.loads(json.dumps([row.as_dict() for row in rows], allow_nan=False))
    assert len(as_json) == len(rows)
    keys = ("table", "job", "what", "unit", "paper", "ours", "ratio", "agrees", "reason")
    assert all(tuple(row) == keys for row in as_json)
    differing = [row for row in rows if row.agrees is False]
    assert differing
    assert all(row.reason.endswith(".") for row in differing)


def test_the_page_of_other_runs_has_all_sections(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["paper_jobs.py", str(runs)])
    paper_jobs.main()
    out = capsys.readouterr().out
    assert "There are no traces of RandomWriter, Grep (simple)" in out
    for section in ("The claims", "Table 2", "Figure 5", "Table 6", "Figure 6", "Figure 7"):
        assert f"\n## {section}" in out
    assert "3,007: 1100, 0.37x" in out.split("## Table 2")[1]
    assert "nan" not in out


def test_table_2_of_the_page_is_that_of_the_bundled_traces() -> None:
    runs = suite.jobs(bundled.FOLDER)
    uses = [disk_use.of(job, runs[job]) for job in runs]
    made = render("paper-jobs", "disk", disk=paper_jobs.disk(uses, disk_use.rows(uses)))
    assert made in PAGE.read_text(), "run `make figures`"


@pytest.mark.parametrize("section", ["front", "limits", "energy", "six"])
def test_the_surveys_of_the_page_are_of_the_bundled_traces(
    bundled_surveys: dict[str, Any], section: str
) -> None:
    rows = designs.rows(bundled_surveys)
    mean = [bundled_surveys[MEAN]] if section == "six" else []
    values = {section: getattr(paper_jobs, section)(rows, *mean)}
    made = render("paper-jobs", section, **values)
    assert made.startswith("## ")
    assert made in PAGE.read_text(), "run `make figures`"


def test_the_mean_of_the_gains_is_that_of_the_jobs(bundled_surveys: dict[str, Any]) -> None:
    claims = [row for row in designs.rows(bundled_surveys) if row.table == designs.CLAIMS]
    for row in [row for row in claims if row.job == designs.GAINS]:
        of_jobs = [other.ours for other in claims if other.what == row.what and other.job in JOBS]
        assert len(of_jobs) == 7
        assert row.ours == pytest.approx(sum(of_jobs) / 7)


@pytest.fixture(scope="module")
def bundled_surveys() -> dict[str, Any]:
    return designs.run(suite.jobs(bundled.FOLDER))


@pytest.fixture(scope="module")
def replayed() -> flashcache.Measured:
    return flashcache.measure(flashcache.QUICK)


def test_each_paper_is_compared_in_one_form(
    run: Run,
    tmp_path: Path,
    replayed: flashcache.Measured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def measure(requests: int, _: object) -> flashcache.Measured:
        asked.append(requests)
        return replayed

    monkeypatch.setattr(flashcache, "measure", measure)
    for paper in ("flashcache", "joulesort"):
        out = tmp_path / f"{paper}.json"
        ran = run("reproduce", paper, "--quick", "--json", str(out))
        assert ran.status == 0, ran.err
        found = json.loads(out.read_text())
        items = found["items"]
        assert {"id", "paper", "ours", "ratio", "source", "agrees", "reason"} <= set(items[0])
        assert len({item["id"] for item in items}) == len(items)
        assert {item["agrees"] for item in items} == {True, False}
        assert all(item["reason"].endswith(".") for item in items if not item["agrees"])
    assert asked == [flashcache.QUICK]


def test_the_statements_of_flashcache_follow_from_replays(replayed: flashcache.Measured) -> None:
    of = {row.what: row for row in flashcache.rows(replayed)}
    area = of["die area less than that of 1 GiB of DRAM"]
    # Table 1: 0.7 Gbit a cm2 of DRAM and 1.42 of NAND.
    dram, flash = 8 / 0.7, 8 / 1.42
    assert area.ours == pytest.approx(1 - (dram / 8 + flash) / dram, abs=0.005)
    assert area.agrees
    lives = [of[f"life of 1 GiB at {rated} erases"].ours for rated in ("1,000,000", "100,000")]
    assert lives[0] == pytest.approx(10 * lives[1])
    assert (of["flash accesses a second"].low, of["flash accesses a second"].high) == (None, 2000.0)


def test_a_load_that_does_not_fill_the_flash_is_refused() -> None:
    with raises("short-load"):
        flashcache.measure(1000)


def test_quick_takes_the_first_run_of_each_job(
    runs: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken = []
    monkeypatch.setattr(disk_use, "of", lambda job, of_job: taken.append(len(of_job)))
    monkeypatch.setattr(disk_use, "rows", lambda _: [])
    monkeypatch.setattr(flash_array, "simulate", lambda runs, _: runs)
    monkeypatch.setattr(flash_array, "rows", lambda _: [])
    monkeypatch.setattr(designs, "run", lambda runs: runs)
    monkeypatch.setattr(designs, "rows", lambda _: [])
    monkeypatch.setattr(array, "rows", list)
    for part in ("racks", "petabyte", "plans"):
        monkeypatch.setattr(costs, part, list)
    assert suite.rows(runs) == suite.rows(runs, first_only=True) == []
    every, first = taken[: len(taken) // 2], taken[len(taken) // 2 :]
    assert max(every) > 1
    assert set(first) == {1}
