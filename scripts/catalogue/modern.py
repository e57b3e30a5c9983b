"""Computed values of the spaces `modern` and `servers`: speeds, prices, embodied carbon.

They come from machines/{boards,servers,embodied}.csv.
`text` is the space with these values in the place of those that it had; machines.py writes it. The
unit of speed is a vCPU of an EC2 m5 with all vCPUs busy (`scores` of families.toml).
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import embodied
from gordon import _core

HERE = Path(__file__).resolve().parent / "machines"

Row = dict[str, str]

#: The spaces whose machines have these values.
SPACES = ("modern", "servers")

#: The board whose score in Geekbench 6 ties the frame rates to the unit: it has as many logical
#: processors as the m5.xlarge.
TIE = "raspberry-pi-5"
#: The server whose speed in a cloud ties the ssj_ops to the unit, and the family that has its
#: processor: instances of Fsv2 run at the clock that it has with all cores busy.
SERVER_TIE, SERVER_FAMILY = "xeon-8280", "azure.Fs_v2"
#: A server's price without processors and memory, and the price of 1 GiB of memory, in USD.
SERVER_USD, MEMORY_USD = 1000, 8


def rows(name: str) -> dict[str, Row]:
    """The rows of a table, by id."""
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def families() -> dict[str, Any]:
    """Scores of families of cloud machines."""
    return tomllib.loads((HERE / "families.toml").read_text(encoding="utf-8"))


def cloud_speed(family: str, score: str) -> float:
    """Speed of a family such as `azure.Fs_v2`; the score is `busy` or `single`."""
    table = families()
    space, name = family.split(".")
    unit_space, unit_name = table["scores"]["reference"].split(".")
    return float(table[space][name][score] / table[unit_space][unit_name]["busy"])


def board_speed(id: str) -> float:
    """Speed of a logical processor of a board while all are busy: its frames of x264 a second,
    relative to the board of the tie, whose speed is its score relative to the m5.xlarge's."""
    boards, scores = rows("boards"), families()["scores"]
    row, tie = boards[id], boards[TIE]
    tied: float = int(tie["gb6_multi"]) / scores["gb6_multi"]
    frames = float(row["x264_1080p_fps"]) / float(tie["x264_1080p_fps"])
    return tied * frames * int(tie["cores"]) / int(row["cores"])


def board_speed_single(id: str) -> float:
    """Speed of one thread of a board, by the single-core score of Geekbench 6."""
    scores = families()["scores"]
    relative: float = int(rows("boards")[id]["gb6_single"]) / scores["gb6_single"]
    return relative * cloud_speed(scores["reference"], "single")


def server_speed(id: str) -> float:
    """Speed of a logical processor of a server while all are busy, by its ssj_ops."""
    return cloud_speed(SERVER_FAMILY, "busy") * per_thread(id) / per_thread(SERVER_TIE)


def server_speed_single(id: str) -> float:
    """Speed of one thread of a server: that of a cloud family with its processor, else that of
    another server times the ratio of their ssj_ops of a thread."""
    like = rows("servers")[id]["single_as"]
    if "." in like:
        return cloud_speed(like, "single")
    return server_speed_single(like) * per_thread(id) / per_thread(like)


def per_thread(id: str) -> float:
    """SPECpower's ssj_ops at full load of a hardware thread of a server."""
    row = rows("servers")[id]
    return int(row["ssj_ops"]) / int(row["cores"])


def assumed(value: str, reason: str) -> str:
    return f"{{ value = {value}, assumed = {json.dumps(reason)} }}"


def board_values(id: str) -> dict[str, str]:
    """Values of a board as TOML, by key."""
    row = rows("boards")[id]
    price = f"{float(row['usd']):g}"
    if not row["gb6_single"]:
        # Its source has no Geekbench, and x264 does not keep its cores busy.
        reason = "as Azure's Dpsv5, an Ampere Altra of the same clock and cores"
        return {
            "core_speed": assumed(f"{cloud_speed('azure.Dps_v5', 'busy'):.3f}", reason),
            "core_speed_single": assumed(f"{cloud_speed('azure.Dps_v5', 'single'):.3f}", reason),
            "purchase_price": price,
        }
    return {
        "core_speed": f"{board_speed(id):.3f}",
        "core_speed_single": f"{board_speed_single(id):.3f}",
        "purchase_price": price,
    }


def server_values(id: str) -> dict[str, str]:
    """Values of a server as TOML, by key."""
    row = rows("servers")[id]
    ours, theirs = f"{per_thread(id):,.0f}", f"{per_thread(SERVER_TIE):,.0f}"
    busy = f"ssj_ops of a thread, {ours}, relative to the {theirs} of {SERVER_TIE}, which is tied"
    if id == SERVER_TIE:
        busy = "as Azure's Fsv2, a Xeon Platinum 8272CL of the same generation and clock"
    like = row["single_as"]
    if "." in like:
        cpu = families()[like.split(".")[0]][like.split(".")[1]]["cpu"]
        single = f"as {like} in the clouds, an {cpu}"
    else:
        single = f"that of {like} times the ratio of the ssj_ops of a thread"
    memory = int(row["memory_gib"])
    price = int(row["processors_usd"]) + SERVER_USD + MEMORY_USD * memory
    why = (
        f"list price of the processors as recalled, {int(row['processors_usd']):,} USD, "
        f"{MEMORY_USD} USD a GiB of memory, and {SERVER_USD:,} USD for the rest"
    )
    return {
        "core_speed": assumed(f"{server_speed(id):.3f}", busy),
        "core_speed_single": assumed(f"{server_speed_single(id):.3f}", single),
        "purchase_price": assumed(str(price), why),
    }


def carbon_value(id: str, memory: str) -> str:
    """Embodied carbon as TOML of a machine with a memory such as `8GiB`."""
    carbon = embodied.of_machine(id, _core.parse_bytes(memory) / 2**30)
    reason, source = embodied.reason(id), embodied.constants()["sources"]["bought"]
    return assumed(f"{carbon:.1f}", f"{source}; {reason}")


def text(space: str) -> str:
    """The space with the computed values. Lines of a value that a machine lacks are not added."""
    values = {id: board_values(id) for id in rows("boards")}
    values |= {id: server_values(id) for id in rows("servers")}
    for machine in tomllib.loads(space)["machines"]:
        memory = machine["memory"]
        memory = memory["value"] if isinstance(memory, dict) else memory
        values[machine["id"]]["embodied_kg"] = carbon_value(machine["id"], memory)
    return "".join(_lines(space, values))


def _lines(space: str, values: dict[str, dict[str, str]]) -> Iterator[str]:
    computed: dict[str, str] = {}
    for line in space.splitlines(keepends=True):
        key = line.partition(" = ")[0]
        if found := re.fullmatch(r'id = "(.*)"\n', line):
            computed = values[found[1]]
        if key in computed:
            yield f"{key} = {computed[key]}\n"
        else:
            yield line
