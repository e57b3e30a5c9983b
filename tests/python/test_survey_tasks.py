"""`gordon survey` of applications of Spark by the tasks model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gordon
from gordon import survey
from surveyed import of_tasks
from test_trace_spark import ONE_HOST, TWO_HOSTS

from conftest import Run

DATA = Path(__file__).resolve().parents[2] / "crates/trace/tests/data/spark"
LOGS = [DATA / "app-3.5", DATA / "app-4.3-query", DATA / "eventlog_v2_app-4.0"]
#: Machines in which everything but the named values is the same.
MACHINE = """
[[machines]]
id = "{id}"
cores = {cores}
core_speed = {speed}
memory = "{memory}"
storage = {{ bandwidth = "500MB" }}
network = "10Gb"
price_per_hour = {price}
"""


def space(folder: Path, *machines: dict[str, Any]) -> str:
    """A space file of machines."""
    path = folder / "machines.toml"
    defaults = {"id": "one", "cores": 4, "speed": 1.0, "memory": "16GiB", "price": 1.0}
    listed = "".join(MACHINE.format(**(defaults | machine)) for machine in machines)
    path.write_text(f'name = "machines"\nsummary = "made up"\n{listed}')
    return str(path)


def log_with(folder: Path, change: Any) -> Path:
    """The log of one host with other events."""
    path = folder / "changed"
    events = [json.loads(line) for line in ONE_HOST.read_text().splitlines()]
    kept = [changed for event in events for changed in [change(event)] if changed is not None]
    path.write_text("".join(json.dumps(event) + "\n" for event in kept))
    return path


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
@pytest.mark.parametrize("name", ["ec2", "modern", "azure", "gcp"])
def test_no_cluster_is_below_the_critical_path_of_its_tasks(log: Path, name: str) -> None:
    found = of_tasks(survey.run(log, space=name, nodes=[1, 2, 5, 40]))
    assert found["model"] == "tasks"
    for row in found["designs"]:
        of = row["tasks"]
        assert of["floor_s"] <= of["time_s"] * (1 + 1e-9)
        assert 0 < of["time_s_low"] < of["time_s"] < of["time_s_high"]
        assert sum(of["parts_s"].values()) == pytest.approx(of["time_s"])
        longest = max((stage["longest_s"] for stage in row.get("stages", [])), default=0.0)
        assert longest <= of["time_s"]
    assert found["floor_s"] == pytest.approx(
        min(row["tasks"]["floor_s"] for row in found["designs"])
    )


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_the_recorded_cluster_takes_the_recorded_time(log: Path, tmp_path: Path) -> None:
    recorded = of_tasks(survey.run(log, space="ec2", nodes="1"))["application"]
    cores = recorded["slots_per_executor"]
    made = space(tmp_path, {"cores": cores, "memory": "64GiB"})
    found = of_tasks(survey.run(log, space=made, nodes=recorded["nodes"], reference="one"))
    (row,) = found["designs"]
    assert row["is_reference"]
    assert row["tasks"]["time_s"] == pytest.approx(recorded["time_s"], rel=0.1)
    assert row["tasks"]["time_s_low"] < recorded["time_s"] < row["tasks"]["time_s_high"]


def test_a_log_without_settings_has_no_limit_of_memory(tmp_path: Path) -> None:
    """As the second piece of a rolled log: how much memory its executors had is unknown."""
    is_known = True

    def large(event: dict[str, Any]) -> dict[str, Any] | None:
        if event["Event"] == "SparkListenerTaskEnd":
            event["Task Metrics"]["Peak Execution Memory"] = 2 << 30
        return event if is_known or event["Event"] != "SparkListenerEnvironmentUpdate" else None

    def parts(**settings: str) -> tuple[float, list[str]]:
        made = space(tmp_path, {"cores": 4, "memory": "64GiB"})
        given = [f"{key.replace('_', '.')}={value}" for key, value in settings.items()]
        log = log_with(tmp_path, large)
        found = of_tasks(survey.run(log, space=made, nodes=1, reference="one", set=given))
        (row,) = found["designs"]
        keys = [assumption["key"] for assumption in found["assumptions"]]
        return row["tasks"]["parts_s"].get("spill", 0.0), keys

    spill, keys = parts()
    assert spill > 0
    assert "executor.memory" not in keys
    is_known = False
    spill, keys = parts()
    assert spill == 0
    assert "executor.memory" in keys
    spill, keys = parts(executor_memory="1GiB")
    assert spill > 0
    assert "executor.memory" not in keys


def test_a_faster_machine_and_more_nodes_take_less_time(tmp_path: Path) -> None:
    made = space(tmp_path, {"id": "slow"}, {"id": "fast", "speed": 2.0})
    found = of_tasks(survey.run(TWO_HOSTS, space=made, nodes="1,2", reference="slow"))
    times = {row["id"]: row["tasks"]["time_s"] for row in found["designs"]}
    assert times["1 x fast"] < times["1 x slow"]
    # Of two nodes, half of the shuffle data comes from the other one.
    assert times["2 x slow"] <= times["1 x slow"] * 1.001


def test_nodes_without_a_task_do_not_seem_to_make_a_job_faster() -> None:
    found = of_tasks(survey.run("spark-sort", space="ec2", nodes="1..20", rows=10_000))
    fastest = next(row for row in found["designs"] if "fastest" in row["names"])
    times = {
        row["nodes"]: row["tasks"]
        for row in found["designs"]
        if row["machine"] == fastest["machine"]
    }
    least = fastest["tasks"]["time_s"]
    equal = [nodes for nodes, of in times.items() if of["time_s"] == pytest.approx(least, rel=1e-9)]
    assert len(equal) > 5
    assert fastest["nodes"] == min(equal)
    ends = [times[nodes]["time_s_high"] for nodes in equal]
    assert ends == pytest.approx([fastest["tasks"]["time_s_high"]] * len(ends), rel=1e-9)


def test_the_cheapest_cluster_within_the_deadline_is_recommended(tmp_path: Path) -> None:
    made = space(tmp_path, {"id": "cheap"}, {"id": "fast", "speed": 4.0, "price": 20.0})
    free = of_tasks(survey.run(ONE_HOST, space=made, nodes="1..4", reference="cheap"))
    fastest = free["named"]["fastest"]
    assert fastest is not None
    by_id = {row["id"]: row["tasks"] for row in free["designs"]}
    slowest = max(of["time_s_high"] for of in by_id.values())
    easy = of_tasks(
        survey.run(ONE_HOST, space=made, nodes="1..4", reference="cheap", deadline=slowest)
    )
    assert easy["verdict"] is not None
    assert easy["verdict"]["id"] == free["named"]["cheapest"]
    hard = of_tasks(
        survey.run(ONE_HOST, space=made, nodes="1..4", reference="cheap", deadline=1e-3)
    )
    assert hard["verdict"] is None
    assert fastest in hard["sentence"]
    limit = by_id[fastest]["time_s_high"] * 1.01
    tight = of_tasks(
        survey.run(ONE_HOST, space=made, nodes="1..4", reference="cheap", deadline=limit)
    )
    assert tight["verdict"] is not None
    assert tight["verdict"]["machine"] == "fast"
    assert by_id[tight["verdict"]["id"]]["time_s_high"] <= limit


def test_executors_need_the_cores_and_the_memory_of_a_machine(tmp_path: Path) -> None:
    made = space(
        tmp_path, {"id": "small", "cores": 1, "memory": "1GiB"}, {"id": "large", "cores": 8}
    )
    found = of_tasks(survey.run(ONE_HOST, space=made, nodes="2", set="executor.memory=2GiB"))
    assert [refused["machine"] for refused in found["refused"]] == ["small"]
    assert {row["machine"] for row in found["designs"]} == {"large"}
    halves = of_tasks(
        survey.run(
            ONE_HOST, space=made, nodes="2", set=["executor.cores=4", "executor.memory=2GiB"]
        )
    )
    (row,) = halves["designs"]
    assert (row["executors_per_node"], row["slots_per_node"]) == (2, 8)
    with pytest.raises(gordon.GordonError, match="the largest is large") as refusal:
        survey.run(ONE_HOST, space=made, set="executor.memory=1TiB")
    assert "--set executor.memory=" in refusal.value.hint


def test_a_stage_of_more_partitions_has_shorter_tasks(tmp_path: Path) -> None:
    made = space(tmp_path, {"cores": 8})
    few, many = (
        of_tasks(survey.run(TWO_HOSTS, space=made, nodes="4", partitions=count))
        for count in (1, 32)
    )
    assert few["designs"][0]["tasks"]["time_s"] >= many["designs"][0]["tasks"]["time_s"]


def test_failed_and_repeated_attempts_are_counted_and_left_out(tmp_path: Path) -> None:
    failed = 0

    def change(event: dict[str, Any]) -> dict[str, Any]:
        nonlocal failed
        if event["Event"] == "SparkListenerTaskEnd" and failed < 2:
            failed += 1
            event["Task End Reason"] = {"Reason": "ExceptionFailure"}
        return event

    found = of_tasks(survey.run(log_with(tmp_path, change), nodes="1"))
    assert found["application"]["left_out"]["failed"] == 2
    assert any("2 failed" in warning for warning in found["warnings"])


@pytest.mark.parametrize("event", ["SparkListenerTaskEnd", "SparkListenerTaskStart"])
def test_a_log_without_ends_of_tasks_is_refused(event: str, tmp_path: Path, run: Run) -> None:
    def change(found: dict[str, Any]) -> dict[str, Any] | None:
        return (
            None if found["Event"] == "SparkListenerTaskEnd" or found["Event"] == event else found
        )

    ran = run("survey", str(log_with(tmp_path, change)))
    assert ran.status == 1
    assert "no task in it ended with figures" in ran.err


def test_an_application_that_still_runs_is_surveyed_with_a_warning(tmp_path: Path) -> None:
    found = of_tasks(
        survey.run(
            log_with(tmp_path, lambda e: None if e["Event"].endswith("ApplicationEnd") else e)
        )
    )
    assert any("end:" in warning for warning in found["warnings"])


def test_every_column_of_the_table_has_the_values_of_the_report(tmp_path: Path) -> None:
    table = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "designs.parquet"
    found = of_tasks(survey.run(ONE_HOST, space="ec2", nodes="1..3", table=path))
    rows = table.read_table(path).to_pylist()
    assert len(rows) == found["designs_total"]
    by_id = {row["id"]: row for row in rows}
    for row in found["designs"]:
        assert by_id[row["id"]]["time_s"] == row["tasks"]["time_s"]
        assert by_id[row["id"]]["nodes"] == row["nodes"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--model", "job", "--nodes", "1,2"), "one trace is given"),
        (("--space", "gordon-2009", "--deadline", "1min"), "--deadline is for a job on machines"),
        (("--model", "job", "--partitions", "8"), "--partitions is for the tasks model"),
        (("--space", "gordon-2009", "--model", "tasks"), "lists no machines"),
        (("--shift", "0.2"), "--shift"),
        (("--charge", "command"), "the tasks model has the CPU time of each task"),
        (("--charge", "machine"), "the tasks model has the CPU time of each task"),
        (("--set", "executor.cores=many"), "executor.cores"),
        (("--set", "executor.core=2"), "try: `executor.cores`"),
        (("--set", "executo.x=2"), "`executor.cores`"),
        (("--set", "executor.cores=0"), "executor.cores"),
        (("--set", "output.replicas=0"), "output.replicas"),
        (("--set", "output.replicas=-1"), "replicas"),
        (("--set", "driver.speed=-1"), "driver.speed"),
        (("--set", "driver.speed=nan"), "driver.speed=nan: 'nan' is not a value"),
        (("--set", "executor.memory=449MiB"), "449MiB is below 450MiB"),
        (("--partitions", "100001"), "100001 is above 100000"),
        (("--nodes", "0"), "--nodes 0"),
        (("--nodes", "8..2"), "--nodes 8..2"),
        (("--nodes", "20000"), "nodes"),
        (("--deadline", "0"), "deadline"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    words: tuple[str, ...], what: str, run: Run, tmp_path: Path
) -> None:
    ran = run("survey", str(ONE_HOST), *words, "--json", str(tmp_path / "none.json"))
    assert ran.status in (1, 2)
    assert what in ran.err
    assert not (tmp_path / "none.json").exists()


def test_stages_of_a_file_are_those_of_traces(run: Run, tmp_path: Path) -> None:
    stages = tmp_path / "stages.json"
    stages.write_text('{"stages": [{"name": "map", "start_s": 0, "end_s": 5}]}')
    words = ("survey", str(ONE_HOST), "--space", "ec2", "--stages", str(stages))
    ran = run(*words, "--json", "-")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    assert found["model"] == "job"
    assert [one["name"] for one in found["timeline"]["stages"]] == ["map"]
    ran = run(*words, "--model", "tasks")
    ran.refused("wrong-model", "--stages is for the models of traces", status=2)


def test_the_upper_end_is_that_of_a_volume_without_its_burst(tmp_path: Path) -> None:
    made = space(tmp_path, {"id": "burst"}, {"id": "plain"})
    text = Path(made).read_text()
    Path(made).write_text(text.replace('"500MB"', '"1MB", burst = "500MB"', 1))
    rows = of_tasks(survey.run(ONE_HOST, space=made, nodes="1", reference="plain"))["designs"]
    burst, plain = rows[0]["tasks"], rows[1]["tasks"]
    # The log moves its bytes in less than half an hour.
    assert burst["time_s"] == pytest.approx(plain["time_s"], rel=1e-9)
    assert burst["time_s_high"] > plain["time_s_high"]


def test_what_limits_leave_out_is_counted_whatever_the_rows(tmp_path: Path) -> None:
    machines = [{"id": f"m{number}", "price": 1.0 + number} for number in range(5)]
    made = space(tmp_path, *machines)
    options: dict[str, Any] = {"space": made, "nodes": "1..8", "reference": "m0", "max_power": 1e6}
    few = of_tasks(survey.run(ONE_HOST, rows=1, **options))
    many = of_tasks(survey.run(ONE_HOST, rows=1000, **options))
    assert few["warnings"] == many["warnings"]
    assert any("the power of 40 designs is unknown" in text for text in few["warnings"])
    assert len(few["designs"]) < len(many["designs"]) == few["designs_total"] == 40


def test_a_result_without_rows_is_no_error(tmp_path: Path, run: Run) -> None:
    made = space(tmp_path, {"id": "one"})
    words = ("survey", str(ONE_HOST), "--space", made, "--nodes", "1", "--reference", "1.0")
    none = (*words, "--max-price", "1e-9", "--rows", "0")
    ran = run(*none, "--json", "-")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["designs"] == []
    run(*none, "-o", str(tmp_path / "page.html")).refused("no-designs", "--rows 1000")


def test_a_trace_without_a_log_is_refused(trace: str, run: Run) -> None:
    ran = run("survey", trace, "--model", "tasks")
    assert ran.status == 1
    assert "event log" in ran.err


def test_the_screen_has_the_verdict_and_the_stages(run: Run) -> None:
    ran = run("survey", str(TWO_HOSTS), "--nodes", "1..3")
    assert ran.status == 0
    assert "recorded: " in ran.out
    assert "limited by" in ran.out
    assert "Cheapest within 10% of the fastest: " in ran.out


def test_the_screen_has_one_of_the_clusters_that_are_as_fast(run: Run) -> None:
    words = ("survey", "spark-sort", "--space", "ec2", "--reference", "m5.large", "--nodes", "1..4")
    few, every = run(*words), run(*words, "--all")
    front = [line for line in every.out.splitlines() if line.startswith("* ") and " x " in line]
    shown = [line for line in few.out.splitlines() if line.startswith("* ") and " x " in line]
    assert 0 < len(shown) < len(front) / 2
    assert {tuple(line.split()) for line in shown} <= {tuple(line.split()) for line in front}
    for name in ("fastest", "cheapest", "least-energy"):
        assert sum(name in line for line in shown) == 1, name
    assert "of those within 5% in time, one is printed" in few.out
    assert "one is printed" not in every.out


def test_a_long_task_stays_whatever_the_number_of_tasks(tmp_path: Path) -> None:
    """A stage that follows the slots of the cluster has the work of all of its tasks on any."""
    log = tmp_path / "skewed"
    log.write_text("".join(json.dumps(event) + "\n" for event in _skewed()))
    made = space(tmp_path, {"id": "one", "cores": 2})
    found = of_tasks(survey.run(log, space=made, nodes="1,2,4", reference="one"))
    # Seven tasks of 1 s and one of 60 s are 67 s of computing.
    for row in found["designs"]:
        slots = row["nodes"] * row["slots_per_node"]
        assert row["tasks"]["time_s"] > 0.9 * 67 / slots


def _skewed() -> list[dict[str, Any]]:
    """An application of one stage, with two tasks for each of four slots; the first takes 60 s."""
    start = 1_795_698_581_000
    host = {"Host": "h", "Total Cores": 4, "Log Urls": {}}
    stage = {"Stage ID": 0, "Stage Attempt ID": 0, "Stage Name": "s", "Number of Tasks": 8,
             "RDD Info": [], "Parent IDs": [], "Details": "", "Submission Time": start + 3000,
             "Accumulables": []}  # fmt: skip
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerApplicationStart", "App Name": "skewed", "App ID": "a",
         "Timestamp": start, "User": "u"},
        {"Event": "SparkListenerExecutorAdded", "Timestamp": start + 2000, "Executor ID": "0",
         "Executor Info": host},
        {"Event": "SparkListenerStageSubmitted", "Stage Info": stage, "Properties": {}},
    ]  # fmt: skip
    # One slot runs the long task, the others two or three short ones.
    short = [3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 5.0]
    for index, (begun, secs) in enumerate([(3.0, 60.0), *((at, 1.0) for at in short)]):
        begin, end = start + int(1000 * begun), start + int(1000 * (begun + secs))
        info = {"Task ID": index, "Index": index, "Attempt": 0, "Launch Time": begin,
                "Executor ID": "0", "Host": "h", "Locality": "ANY", "Speculative": False,
                "Getting Result Time": 0, "Finish Time": end, "Failed": False, "Killed": False,
                "Accumulables": []}  # fmt: skip
        metrics = {"Executor Deserialize Time": 0, "Executor Run Time": int(1000 * secs),
                   "Executor CPU Time": int(1e9 * secs), "JVM GC Time": 0}  # fmt: skip
        events.append({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0,
                       "Task Type": "ResultTask", "Task End Reason": {"Reason": "Success"},
                       "Task Info": info, "Task Metrics": metrics})  # fmt: skip
    done = {"Event": "SparkListenerStageCompleted",
            "Stage Info": stage | {"Completion Time": start + 63_000}}  # fmt: skip
    return [*events, done, {"Event": "SparkListenerApplicationEnd", "Timestamp": start + 64_000}]


def test_what_a_log_cannot_say_is_a_warning(tmp_path: Path) -> None:
    def change(event: dict[str, Any]) -> dict[str, Any]:
        if event["Event"] == "SparkListenerStageCompleted":
            event["Stage Info"]["Failure Reason"] = "Job aborted"
        if event["Event"] == "SparkListenerEnvironmentUpdate":
            event["Spark Properties"]["spark.master"] = "local[2]"
        return event

    found = of_tasks(survey.run(log_with(tmp_path, change), space="ec2", nodes="1"))
    text = "\n".join(found["warnings"])
    assert (
        "stages, such as stage 0, failed: the times are those of the tasks that succeeded" in text
    )
    assert "in local mode" in text

    log = tmp_path / "stream"
    name = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
    log.write_text(ONE_HOST.read_text() + json.dumps({"Event": name}) + "\n")
    found = of_tasks(survey.run(log, space="ec2", nodes="1"))
    assert any("the application is a stream" in text for text in found["warnings"])


def test_executors_that_a_log_lacks_had_the_slots_of_their_tasks(tmp_path: Path) -> None:
    log = tmp_path / "without"
    events = [event for event in _skewed() if event["Event"] != "SparkListenerExecutorAdded"]
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    application = of_tasks(survey.run(log, space="ec2", nodes="1"))["application"]
    assert application["slots_per_executor"] == 4


def test_an_error_about_a_line_says_what_a_survey_can_do(tmp_path: Path, run: Run) -> None:
    log = tmp_path / "malformed"
    lines = ONE_HOST.read_text().splitlines()
    log.write_text("\n".join([*lines[:4], "{bad", *lines[4:]]) + "\n")
    ran = run("survey", str(log))
    assert ran.status == 1
    assert "line 5: " in ran.err
    assert "at line 1" not in ran.err
    assert "gordon trace convert LOG OUT --skip-bad" in ran.err


def test_a_folder_without_traces_is_not_one_trace(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty").mkdir()
    ran = run("survey", str(tmp_path / "empty"), "--nodes", "1,2")
    assert ran.status == 1
    assert "is not a gordon trace: the folder is empty" in ran.err
