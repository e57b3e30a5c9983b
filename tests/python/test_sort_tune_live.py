"""`gordon sort tune --export`, `gordon reproduce rewrite`: telemetry of a served device, the table
of advice on a recorded trial, the search on devices that are formulas, and both on a real export.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gordon import block
from gordon.cli.reproduce_rewrite_view import reason as shown
from gordon.reproduce import remounting
from gordon.reproduce.rewriting import OVER, TRIMMED, UNTRIMMED, WAYS, explain, rewrite
from gordon.reproduce.rewriting_page import page
from gordon.sort.tune import live, mounted, telemetry
from gordon.sort.tune.advice import LEAST, Advice, Machine, advise
from gordon.sort.tune.live import Steered
from gordon.sort.tune.point import Point
from gordon.sort.tune.search import Search, Space
from serving import MIB, Server, need, sh
from test_block_fs import Disk, chain

from conftest import Run, raises

Json = dict[str, Any]
#: A sort of 100 MB in 25 MB of memory, with defaults, on a served gordon-slc-256g of two buses,
#: 82 % of it in use: questions every 0.25 s, phases and plan as they were.
RECORDED = json.loads((Path(__file__).parent / "data" / "sort-live.json").read_text())
MACHINE = Machine(
    processors=2, lanes=2, erase_groups=(16128 << 10, 4032 << 10), most_transfer=6 << 20
)


@pytest.fixture
def recorded() -> Json:
    """Facts of that trial."""
    samples = [(when, status) for when, status in RECORDED["samples"]]
    device = telemetry.by_phase(samples, RECORDED["began"], RECORDED["phases"])
    return {"device": device, "phases": RECORDED["phases"], "plan": RECORDED["plan"]}


def test_phases_add_up_to_the_run(recorded: Json) -> None:
    whole, phases = recorded["device"]["whole"], recorded["device"]["phases"]
    assert [row["name"] for row in phases] == ["plan", "distribute", "gather", "make durable"]
    for key in ("host_bytes_read", "host_bytes_written", "copied_bytes", "erases", "writes"):
        assert 0.8 * whole[key] <= sum(row[key] for row in phases) <= whole[key] * 1.001, key
        # The device saw what the sort says it moved; what was sent is split among phases in time.
    moved = sum(phase["bytes_written"] for phase in recorded["phases"])
    assert whole["host_bytes_written"] == pytest.approx(moved, rel=0.05)
    for row in phases:
        assert row["queue_depth"] >= 0
        assert 0 <= row["dies_busy"] <= row["busiest_die"] <= 1.05
    pages = whole["pages"]
    assert pages["gc"] > 0
    assert whole["copied_share"] == pytest.approx(
        (pages["gc"] + pages["wear"]) / sum(pages.values())
    )
    assert whole["write_amplification"] == pytest.approx(
        sum(pages.values()) * 4096 / whole["host_bytes_written"]
    )


def test_totals_lie_between_the_samples_around_them() -> None:
    samples = [(when, status) for when, status in RECORDED["samples"]]
    middle = [(a + b) / 2 for (a, _), (b, _) in pairwise(samples)]
    first, last = telemetry.at(samples, -1e9), telemetry.at(samples, 1e9)
    assert first == telemetry.totals(samples[0][1])
    assert last == telemetry.totals(samples[-1][1])
    (_, a), (_, b) = samples[2], samples[3]
    between = telemetry.at(samples, middle[2])
    for key in ("host_bytes_written", "erases", "time_s"):
        mean = (telemetry.totals(a)[key][0] + telemetry.totals(b)[key][0]) / 2
        assert between[key] == [pytest.approx(mean)]
    for one, other in pairwise(telemetry.at(samples, when) for when in middle):
        assert all(x <= y for x, y in zip(one["dies"], other["dies"], strict=True))


def by_name(advice: list[Advice]) -> dict[str, Advice]:
    return {one.phase: one for one in advice}


def test_a_recorded_trial_gets_the_expected_advice(recorded: Any) -> None:
    advice = advise(recorded, Point(), MACHINE)
    seconds = {phase["name"]: phase["seconds"] for phase in recorded["phases"]}
    assert [one.phase for one in advice] == sorted(
        ("distribute", "gather"), key=lambda name: seconds[name], reverse=True
    )
    assert {one.phase: one.rule for one in advice} == {
        "distribute": "starved",
        "gather": "collects",
    }
    # Erased together are 4,032 KiB; at all four write points is more than a quarter of the memory.
    assert by_name(advice)["gather"].changes == (
        {"output_transfer": 4032 << 10},
        {"buffered": True},
    )


#: Of both phases on a device that waits: what a rule is about, over it, and what follows.
IDLE = {"busiest_die": 0.4, "busiest_bus": 0.3, "dies_busy": 0.4, "queue_depth": 1.0}
FULL = {"busiest_die": 0.97, "busiest_bus": 0.6, "dies_busy": 0.95, "queue_depth": 8.0}
DEEP = IDLE | {"queue_depth": 9.0}
CASES: list[tuple[str, Json, Json, Point, str, list[Json]]] = [
    ("short", IDLE, {"seconds": 0.001}, Point(), "short", []),
    ("work", IDLE, {"cpu_s": 1.9}, Point(), "processors", []),
    (
        "over",
        FULL | {"copied_share": 0.5},
        {},
        Point(overwrite=True),
        "overwrites",
        [{"overwrite": False}],
    ),
    (
        "groups",
        FULL | {"copied_share": 0.5},
        {"group": 4 << 20},
        Point(),
        "collects",
        [{"output_transfer": 4 << 20}, {"buffered": True}],
    ),
    ("no room", FULL | {"copied_share": 0.5}, {}, Point(buffered=True), "collects", []),
    ("full", FULL | {"copied_share": 0.1}, {}, Point(), "saturated", [{"buffered": True}]),
    ("full, buffered", FULL | {"copied_share": 0.1}, {}, Point(buffered=True), "saturated", []),
    (
        "starved",
        IDLE,
        {},
        Point(),
        "starved",
        [{"temp_transfer": 1 << 20}, {"output_transfer": 4 << 20}, {"buffered": True}],
    ),
    (
        "starved, buffered",
        IDLE,
        {},
        Point(buffered=True),
        "starved",
        [{"temp_transfer": 1 << 20}, {"output_transfer": 4 << 20}],
    ),
    ("shallow", IDLE, {"output_buffers": 2}, Point(), "shallow", [{"output_transfer": 1 << 19}]),
    (
        "elsewhere",
        DEEP,
        {},
        Point(),
        "elsewhere",
        [{"temp_transfer": 1 << 20}, {"output_transfer": 4 << 20}],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_rule(case: tuple[str, Json, Json, Point, str, list[Json]]) -> None:
    _, device, other, point, rule, changes = case
    row = {"copied_share": 0.0, "late_share": 0.2} | device
    plan = {
        "input_transfer": "1MiB",
        "output_transfer": "1MiB",
        "temp_transfer": "256KiB",
        "depth": 4,
        "output_buffers": other.get("output_buffers", 6),
        "threads": 2,
    }
    seconds, cpu = other.get("seconds", 1.0), other.get("cpu_s", 0.3)
    phase = {"name": "gather", "seconds": seconds, "cpu_s": cpu}
    rest = {"name": "plan", "seconds": 0.1, "cpu_s": 0.1}
    telemetry: Json = {"whole": {"host_bytes_trimmed": 1}, "phases": [row | {"name": "gather"}]}
    facts: Any = {"device": telemetry, "phases": [rest, phase], "plan": plan}
    machine = replace(MACHINE, erase_groups=(16128 << 10, other.get("group", 8 << 20)))
    (advice,) = advise(facts, point, machine)
    assert advice.rule == rule
    assert list(advice.changes) == changes
    # Without a trim, it says how to get one.
    telemetry["whole"]["host_bytes_trimmed"] = 0
    (again,) = advise(facts, point, replace(machine, may_overwrite=True))
    assert ("discard" in again.why) is (rule == "collects")
    # Where it may, it is overwritten: old pages count either way; and where little is copied.
    wanted = {"overwrite": True} in again.changes
    assert wanted is (rule in ("collects", "starved"))


class Formula:
    """Sorts of a device that is full from a transfer of 1 MiB of the output on, and waits below."""

    def __init__(self) -> None:
        self.now, self.began = 0.0, 0.0
        self.measured: list[Point] = []
        self.full, self.quick = False, dict[str, Any]()
        self.status: Json = json.loads(json.dumps(RECORDED["samples"][0][1]))

    def ask(self, socket: str) -> block.StatusResult:
        return block.StatusResult(json.loads(json.dumps(self.status)))

    def measure(self, point: Point, role: str) -> tuple[float, Any]:
        self.measured.append(point)
        size = point.output_transfer or LEAST
        share = 1.0 if self.full else min(1.0, size / MIB)
        seconds = 0.2 + 1 / (0.5 + 0.5 * share)
        if self.quick and all(getattr(point, key) == value for key, value in self.quick.items()):
            seconds /= 2
        phases = [
            {"name": "read", "seconds": 0.2, "cpu_s": 0.1, "bytes_written": 0},
            {"name": "write", "seconds": seconds - 0.2, "cpu_s": 0.1, "bytes_written": 1000},
        ]
        self.began, self.now = self.now, self.now + seconds
        facts = self.status
        facts["uptime_s"] += seconds
        facts["writes"] += 10
        facts["host_bytes_written"] += 1000
        for key, busy in (("dies", share), ("buses", 0.5)):
            facts["busy_ns"][key] = [ns + busy * seconds * 1e9 for ns in facts["busy_ns"][key]]
        waited = (8.0 if share == 1 else 0.5) * seconds * 1e9
        for key in ("asked_ns", "got_ns"):
            facts["emulation"][key] += waited
        # As the core does, in whole pages.
        sizes = {"input_transfer": "64KiB", "temp_transfer": "64KiB"}
        plan = sizes | {"output_transfer": f"{size // 4096 * 4096}B"}
        rest = {"depth": 4, "output_buffers": 6, "threads": 2}
        return seconds, {"time_s": seconds, "phases": phases, "plan": plan | rest}


@pytest.fixture
def formula(monkeypatch: pytest.MonkeyPatch) -> Formula:
    made = Formula()
    monkeypatch.setattr(block, "stat", made.ask)
    clocked = lambda socket: telemetry.Watch(lambda: made.ask(socket).report, 1e6, lambda: made.now)  # noqa: E731
    monkeypatch.setattr(telemetry, "watch", clocked)
    return made


SPACE = Space(
    starts=[Point(output_transfer=1 << 22)],
    methods=["one-pass", "distribute", "merge"],
    most_transfer=1 << 26,
    threads=[1, 2],
)


def first(search: Search, point: Point) -> int:
    """The number of the first trial at a point."""
    return next(trial.number for trial in search.trials if trial.point == point)


def test_a_steered_search_finds_the_same_sooner(formula: Formula) -> None:
    space = replace(SPACE, starts=[])
    given: Json = {"budget_s": 1e6, "clock": lambda: formula.now}
    blind = Search(formula.measure, space, **given)
    blind.run()
    steered = Steered(formula, space, export="s", **given)  # type: ignore[arg-type]
    steered.run()
    assert steered.best.output_transfer == MIB
    assert steered.gain()["gain"] == pytest.approx(blind.gain()["gain"])
    assert first(steered, steered.best) < first(blind, blind.best)
    # It grew while the device waited, and stopped when its dies were busy.
    rules = [(step["phase"], step["rule"], step["kept"]) for step in steered.steps if step["tried"]]
    kept = [one for one in rules if one[0] == "write" and one[2]]
    assert [rule for _, rule, _ in kept] == ["starved"] * 2
    ends = [step for step in steered.steps if step["phase"] == "write"]
    assert ends[-1]["rule"] == "saturated"
    assert steered.facts_of(steered.best)["device"]["phases"][1]["busiest_die"] == pytest.approx(1)


@pytest.mark.parametrize(
    "change", [{"buffered": True}, {"threads": 2}, {"method": "merge"}, {"in_core": "merge"}]
)
def test_a_steered_search_finds_what_the_advice_does_not_name(
    formula: Formula, change: Json
) -> None:
    """The dies are at their limit with the defaults, yet another setting takes half the time."""
    formula.full, formula.quick = True, change
    space = replace(SPACE, in_core=["radix", "merge"])
    costs: list[Any] = []
    for kind in (Search, Steered):
        formula.now = 0.0
        given: Json = {"budget_s": 60.0, "clock": lambda: formula.now}
        search = (
            Search(formula.measure, space, **given)
            if kind is Search
            else Steered(formula, space, export="s", **given)  # type: ignore[arg-type]
        )
        search.run()
        costs.append(search.gain()["best"])
        assert search.gain()["beyond_noise"]
    assert costs[1] <= costs[0] * 1.001


def test_a_largest_transfer_of_no_whole_pages_is_an_end(formula: Formula) -> None:
    """The plan has a smaller transfer than requested; the larger one is not tried again."""
    space = replace(SPACE, most_transfer=500_000)
    given: Json = {"budget_s": 1e6, "clock": lambda: formula.now}
    steered = Steered(formula, space, export="s", **given)  # type: ignore[arg-type]
    steered.run()
    assert steered.finished
    largest = [step["kept"] for step in steered.steps if step["kept"]]
    assert largest[-1] == "output 488 KiB"


def test_files_elsewhere_and_an_export_without_time_are_errors(formula: Formula) -> None:
    given: Json = {"budget_s": 1e6, "clock": lambda: formula.now, "export": "s"}
    other = json.loads(json.dumps(formula.status))
    seen = live.watched(formula, lambda: telemetry.Watch(lambda: other, 1e6))  # type: ignore[arg-type]
    with raises("other-device"):
        seen(Point(), "defaults")
    formula.status["emulation"] = None
    with raises("untimed-export"):
        Steered(formula, SPACE, **given)  # type: ignore[arg-type]
    formula.status["kind"] = "disk-status"
    with raises("flash-only"):
        Steered(formula, SPACE, **given)  # type: ignore[arg-type]


def row(way: str, seconds: float, copied: float, deviation: float | None = 0.01) -> Any:
    facts = {"seconds": seconds, "copied_bytes": copied, "write_amplification": 1.5}
    facts["host_bytes_written"] = 2e8
    return {
        "transfer": MIB,
        "way": way,
        "trials": 4,
        "output_s": seconds,
        "output_s_deviation": deviation,
        "mapped_before": 0.8,
        "mapped_after": 0.8,
        "output": facts | {"dies_busy": 0.9},
    }


def test_reasons_are_those_of_the_counters() -> None:
    base = row(TRIMMED, 1.0, 1e8)
    over, kept = explain([row(OVER, 1.3, 2e8), row(UNTRIMMED, 1.3, 0.9e8), base])
    assert over["longer"] == pytest.approx(0.3)
    assert over["dies_longer_s"] == pytest.approx(0.27)
    assert over["copied_more_bytes"] == 1e8
    assert over["why"] == "garbage collection: 100 MB more copied"
    assert kept["why"].startswith("not garbage collection, 10.0 MB fewer copied")
    (same,) = explain([row(OVER, 1.3, 2e8, deviation=0.5), base])
    # At full speed there are no figures of dies.
    untimed = [row(OVER, 1.3, 2e8), row(TRIMMED, 1.0, 1e8)]
    for one in untimed:
        del one["output"]["dies_busy"]
    assert explain(untimed)[0]["dies_longer_s"] is None
    assert same["why"].startswith("no difference beyond two standard deviations")


@pytest.mark.parametrize("seconds", [0.7, 1.3])
@pytest.mark.parametrize("copied", [1e8, 1.05e8, 0.95e8])
def test_a_cause_is_named_only_if_the_copies_explain_the_time(
    seconds: float, copied: float
) -> None:
    """No copies, or 5 MB more or fewer, of 300 MB programmed do not make 30 % of the time."""
    (found,) = explain([row(OVER, seconds, copied), row(TRIMMED, 1.0, 1e8)])
    assert found["why"].startswith("not garbage collection")
    assert "the counters show no cause" in found["why"]


def test_one_round_names_no_cause() -> None:
    base = row(TRIMMED, 1.0, 1e8, deviation=None)
    (found,) = explain([row(OVER, 1.3, 2e8, deviation=None), base])
    assert found["longer_deviation"] is None
    assert found["why"].startswith("unknown, as a single round")
    assert "±" not in shown(found)


def test_errors_before_anything_is_made(
    formula: Formula, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with raises("missing-folder", str(tmp_path / "none")):
        rewrite("s", tmp_path / "none")
    with raises("no-space", str(tmp_path)):
        rewrite("s", tmp_path, records=10**13)
    with raises("", "`nothing`"):
        rewrite("s", tmp_path, transfers=["nothing"])
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with raises("needs-root"):
        rewrite("s", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_system_that_is_not_the_exports_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remount(*_: Any, **__: Any) -> None:
        raise AssertionError("another file system is remounted")

    monkeypatch.setattr("os.geteuid", lambda: 0)
    status: Any = {"host_bytes_written": 4096}
    monkeypatch.setattr(block, "stat", lambda _: block.StatusResult(status))
    monkeypatch.setattr(telemetry, "about", lambda _: {})
    monkeypatch.setattr(remounting, "discards", remount)
    with raises("other-device", str(tmp_path), "1.00 MB", "0 B"):
        rewrite("s", tmp_path, records=10_000)
    assert not list(tmp_path.iterdir())


def test_a_missing_export_is_an_error(run: Run, tmp_path: Path) -> None:
    for words in (f"sort tune -o {tmp_path}/t.toml", "reproduce rewrite"):
        made = run(*words.split(), "--export", f"{tmp_path}/none", "--folder", str(tmp_path))
        assert made.kind in ("not-served", "needs-root")
    assert not list(tmp_path.iterdir())


def test_a_mount_is_found_by_a_folder_in_it(tmp_path: Path) -> None:
    where = mounted.point(tmp_path)
    assert where.is_mount()
    assert tmp_path.is_relative_to(where)
    assert {"rw", "ro"} & set(mounted.options(where))


def test_a_root_that_is_no_mount_is_not_known_to_be_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In a chroot `/` is a mount point, and the kernel does not list it.
    monkeypatch.setattr(mounted, "point", lambda folder: folder)
    assert not mounted.in_memory(tmp_path)
    with raises("no-mount"):
        mounted.options(tmp_path)


@pytest.fixture
def served(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    need("nbdsh")
    monkeypatch.chdir(tmp_path)
    assert run("block", "create", "flash.img", "--capacity", "64MiB").status == 0
    server = Server(tmp_path, "--timing", "real")
    try:
        yield server
    finally:
        server.stop()


def test_a_served_device_reports_totals(served: Server) -> None:
    """The keys that steer, before and after work: totals grow by what was done."""
    before = block.stat(str(served.socket)).report
    served.shell("h.pwrite(bytes(range(256)) * 4096 * 4, 0); h.flush(); h.pread(1 << 20, 0)")
    after = block.stat(str(served.socket)).report
    about = telemetry.about(after)
    assert about["timed"]
    assert about["erase_group_bytes"] == about["super_block_bytes"] * after["write_points"]
    assert about["super_block_bytes"] % about["unit_bytes"] == 0
    grown: Any = telemetry.growth(
        telemetry.totals(before), telemetry.totals(after), after["unit"], timed=True
    )
    assert grown["host_bytes_written"] == 4 * MIB
    assert grown["host_bytes_read"] == MIB
    assert grown["pages"]["host"] == 4 * MIB // after["unit"]
    assert 0 < grown["dies_busy"] <= grown["busiest_die"] < 1
    assert 0 < grown["busiest_bus"] < 1
    assert grown["queue_depth"] > 0
    # So many pages of 64 KiB took so long at least: 200 us each, on all lanes side by side.
    dies = sum(after["busy_ns"]["dies"]) - sum(before["busy_ns"]["dies"])
    assert dies >= 4 * MIB // (64 << 10) * 200_000
    units = sum(lane["units_read"] for lane in after["lanes"])
    assert units * after["unit"] >= MIB


class Timed(Disk):
    """One that answers in the time of its flash."""

    def serve(self) -> None:
        self.server = Server(self.folder, "--timing", "real")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Iterator[Disk]:
    yield from chain(tmp_path, monkeypatch, run, Timed)


def test_a_sort_on_a_real_export(disk: Disk, run: Run, tmp_path: Path) -> None:
    sh("mkfs.ext4", "-q", "-m", "0", disk.loop)
    disk.mount("nodiscard")
    words = f"sort tune --budget 10s --records 40000 --memory 2MB --folder {disk.files}".split()
    words += ["--temp", str(disk.files), "--export", str(disk.server.socket), "-o", "t.toml"]
    made = run(*words, "--json", "t.json")
    assert made.status == 0, made.err
    report = json.loads(Path("t.json").read_text())
    assert report["steps"]
    assert report["steps"][0]["why"] in made.out.replace("\n", " ") or report["steps"][0]["rule"]
    for trial in report["trials"]:
        if trial["error"] is not None:
            continue
        assert trial["device"]["whole"]["host_bytes_written"] >= 4_000_000
    # Elsewhere the export sees nothing.
    elsewhere = run(*words[:-2], "-o", "u.toml", "--folder", str(tmp_path), "--temp", str(tmp_path))
    elsewhere.refused("other-device")
    assert not Path("u.toml").exists()

    words = ["reproduce", "rewrite", "--records", "40000", "--rounds", "1", "--transfer", "64KiB"]
    words += ["--folder", str(disk.files), "--export", str(disk.server.socket)]
    made = run(*words, "--json", "r.json", "--report", "r.html")
    assert made.status == 0, made.err
    report = json.loads(Path("r.json").read_text())
    rows = {one["way"]: one for one in report["rows"]}
    assert tuple(rows) == WAYS
    # Only the trims before the sort are counted: the counters distinguish the ways.
    size = 4_000_000 / disk.stat()["capacity"]
    assert rows[TRIMMED]["mapped_before"] == pytest.approx(
        rows[OVER]["mapped_before"] - size, rel=0.2
    )
    assert rows[UNTRIMMED]["mapped_before"] == pytest.approx(rows[OVER]["mapped_before"], rel=0.05)
    for one in report["trials"]:
        # The rest is the file system's.
        assert 4_000_000 <= one["whole"]["host_bytes_written"] <= 5_000_000
        assert 0 < one["output"]["host_bytes_written"] <= one["whole"]["host_bytes_written"]
    assert [one["way"] for one in report["explained"]] == [OVER, UNTRIMMED]
    html = Path("r.html").read_text()
    assert html == page(report)
    assert "The cost of overwriting an output" in html
    # As it was, and nothing left.
    assert "discard" not in mounted.options(disk.files)
    assert [one.name for one in disk.files.iterdir()] == ["lost+found"]
    disk.unmount()
    disk.check()
