"""Embodied carbon of machines: kg of CO2-equivalent of their manufacture, from the tables
machines/embodied.{csv,toml}.

The model is that of boaviztapi: processors by the area of their dies, memory by its size, board,
power supplies and case. A cloud instance has a share of a server.
"""

import csv
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "machines"

Row = dict[str, str]


@cache
def rows() -> dict[str, Row]:
    """The machines and servers, by id; a server of a cloud has that of its family: `ec2.m5`."""
    with (HERE / "embodied.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


@cache
def constants() -> dict[str, Any]:
    """The content of embodied.toml."""
    return tomllib.loads((HERE / "embodied.toml").read_text(encoding="utf-8"))


def without_memory(id: str) -> float:
    """Of a whole machine, without its memory and without storage."""
    row, factors = rows()[id], constants()["factors"]
    processors = int(row["processors"]) * factors["processor"]
    dies = max(int(row["processors"]), 1) * float(row["die_mm2"]) * factors["die_mm2"]
    board = float(row["board"]) * (factors["board"] + factors["assembly"])
    supplies = float(row["supply_kg"]) * factors["supply_kg"]
    total: float = processors + dies + board + supplies + float(row["case_kg"])
    return total


def of_machine(id: str, memory_gib: float) -> float:
    """Of a machine that is bought, without the parts of its storage."""
    memory: float = constants()["factors"]["memory_gib"] * memory_gib
    return without_memory(id) + memory


def of_instance(family: str, vcpus: int, memory_gib: float) -> float:
    """Of a cloud instance: its share of a server and of the server's local storage."""
    row, factors = rows()[family], constants()["factors"]
    local = float(row["ssd_gb"] or 0) * factors["ssd_gb"] + int(row["disks"] or 0) * factors["disk"]
    share = vcpus / int(row["vcpus"])
    total: float = share * (without_memory(family) + local) + factors["memory_gib"] * memory_gib
    return total


def reason(id: str) -> str | None:
    """The assumption about a machine or the server of a family; None without one."""
    return rows()[id]["assumed"] or None
