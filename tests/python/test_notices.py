"""Warnings for people: one line a cause, and what changes no next step in the last."""

from __future__ import annotations

import re

from gordon.notices import grouped

NODES = [f"run/node-{number}" for number in range(1, 5)]


def lines(*warnings: str, traces: list[str] = NODES) -> list[str]:
    return grouped(warnings, traces).lines


def test_equal_warnings_of_all_traces_are_one_line_that_counts_them() -> None:
    nodes = [*NODES, "run/node-5"]
    found = lines(*(f"{node}: no block log" for node in nodes), traces=nodes)
    assert found == ["all 5 traces: no block log"]


def test_few_traces_are_named_and_many_are_counted() -> None:
    assert lines(*(f"{node}: none" for node in NODES[1:3])) == ["run/node-2 and run/node-3: none"]
    assert lines(*(f"{node}: none" for node in NODES[1:])) == [
        "run/node-2, run/node-3 and run/node-4: none"
    ]
    assert lines(*(f"{node}: none" for node in NODES)) == [
        "run/node-1, run/node-2, run/node-3 and run/node-4: none"
    ]
    long = [f"{'x' * 30}/{number}" for number in range(5)]
    assert lines(*(f"{node}: none" for node in long[:3]), traces=long) == ["3 of 5 traces: none"]


def test_a_warning_of_one_trace_keeps_its_name() -> None:
    assert lines("run/node-1: none") == ["run/node-1: none"]
    assert lines("job.trace: none", traces=["job.trace"]) == ["job.trace: none"]


def test_the_count_of_the_core_is_added() -> None:
    assert lines("run/node-1 and 3 more: none") == ["all 4 traces: none"]
    others = [*NODES, "other/node-1", "third"]
    assert lines("run/node-1 and 3 more: none", "other/node-1: none", traces=others) == [
        "5 of 6 traces: none"
    ]


def test_numbers_that_differ_are_ranges() -> None:
    busy = [(83, 4), (1_200, 4), (9.5, 4)]
    texts = [
        f"{node}: {share:,} % of {cores} cores of m5.4xlarge"
        for node, (share, cores) in zip(NODES, busy, strict=False)
    ]
    assert lines(*texts) == [
        "run/node-1, run/node-2 and run/node-3: 9.5 to 1,200 % of 4 cores of m5.4xlarge"
    ]


def test_names_that_differ_are_listed_and_counted() -> None:
    texts = [f"stage `s{number}` has no effect" for number in range(29)]
    assert lines(*texts) == ["stage `s0` has no effect (also `s1`, `s2`, `s3` and 25 others)"]
    assert lines(*texts[:2]) == ["stage `s0` has no effect (also `s1`)"]


def test_other_causes_stay_apart_in_their_order() -> None:
    texts = ["run/node-1: b", "a", "run/node-2: b", "a", "run/node-1: c"]
    assert lines(*texts) == ["run/node-1 and run/node-2: b", "a", "run/node-1: c"]
    assert lines() == []


def test_no_number_of_a_warning_is_lost() -> None:
    texts = [f"{node}: sample {at} starts at {at}.5 s" for at, node in enumerate(NODES, 3)]
    (line,) = lines(*texts)
    assert set(re.findall(r"[\d.]+", line)) >= {"3", "6", "3.5", "6.5"}


def test_what_changes_no_next_step_is_folded_into_the_last_line() -> None:
    found = grouped(
        [
            "no core frequency: the input has none",
            "no memory: the input has none",
            "no figures of one command: the monitor records the machine",
        ]
    )
    assert found.lines == ["no memory: the input has none"]
    assert found.printed() == [
        "no memory: the input has none",
        "not in the input: core frequency: the input has none; figures of one command: the monitor "
        "records the machine",
    ]
