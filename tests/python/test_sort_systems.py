"""`gordon sort extrapolate`: the paper's systems as data, the model by hand, one's own files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import joulesort_systems
from gordon.reproduce import joulesort
from gordon.reproduce.joulesort import published
from gordon.reproduce.joulesort.machines import others
from gordon.sort import presets, systems
from gordon.sort.systems import data, own, plateaus, plot
from gordon.tables import Value
from markdown_pages import render

from conftest import Run, raises

ROOT = Path(__file__).resolve().parents[2]

# Two 100 MB/s drives for files, one for temporary ones; ten core-seconds a phase on two cores.
OWN = """
records = 10_000_000
[cpu.two]
cores = 2
tdp = "10W"
work = { input = 10, output = 10 }
[drive.plain]
read = "100MB"
write = "50MB"
active = "4W"
idle = "1W"
[board.plain]
efficiency = 0.5
base = "6W"
[system.a]
cpu = "two"
board = "plain"
memory = "512MiB"
memory_power = "1W"
files = { drive = "plain", count = 2 }
temp = { drive = "plain" }
"""
RUN = {
    "records": 10_000_000,
    "time_s": 31.0,
    "power_w": 30.0,
    "system": "a",
    "phases": [
        {"name": "plan", "seconds": 0.1, "cpu_s": 0.0, "bytes_read": 2e6, "bytes_written": 0},
        {"name": "distribute", "seconds": 20, "cpu_s": 6, "bytes_read": 1e9, "bytes_written": 1e9},
        {"name": "gather", "seconds": 10, "cpu_s": 8, "bytes_read": 1e9, "bytes_written": 1e9},
        {"name": "durable", "seconds": 0.2, "cpu_s": 0, "bytes_read": 0, "bytes_written": 0},
    ],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(OWN, encoding="utf-8")
    Path("run.json").write_text(json.dumps(RUN), encoding="utf-8")


@pytest.fixture(scope="module")
def paper() -> Any:
    return joulesort.report()


def extrapolate(*args: Any, **options: Any) -> Any:
    """The report, whose values a test knows not to be None."""
    return systems.extrapolate(*args, **options)


def row(report: Any, name: str) -> Any:
    return next(one for one in report["systems"] if one["name"] == name)


def test_table_3_is_by_name() -> None:
    mib = 1 << 20
    assert presets.transfer_sizes("3B") == (8 * mib, 8 * mib, mib)
    assert presets.transfer_sizes("3E") == (8 * mib, 8 * mib, 16 * mib)
    assert presets.transfer_sizes("4F") == (mib, 16 * mib, None)
    assert len(presets.names()) == 11
    with raises("unknown-name", "`3b`"):
        presets.transfer_sizes("3b")


def test_every_number_of_a_shipped_part_says_where_it_is_from() -> None:
    table = data.shipped()
    for kind in ("cpu", "drive", "board"):
        for name, part in table[kind].items():
            for key, value in part.items():
                path = f"{kind}.{name}.{key}"
                if key == "seen":
                    value, path = value["cores_busy"], f"{path}.cores_busy"
                if not isinstance(value, str):
                    assert ("source" in value) != ("assumed" in value), path
    for system in table["system"].values():
        for key in ("read_share", "write_share"):
            assert key not in system or "source" in system[key]
    assert len([s for s in table["system"].values() if "measured" in s]) == 13


def test_rows_that_do_not_follow_from_their_columns(paper: Any) -> None:
    checks = {r["name"]: r["measured"]["row"] for r in paper["systems"] if r["measured"]}
    assert checks["1B"]["records_per_j"] == pytest.approx(1e8 / (274 * 29.5))
    assert {name for name, check in checks.items() if check.get("follows") is False} == {
        "1B",
        "4E",
        "4G",
    }
    for name, check in checks.items():
        if check.get("follows"):
            assert abs(check["printed_over"]) < 0.002, name
    # "Sorting 100GB for less than 87kJoules".
    ozsort = row(paper, "OzSort")["measured"]
    assert checks["OzSort"]["implied_time_s"] * ozsort["power_w"] < 87_000


def test_the_work_of_processors_is_what_the_text_says(paper: Any) -> None:
    work = paper["fitted"]["core_s_per_gb"]
    # 30 % of a core for 274 s and 10 GB; 6 to 7 % for 292 s.
    assert sum(work["atom-330"]) == pytest.approx(0.30 * 27.4)
    assert sum(work["core2-duo"]) == pytest.approx(0.065 * 29.2)
    # Both cores while four SSDs write 10 GB at 100 MB/s each.
    assert work["athlon-x2"][1] == pytest.approx(2 * 2.5)
    assert sum(work["athlon-x2"]) == pytest.approx(sum(work["atom-330"]))
    assert work["nano-u2250"] is None
    shares = [output / (first + output) for first, output in filter(None, work.values())]
    assert max(shares) == pytest.approx(min(shares))


def test_the_measured_rows_are_met_where_the_text_says_drives_reach_their_rates(
    paper: Any,
) -> None:
    for name in ("1B", "2", "3B", "3E", "4C", "4F", "4G"):
        assert abs(row(paper, name)["error"]["time_s"]) < 0.05, name
        assert abs(row(paper, name)["error"]["power_w"]) < 0.05, name
    # One number a board is fitted: with one row it is met, with more the errors of watts cancel.
    boards = paper["fitted"]["board_w"]
    assert row(paper, "1B")["error"]["power_w"] == pytest.approx(0, abs=1e-12)
    for name in ("desktop", "server"):
        own_power = boards[name]["rows"].values()
        assert boards[name]["value"] == pytest.approx(sum(own_power) / len(own_power))
        assert len(own_power) > 3
    for one in paper["systems"]:
        error = one.get("error", {})
        if "power_w_without_it" in error:
            assert abs(error["power_w_without_it"]) >= abs(error["power_w"])


def test_power_without_a_row_is_that_of_a_fit_without_it(paper: Any) -> None:
    boards = paper["fitted"]["board_w"]["desktop"]["rows"]
    others = [watts for name, watts in boards.items() if name != "3C"]
    ours = row(paper, "3C")
    power = (sum(ours["modelled"]["parts_w"].values()) + sum(others) / len(others)) / 0.8
    assert ours["error"]["power_w_without_it"] == pytest.approx(power / 81.0 - 1)


def test_the_page_has_the_errors_of_the_published_machines() -> None:
    """The section is made again and compared with the committed page."""
    made = render("joulesort-systems", "machines", **joulesort_systems.machines())
    assert made.startswith("## Published machines\n")
    page = (ROOT / "docs/design/joulesort-systems.md").read_text(encoding="utf-8")
    assert made in page, "run `make figures`"
    # A large error has its reason.
    for row in published():
        assert row["reason"] or not joulesort_systems.large(row), row["name"]


def test_published_machines_by_hand() -> None:
    rows: dict[str, Any] = {row["name"]: row for row in published()}
    share = extrapolate()["fitted"]["busy_share_of_tdp"]
    # Geode, 256 MiB at 1.5 W/GiB, a card that sleeps, the board; a supply of 0.8.
    fawn = rows["FAWN"]
    idle, busy = (cpu + 1.5 / 4 + card + 1 for cpu, card in ((0.2 * 2.4, 0), (share * 2.4, 0.15)))
    assert fawn["idle_w"] == pytest.approx(idle / 0.8)
    assert fawn["most_w"] == pytest.approx(busy / 0.8)
    assert fawn["serves"]["power_error"] == pytest.approx(busy / 0.8 / 4 - 1)
    assert fawn["serves"]["per_joule_error"] == pytest.approx(1300 / (busy / 0.8) / 350 - 1)
    # In one pass, five SSDs read 10 GB, then write them.
    fawnsort = rows["FAWNSort-2010"]
    time = 1e10 / (5 * 240e6) + 1e10 / (5 * 170e6)
    assert fawnsort["modelled"]["time_s"] == pytest.approx(time)
    assert fawnsort["error"]["time_s"] == pytest.approx(time / 21.2 - 1)
    # 13 laptop disks at 45 MB/s, six for input and output and seven for temporary files.
    assert rows["CoolSort"]["modelled"]["time_s"] == pytest.approx(2 * 1e10 / (6 * 45e6))
    # The score of a machine whose energy alone is published.
    assert rows["EcoSort"]["published"]["records_per_j"] == pytest.approx(1e9 / 27_900)
    assert rows["EcoSort"]["published"]["power_w"] is None
    # Their boards draw what those of the paper were fitted to, and their cards.
    boards = extrapolate()["fitted"]["board_w"]
    for name, like, cards in (("FAWNSort-2012", "desktop", 24), ("CoolSort", "mobile", 12)):
        assert rows[name]["modelled"]["board_w"] == pytest.approx(boards[like]["value"] + cards)
    for name in ("3B", "4C"):
        assert rows[name]["idle_w"] < rows[name]["modelled"]["power_w"] < rows[name]["most_w"]


def test_every_number_of_a_published_machine_says_where_it_is_from() -> None:
    systems = others()
    for kind in (systems.cpu, systems.drive, systems.board):
        for name, part in kind.items():
            for value in vars(part).values():
                if isinstance(value, Value):
                    assert bool(value.source) != bool(value.assumed), name
    for row in published():
        system = systems.system[row["name"]]
        assert row["of_paper"] or system.serves or (system.measured and system.measured.source)


@pytest.mark.parametrize(
    ("board", "kind", "words"),
    [
        ('like = "nothing"', "unknown-name", ("nothing",)),
        ('like = "plain"', "unknown-name", ("plain",)),
        ("cards = 3", "", ()),
    ],
)
def test_a_board_like_another(board: str, kind: str, words: tuple[str, ...]) -> None:
    text = OWN.replace('base = "6W"', f"{board}\n[board.other]\nefficiency = 0.5\nbase = 4")
    if kind:
        Path("own.toml").write_text(text, encoding="utf-8")
        with raises(kind, "own.toml", *words):
            extrapolate("own.toml")
        return
    text = text.replace(board, f'{board}\nlike = "other"')
    Path("own.toml").write_text(text, encoding="utf-8")
    assert extrapolate("own.toml")["systems"][0]["modelled"]["board_w"] == 7


def test_a_result_needs_power_and_score_or_energy() -> None:
    for row in ('{ power = "30" }', '{ records_per_j = "9" }', '{ time = "3" }'):
        Path("own.toml").write_text(f"{OWN}measured = {row}\n", encoding="utf-8")
        with raises("missing-key", "measured"):
            extrapolate("own.toml")
    Path("own.toml").write_text(f'{OWN}measured = {{ energy = "2000" }}\n', encoding="utf-8")
    (system,) = extrapolate("own.toml")["systems"]
    assert system["measured"]["records_per_j"] == pytest.approx(10_000_000 / 2000)
    assert system["error"]["power_w"] is None


def test_the_ideal_system(paper: Any) -> None:
    claims = paper["claims"]
    assert claims["balanced"]["gain_gives_records_per_j"] == pytest.approx(36_250)
    assert claims["balanced"]["gain_needed"] == pytest.approx(11 / 29)
    swapped = claims["ideal"]["swapped"]
    athlon, core2 = swapped["processor_w"]
    assert swapped["power_w"] == pytest.approx(88.9 - (athlon - core2) / 0.8)
    assert swapped["records_per_j"] == pytest.approx(1e8 / (56.0 * swapped["power_w"]))
    assert swapped["paper_power_w"] == pytest.approx(1e8 / (56.0 * 29_000))
    # Within a fifth of the paper's estimate, and better than all that was measured.
    assert 0 < claims["ideal"]["over_paper"] < 0.2
    assert claims["ideal"]["records_per_j"] > max(
        one["measured"]["records_per_j"] for one in paper["systems"] if one["measured"]
    )
    ideal, desktop = (row(paper, name)["modelled"] for name in ("ideal", "3B"))
    assert ideal["time_s"] == desktop["time_s"]
    assert ideal["power_w"] < desktop["power_w"]


def test_plateaus_of_the_paper(paper: Any) -> None:
    found = [plateau["systems"] for plateau in paper["plateaus"]["plateaus"]]
    assert found[:2] == [["3D", "2", "OzSort", "CoolSort", "1B"], ["3B", "3E", "3C"]]
    assert found[2:] == [["paper's ideal"], ["paper's balanced"]]
    assert paper["claims"]["power_span"]["measured"] == pytest.approx(129.8 / 29.5)
    points = paper["plateaus"]["points"]
    within, between = (paper["plateaus"][k] for k in ("largest_within", "smallest_between"))
    for step in (within * 1.0001, between * 0.9999):
        assert [p["systems"] for p in plateaus.of(points, step)["plateaus"]] == found
    for step in (within * 0.9999, between * 1.0001):
        assert [p["systems"] for p in plateaus.of(points, step)["plateaus"]] != found


@pytest.mark.parametrize("records", [10**7, 10**9, 10**10])
def test_measured_rows_stay_at_their_own_size(paper: Any, records: int) -> None:
    """Rows, fits, errors, plateaus and the paper's estimates do not move with `records`."""
    other = joulesort.report([f"records={records}"])
    assert other["records"] == records
    for one, same in zip(other["systems"], paper["systems"], strict=True):
        assert one["measured"] == same["measured"]
        assert one.get("error") == same.get("error")
    assert other["fitted"] == paper["fitted"]
    assert other["claims"] == paper["claims"]
    assert [p["systems"] for p in other["plateaus"]["plateaus"]] == [
        p["systems"] for p in paper["plateaus"]["plateaus"]
    ]
    # The model is of the requested size; where 3B sorts in two passes, its time grows with it.
    times = [row(report, "3B")["modelled"]["time_s"] for report in (other, paper)]
    if row(other, "3B")["passes"] == 2:
        assert times[0] == pytest.approx(times[1] * records / 10**8)
    else:
        assert times[0] < times[1] * records / 10**8


def test_rows_of_ones_own_file_stay_at_the_size_of_the_file() -> None:
    text = OWN.replace('base = "6W"\n', "")
    measured = 'measured = { time = "30.0", power = "30.0", records_per_j = "11111" }\n'
    Path("own.toml").write_text(text + measured, encoding="utf-8")
    report, large = (
        extrapolate("own.toml"),
        extrapolate("own.toml", set=["records=100000000"]),
    )
    assert large["systems"][0]["measured"] == report["systems"][0]["measured"]
    assert large["systems"][0]["measured"]["records"] == 10_000_000
    assert large["systems"][0]["error"] == report["systems"][0]["error"]
    assert large["systems"][0]["error"]["time_s"] == pytest.approx(0)
    # Shipped rows that take part in the fits keep the 10^8 records of the paper.
    assert report["fitted"] | {"board_w": None} == large["fitted"] | {"board_w": None}
    assert sum(report["fitted"]["core_s_per_gb"]["atom-330"]) == pytest.approx(0.30 * 27.4)


def test_power_that_is_fitted_to_its_own_row_is_called_so(run: Run, paper: Any) -> None:
    fitted = {r["name"] for r in paper["systems"] if r.get("error", {}).get("power_fitted_to_it")}
    assert fitted == {"1B", "2"}
    ran = run("sort", "extrapolate")
    assert "board power of 1B, 2 is fitted to that row alone" in ran.out.replace("\n", " ")
    assert "+0%" not in next(line for line in ran.out.splitlines() if line.startswith("1B "))


def test_a_row_of_another_size_is_not_drawn_as_measured(paper: Any) -> None:
    drawn = {name.split(",")[0]: (kind, name) for kind, name, _, _ in plot._points(paper)}
    assert drawn["OzSort"] == (plot.SCALED, "OzSort, 1e9 records")
    assert [kind for kind, _ in drawn.values()].count(plot.SCALED) == 1


BENCHMARK = {
    "category": {"records": 10_000_000},
    "time_s": {"how": "measured", "mean": 31.0, "sd": 0.5},
    "runs": [{}] * 5,
    "result": {"how": "measured", "mean_w": {"mean": 30.0, "sd": 0.1}},
    "failed": [],
    "phases": [
        {"name": "start of the program", "time_s": {"mean": 0.9, "sd": 0.1}}
        | dict.fromkeys(("cpu_s", "read_bytes", "written_bytes")),
        *(
            {
                "name": phase["name"],
                "time_s": {"mean": phase["seconds"], "sd": 0.1},
                "cpu_s": phase["cpu_s"],
                "read_bytes": phase["bytes_read"],
                "written_bytes": phase["bytes_written"],
            }
            for phase in RUN["phases"]  # type: ignore[attr-defined]
        ),
    ],
}


def test_statements_are_next_to_what_the_tables_give(run: Run, paper: Any) -> None:
    statements = {one["paper"]: one for one in paper["claims"]["statements"]}

    def here(part: str) -> tuple[str, bool | None]:
        (one,) = (one for text, one in statements.items() if part in text)
        return one["here"], one["agrees"]

    assert here("by 10 %") == (
        "10.1% by the printed scores, 6.4% by the time and power of 1B",
        False,
    )
    assert here("1/3 of")[0].endswith("0.297")
    assert here("about 90 %") == (
        "0.906 by the printed scores, 0.938 by time and power",
        False,
    )
    assert here("more than twice") == ("4C: 2.13 times CoolSort's score", True)
    assert here("orders of magnitude") == ("table 3: 1.2 to 3.0 orders", False)
    assert here("best for temporary files, too") == (
        "table 3: the same in 0 of 6 two-pass systems",
        False,
    )
    assert here("decoupled") == ("table 3: they differ in 1 of 11 systems", False)
    assert here("best on one drive") == (
        "table 3: 2 has 4M, 4M, 2M; 1B has 1M, 1M, 2M",
        False,
    )
    assert here("single-core")[1] is True
    assert here("ECC")[0] == ("best with ECC: 4C, 24,755 records/J; best without: 1B, 12,801")
    assert here("80-plus")[0].endswith("the old supplies had 0.72")
    assert here("power factors")[0].startswith("3B's 88.9 W are up to 93.6 VA")
    out = run("reproduce", "joulesort").out
    assert "the paper says" in out
    assert "power factors of 0.95 to 1.0" in out


def test_the_json_of_a_benchmark_is_a_run() -> None:
    Path("bench.json").write_text(json.dumps(BENCHMARK), encoding="utf-8")
    ours, theirs = own.read("bench.json", "a"), own.read("run.json")
    assert ours.demand == theirs.demand
    assert (ours.time_s, ours.power_w, ours.system) == (31.0, 30.0, "a")
    report = extrapolate("own.toml", measured="bench.json", home="a")
    assert report["systems"] == extrapolate("own.toml", measured="run.json")["systems"]
    modelled = BENCHMARK | {"result": {"how": "modelled", "mean_w": {"mean": 30.0}}}
    Path("bench.json").write_text(json.dumps(modelled), encoding="utf-8")
    report = extrapolate("own.toml", measured="bench.json", home="a")
    assert "the power of the run is modelled, not measured" in report["warnings"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"result": None, "failed": [{"what": "output in order"}]}, "output in order"),
        ({"phases": []}, "phases"),
    ],
)
def test_a_benchmark_without_result_or_phases_is_an_error(
    run: Run, change: dict[str, Any], what: str
) -> None:
    Path("bench.json").write_text(json.dumps(BENCHMARK | change), encoding="utf-8")
    run("sort", "extrapolate", "own.toml", "--from", "bench.json").refused(
        "bad-run", "bench.json", what
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"phases": [{"name": "input"}]}, "`time_s` is missing"),
        ({"category": 5}, "another form"),
        ({"time_s": 31.0}, "another form"),
    ],
)
def test_a_benchmark_of_another_version_is_an_error_that_says_so(
    run: Run, change: dict[str, Any], what: str
) -> None:
    Path("bench.json").write_text(json.dumps(BENCHMARK | change), encoding="utf-8")
    ran = run("sort", "extrapolate", "own.toml", "--from", "bench.json")
    ran.refused("another-version", "bench.json: not the JSON of this version", what)
    assert "run the benchmark again" in ran.err


def test_the_json_of_gordon_joulesort_is_read(run: Run, tmp_path: Path) -> None:
    words = "joulesort --records 20000 --runs 1 --idle 0 --tail 0 --meter model --json b.json"
    assert run(*words.split()).status == 0
    ran = run(
        "sort", "extrapolate", "own.toml", "--from", "b.json", "--on", "a", "--json", "t.json"
    )
    assert ran.status == 0, ran.err
    report = json.loads((tmp_path / "t.json").read_text())
    bench = json.loads((tmp_path / "b.json").read_text())
    assert report["run"]["power_w"] == bench["result"]["mean_w"]["mean"]
    assert report["records"] == 20000


def test_the_model_by_hand() -> None:
    report = extrapolate("own.toml")
    assert [one["name"] for one in report["systems"]] == ["a"]
    ours = report["systems"][0]["modelled"]
    first, last = ours["phases"]
    # 1 GB: read at 200 MB/s, written to one drive at 50; read from it at 100, written at 100.
    assert first["limits_s"] == pytest.approx(
        {"input and output drives": 5, "temporary drives": 20, "processor": 5}
    )
    assert last["limits_s"] == pytest.approx(
        {"input and output drives": 10, "temporary drives": 10, "processor": 5}
    )
    assert (first["limit"], ours["time_s"]) == ("temporary drives", 30)
    # Busy power by AMD's pairs.
    pairs = ((40, 60), (55, 79), (75, 115), (105, 137))
    busy = 10 * sum(a * t for a, t in pairs) / sum(t * t for _, t in pairs)
    cpu = [2 + share * (busy - 2) for share in (5 / 20, 5 / 10)]
    drives = [2 * (0.75 + 0.25 * 4) + 4, 3 * 4]
    mean = sum((c + d + 1) * t for c, d, t in zip(cpu, drives, (20, 10), strict=True)) / 30
    assert ours["power_w"] == pytest.approx((mean + 6) / 0.5)
    assert ours["records_per_j"] == pytest.approx(1e7 / (30 * ours["power_w"]))


def test_one_pass_where_memory_holds_all_and_links_that_limit() -> None:
    report = extrapolate("own.toml", set=["system.a.memory=2GiB"])
    assert report["systems"][0]["passes"] == 1
    assert report["systems"][0]["modelled"]["time_s"] == pytest.approx(5 + 10)
    slow = extrapolate("own.toml", set=["board.plain.link=40MB"])
    assert slow["systems"][0]["modelled"]["phases"][0]["limit"] == "link"
    assert slow["systems"][0]["modelled"]["time_s"] == pytest.approx(2 * 2e9 / 40e6)
    each = extrapolate("own.toml", set=["drive.plain.link=25MB"])
    assert each["systems"][0]["modelled"]["phases"][0]["time_s"] == pytest.approx(40)


def test_a_measured_run_is_modelled_on_other_systems() -> None:
    report = extrapolate("own.toml", measured="run.json")
    ours = report["systems"][0]
    assert ours["passes"] == 2
    # 2 MB and 1 GB are read from two drives; temporary files are written at 50 MB/s, read at 100.
    times = {phase["name"]: phase["time_s"] for phase in ours["modelled"]["phases"]}
    assert times == pytest.approx({"plan": 0.01, "distribute": 20, "gather": 10})
    assert ours["measured"]["records_per_j"] == pytest.approx(1e7 / (31 * 30))
    # Without a power of its own, the board has what the run leaves for it.
    bare = OWN.replace('base = "6W"\n', "")
    Path("own.toml").write_text(bare, encoding="utf-8")
    fitted = extrapolate("own.toml", measured="run.json")["systems"][0]
    assert fitted["modelled"]["power_w"] == pytest.approx(30)
    assert any("board.plain.base" in text for text in extrapolate("own.toml")["warnings"])


def test_work_is_scaled_to_another_processor() -> None:
    twice = """
[cpu.slow]
cores = 2
tdp = "5W"
work = { input = 20, output = 20 }
[system.b]
cpu = "slow"
board = "plain"
memory = "1GiB"
files = { drive = "plain", count = 200 }
"""
    Path("own.toml").write_text(OWN + twice, encoding="utf-8")
    report = extrapolate("own.toml", measured="run.json")
    gather = row(report, "b")["modelled"]["phases"][-1]
    assert gather["limit"] == "processor"
    assert gather["time_s"] == pytest.approx(2 * 8 / 2)
    faster = extrapolate("own.toml", measured="run.json", home="b")
    assert row(faster, "a")["modelled"]["phases"][-1]["limits_s"]["processor"] == 8 / 2 / 2
    nowhere = dict(RUN)
    del nowhere["system"]
    Path("run.json").write_text(json.dumps(nowhere), encoding="utf-8")
    report = extrapolate("own.toml", measured="run.json")
    assert row(report, "b")["modelled"]["phases"][-1]["time_s"] == pytest.approx(8 / 2)
    assert any("core-seconds are used unscaled" in text for text in report["warnings"])


def test_phases_of_one_pass_and_of_merges() -> None:
    def phases(*moved: tuple[float, float]) -> list[tuple[list[str], list[str]]]:
        rows = [
            {"name": "x", "seconds": 1, "cpu_s": 1, "bytes_read": r, "bytes_written": w}
            for r, w in moved
        ]
        Path("run.json").write_text(json.dumps(RUN | {"phases": rows}), encoding="utf-8")
        made = own.read("run.json").demand.phases
        return [(list(phase.reads), list(phase.writes)) for phase in made]

    assert phases((5, 0), (0, 5)) == [(["files"], []), ([], ["files"])]
    assert phases((5, 5)) == [(["files"], ["files"])]
    assert phases((5, 5), (5, 5), (5, 5)) == [
        (["files"], ["temp"]),
        (["temp"], ["temp"]),
        (["temp"], ["files"]),
    ]


@pytest.mark.parametrize(
    ("where", "what"), [("none.toml", "No such file"), (".", "Is a directory")]
)
def test_systems_that_cannot_be_read_are_one_error(run: Run, where: str, what: str) -> None:
    ran = run("sort", "extrapolate", where)
    assert ran.out == ""
    ran.refused("unreadable-file", f"{where}: {what}", "\n  try: ")


@pytest.mark.parametrize(
    ("before", "after", "kind", "named"),
    [
        ("cores = 2", "core = 2", "unknown-name", ("own.toml: cpu.two:", "`core`", "`cores`")),
        ('cpu = "two"', 'cpu = "twoo"', "unknown-name", ("system.a:", "cpu `twoo`", "`two`")),
        ('drive = "plain" }', 'drive = "plan" }', "unknown-name", ("drive `plan`", "`plain`")),
        ("[board.plain]", "[bord.plain]", "unknown-name", ("own.toml:", "`bord`", "`board`")),
        ("efficiency = 0.5", "efficiency = 1.5", "out-of-range", ("1.5", "0.01 and 1")),
        ('base = "6W"', 'base = "6V"', "bad-value", ("board.plain.base: '6V'", "unit W")),
        ('read = "100MB"', 'read = "fast"', "", ("drive.plain.read: `fast`",)),
        ('idle = "1W"', "", "missing-key", ("drive.plain: `idle`", "`part`")),
        ("count = 2", "count = 0", "bad-value", ("files.count: 0",)),
        ('memory = "512MiB"', "", "missing-key", ("system.a: `memory`",)),
        ("[system.a]", "[system.a", "bad-toml", ("own.toml: ", "line")),
        ("work = {", "like = 'two' #", "circular-reference", ("cpu.two", "two -> two")),
        ('tdp = "10W"', 'tdp = "10W"\nwork.x = 3', "bad-toml", ("own.toml: ", "line")),
    ],
)
def test_bad_systems_are_one_error(
    run: Run, tmp_path: Path, before: str, after: str, kind: str, named: tuple[str, ...]
) -> None:
    assert before in OWN
    Path("own.toml").write_text(OWN.replace(before, after, 1), encoding="utf-8")
    ran = run("sort", "extrapolate", "own.toml", "--json", "report.json")
    assert ran.out == ""
    ran.refused(kind, *named)
    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize(
    ("args", "kind", "named"),
    [
        (("--set", "system.b.cpu=two"), "unknown-name", "--set system.b.cpu:"),
        (("--set", "drive.plain.writ=3"), "unknown-name", "`writ`"),
        (("--set", "drive.plain"), "bad-setting", "--set drive.plain:"),
        (("--set", "records.x=3"), "not-a-table", "`records`"),
        (("--from", "none.json"), "unreadable-file", "none.json"),
        (("--from", "own.toml"), "bad-run", "own.toml"),
        (("--from", "run.json", "--on", "c"), "unknown-name", "system `c`"),
        (("--on", "a"), "needs-option", "--from"),
        (("--plot", "x.txt"), "bad-image-format", "x.txt"),
        (("--json", "no/x.json"), "missing-folder", "no/x.json"),
    ],
)
def test_bad_options_are_one_error(run: Run, args: tuple[str, ...], kind: str, named: str) -> None:
    run("sort", "extrapolate", "own.toml", *args).refused(kind, named)


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("records", None, "`records`"),
        ("records", 1.5, "records: 1.5"),
        ("time_s", 0, "time_s: 0"),
        ("power_w", "12 W", "power_w: '12 W'"),
        ("phases", [], "phases"),
        ("phases", [{"name": "x", "seconds": 1, "cpu_s": -1}], "phase x: `bytes_read`"),
        ("phases", [3], "phases: 3"),
        ("system", "elsewhere", "system `elsewhere`"),
    ],
)
def test_bad_runs_are_one_error(run: Run, key: str, value: Any, what: str) -> None:
    report = RUN | {key: value}
    if value is None:
        del report[key]
    Path("run.json").write_text(json.dumps(report), encoding="utf-8")
    ran = run("sort", "extrapolate", "own.toml", "--from", "run.json")
    ran.refused("unknown-name" if key == "system" else "bad-run", what)


def test_the_command_prints_and_writes_the_report_of_the_api(run: Run, tmp_path: Path) -> None:
    ran = run("reproduce", "joulesort", "--json", "report.json", "--plot", "plot.svg")
    assert ran.status == 0, ran.err
    written = json.loads((tmp_path / "report.json").read_text())
    summary = written.pop("summary")
    assert written == joulesort.report()
    agree = [item["agrees"] for item in written["items"]]
    assert (summary["figures"], summary["agree"]) == (len(agree), sum(agree))
    assert "about 29,000 records/J; model 34," in ran.out
    assert 'paper "at least 25% better", which gives 36,250 records/J' in ran.out
    (row,) = (line for line in ran.out.splitlines() if line.startswith("1B: the printed"))
    assert "12,801 records/J" in row
    assert row.endswith("12,372")
    assert "1C: not modelled" in ran.err
    assert (
        "CoolSort" in (tmp_path / "plot.svg").read_text()
        or "<svg" in (tmp_path / "plot.svg").read_text()
    )
    same = run("sort", "extrapolate", "--json", "-")
    assert json.loads(same.out) == extrapolate()
    alone = run("sort", "extrapolate", "own.toml", "--json", "-")
    assert json.loads(alone.out)["systems"][0]["name"] == "a"


def test_the_page_is_what_its_script_prints() -> None:
    script = ROOT / "scripts/pages/joulesort_systems.py"
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    page = (ROOT / "docs/design/joulesort-systems.md").read_text(encoding="utf-8")
    assert ran.stdout == page, "make figures"
