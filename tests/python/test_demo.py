"""The demo's own parts: its inputs, and the check that the job's output reached the disk."""

from pathlib import Path

import pytest

import demo

import inputs


def test_the_demo_fails_if_the_output_is_not_in_the_block_log() -> None:
    block = {"write": {"bytes": 10**9}}
    assert "1.00 GB written" in demo.checked(block, 10**9)
    assert "skipped" in demo.checked(None, 10**9)
    with pytest.raises(SystemExit, match="holds 1000000000 bytes written"):
        demo.checked(block, 10**9 + 1)


def test_records_are_those_of_their_seed(tmp_path: Path) -> None:
    made = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        inputs.make_records(tmp_path / name, 1000, seed)
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1] != made[2]
    lines = made[0].split(b"\r\n")
    assert lines.pop() == b""
    assert [len(line) for line in lines] == [98] * 1000
    assert [int(line[12:44], 16) for line in lines] == list(range(1000))
    assert len({line[:10] for line in lines}) == 1000
    assert not list(tmp_path.glob("*.partial"))
