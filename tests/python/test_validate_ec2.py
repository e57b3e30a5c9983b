"""Predicted and measured times on EC2: two jobs, the page, and how many times the range holds."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

import validate_ec2

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared/traces"
EC2 = Path(os.environ.get("GORDON_TRACES", SHARED)) / "ec2"


def test_two_jobs_are_predicted_as_they_were_measured(tmp_path: Path) -> None:
    if not (EC2 / "elapsed.csv").is_file():
        pytest.skip(f"the traces of EC2 machines are not here: {EC2}")
    with (EC2 / "elapsed.csv").open() as file:
        elapsed = {(r["job"], r["machine"]): float(r["elapsed_s"]) for r in csv.DictReader(file)}
    jobs = ["hadoop_scan_large", "spark_join_large"]
    times = validate_ec2.predicted(validate_ec2.Measured(EC2), EC2, jobs)["job"]
    for job in jobs:
        here = elapsed[job, "m5.xlarge"] / times[job, "m5.xlarge"]
        errors = [abs(t * here / elapsed[job, m] - 1) for (j, m), t in times.items() if j == job]
        assert len(errors) == 9
        assert max(errors) < 0.08
        assert sum(errors) / len(errors) < 0.03


def test_the_page_of_the_validation_is_up_to_date() -> None:
    if not (EC2 / "elapsed.csv").is_file():
        pytest.skip(f"the traces of EC2 machines are not here: {EC2}")
    script = ROOT / "scripts/validation/validate_ec2.py"
    subprocess.run([sys.executable, script, EC2, "--check"], check=True, timeout=300)


def test_the_range_holds_four_of_five_times_on_each_kind_of_machine() -> None:
    text = (ROOT / "docs/validation/ec2.md").read_text(encoding="utf-8")
    table = text.split("## The range")[1].split("##")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    counts = {cells[0]: cells[1:] for cells in rows[1:]}
    assert len(counts) == 7
    for pairs, inside, _, below, above, width in counts.values():
        assert int(inside) + int(below) + int(above) == int(pairs)
        assert 0.75 <= int(inside) / int(pairs) <= 0.90
        assert int(width) < 35
