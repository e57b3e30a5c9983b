"""Writes the spaces of machines: python/gordon/survey/spaces/{ec2,gcp,azure,modern}.toml.

python scripts/catalogue/machines.py          write them
python scripts/catalogue/machines.py --check  fail if they are not up to date
python scripts/catalogue/machines.py --prices SPACE FILE
                                              put the prices of a price file in a table first

A table in scripts/catalogue/machines/ has a row per machine of a cloud; families.toml has what a
family shares, and sources.toml where the values come from. Of `modern` only speeds, prices and
embodied carbon are computed (scripts/catalogue/modern.py). embodied.py has the model of embodied
carbon. Price files are those of `gordon spaces update`.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import embodied
import modern
from gordon.survey import price_files

HERE = Path(__file__).resolve().parent / "machines"
SPACES = HERE.parents[2] / "python/gordon/survey/spaces"

Row = dict[str, str]

HEADER = """\
# Written by scripts/catalogue/machines.py. Change the tables in scripts/catalogue/machines.
#
# A value comes from `sources` under its key, unless it is a table with `assumed` and the reason.
# Storage comes from `storage` and `latency`, with local = true from `local_storage` and
# `local_latency`. Date: when the source was written or the value measured.
#   models              parts of the processor's name in a trace; on Arm, of the name of its cores
#   cores               logical processors; threads_per_core of them share a physical core
#   core_speed          speed of a logical processor while all are busy; the reference's is 1
#   core_speed_single   speed of one thread while the other processors are idle, in the same unit
#   storage             what the instance can move to and from block storage, which must be fast
#                       enough itself: bytes a second (bandwidth, write_bandwidth if writes are
#                       slower, burst for some minutes), iops, write_iops, latency of a read
#   network             bits a second, each way
#   price_per_hour      on demand, Linux, without block storage; price_spot_per_hour interruptible
#   minimum_billing     the shortest time that is billed
#   embodied_kg         kg of CO2-equivalent: share of the manufacture of a server, with its local
#                       storage and without volumes
#   volume_price_per_gib_month  of block storage, for machines whose storage is not local
#   idle, active        share of a server's power, without block storage and cooling

"""

SPEEDS = """\
[reference]
machine = "m5.xlarge"
summary = "A vCPU of an EC2 m5 instance (Xeon Platinum 8259CL, 2 threads a core), all vCPUs busy"
benchmark = "Geekbench 6.3, Clang workload: multi-core score divided by the number of vCPUs"
score = {score}
"""


def number(value: float) -> str:
    """A number without trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def size(value: float) -> str:
    """A number of bytes a second in MB."""
    return f"{number(round(value / 1e6, 2))}MB"


def quoted(text: str) -> str:
    return json.dumps(text)


def assumed(value: str, reason: str | None) -> str:
    """A value as TOML, with the reason for which it is assumed, if any."""
    return f"{{ value = {value}, assumed = {quoted(reason)} }}" if reason else value


def table(**entries: str) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in entries.items()) + " }"


def ec2_storage(row: Row) -> str:
    family = ec2_family(row["id"])
    if row["local_read_b"]:
        reason = None if family in ("i4i", "i3en") else "as i4i and i3en"
        return table(
            local="true",
            bandwidth=quoted(size(float(row["local_read_b"]))),
            write_bandwidth=quoted(size(float(row["local_write_b"]))),
            iops=row["local_read_iops"],
            write_iops=row["local_write_iops"],
            latency=assumed(quoted("0.125ms"), reason),
        )
    if family == "d3":
        disks = 3 * int(row["vcpus"]) // 4
        return table(
            local="true",
            bandwidth=assumed(
                quoted(f"{disks * 206}MB"),
                f"{disks} hard disks of 206 MB/s: AWS's 4.6 GiB/s of d3.8xlarge, as recalled, / 24",
            ),
            latency=assumed(
                quoted("12ms"), "an average seek of 8 ms and half a turn at 7200 rpm, 4.2 ms"
            ),
        )
    twin = row["ebs_as"]
    reason = f"as {twin}, whose maximum is the same" if twin else None
    bandwidth, burst = float(row["ebs_mbps"]) * 1e6 / 8, float(row["ebs_burst_mbps"]) * 1e6 / 8
    entries = {"bandwidth": assumed(quoted(size(bandwidth)), reason)}
    if burst > bandwidth:
        entries["burst"] = quoted(size(burst))
    entries["iops"] = assumed(row["ebs_iops"], reason)
    return table(**entries, latency=quoted("1.05ms"))


def gcp_storage(row: Row) -> str:
    read, write = (f"{row[f'disk_{way}_mib']}MiB" for way in ("read", "write"))
    twin = row["disk_as"]
    reason = f"as {twin} with as many vCPUs; the series takes Hyperdisk only" if twin else None
    entries = {"bandwidth": assumed(quoted(read), reason)}
    if write != read:
        entries["write_bandwidth"] = assumed(quoted(write), reason)
    entries["iops"] = assumed(row["disk_read_iops"], reason)
    return table(**entries, latency=quoted("1ms"))


def azure_storage(row: Row) -> str:
    if row["nvme_mb"]:
        return table(
            local="true",
            bandwidth=quoted(f"{row['nvme_mb']}MB"),
            iops=row["nvme_iops"],
            latency=quoted("0.125ms"),
        )
    return table(
        bandwidth=quoted(f"{row['disk_mb']}MB"),
        burst=quoted(f"{row['disk_burst_mb']}MB"),
        iops=row["disk_iops"],
        latency=quoted("1ms"),
    )


def ec2_family(name: str) -> str:
    return name.split(".")[0]


def gcp_family(name: str) -> str:
    return name.split("-")[0]


def azure_family(name: str) -> str:
    return re.sub(r"^Standard_([A-Z])\d+", r"\1", name)


FAMILY: dict[str, Callable[[str], str]] = {
    "ec2": ec2_family,
    "gcp": gcp_family,
    "azure": azure_family,
}
STORAGE: dict[str, Callable[[Row], str]] = {
    "ec2": ec2_storage,
    "gcp": gcp_storage,
    "azure": azure_storage,
}


def watts(space: str, family: dict[str, Any], vcpus: int, rates: dict[str, Any]) -> Iterator[str]:
    """The lines of idle and active watts."""
    name = family["watts"]
    made = rates["made"].get(name)
    # A coefficient is of a thread; a vCPU that has a core to itself has two of an EPYC's.
    whole = family["threads"] == 1 and family["cpu"].startswith("AMD EPYC")
    reasons = [made["assumed"]] if made else []
    if whole:
        reasons.append("two threads' share: a vCPU is a whole core")
    elif name == "Graviton2":
        reasons.append("Cloud Carbon Footprint takes an EPYC of the 2nd generation for Graviton2")
    reasons = [family["watts_of"], *reasons] if "watts_of" in family else reasons
    for key, rate in zip(
        ("idle", "active"), made["rates"] if made else rates[space][name], strict=True
    ):
        value = quoted(f"{number(round(rate * vcpus * (2 if whole else 1), 2))}W")
        yield f"{key} = {assumed(value, '; '.join(reasons))}"


def machine(
    space: str, row: Row, families: dict[str, Any], unit: float, billing: dict[str, Any]
) -> str:
    """The TOML of a machine."""
    storage = STORAGE[space](row)
    name = FAMILY[space](row["id"])
    family = families[space][name]
    vcpus = int(row["vcpus"])
    gib = float(row["memory_mib"]) / 1024 if "memory_mib" in row else float(row["memory_gib"])
    network = (
        f"{row['network_gbps']}Gb"
        if "network_gbps" in row
        else f"{number(float(row['network_mbps']) / 1e3)}Gb"
    )
    lines = [
        "[[machines]]",
        f"id = {quoted(row['id'])}",
        f"summary = {quoted(family['cpu'])}",
        f"models = [{', '.join(map(quoted, family['models']))}]",
        f"cores = {vcpus}",
        f"threads_per_core = {family['threads']}",
        f"core_speed = {family['busy'] / unit:.3f}",
        f"core_speed_single = {family['single'] / unit:.3f}",
        f"memory = {quoted(number(gib) + 'GiB')}",
        f"storage = {storage}",
        f"network = {quoted(network)}",
    ]
    if row["usd_per_hour"]:
        lines.append(f"price_per_hour = {row['usd_per_hour']}")
    if row.get("usd_spot_per_hour"):
        lines.append(f"price_spot_per_hour = {row['usd_spot_per_hour']}")
    lines.append(f"minimum_billing = {quoted(billing['minimum'])}")
    if "local = true" not in storage:
        lines.append(f"volume_price_per_gib_month = {billing['volume_usd']}")
    carbon = embodied.of_instance(f"{space}.{name}", vcpus, gib)
    reason = embodied.reason(f"{space}.{name}")
    reason = f"{reason}; otherwise as in `sources`" if reason else None
    lines.append(f"embodied_kg = {assumed(f'{carbon:.1f}', reason)}")
    lines.extend(watts(space, family, vcpus, families["watts"]))
    return "\n".join(lines) + "\n"


def sources(space: str, about: dict[str, Any], families: dict[str, Any], unit: float) -> str:
    """The TOML of where the values come from."""
    scores, rates = families["scores"], families["watts"]
    date = max(family["date"] for family in families[space].values())
    rows = dict(about["sources"])
    for key, score in (("core_speed", "busy"), ("core_speed_single", "single")):
        rows[key] = {"source": scores[score].replace("UNIT", str(unit)), "date": date}
    rows["threads_per_core"] = families["threads"]
    carbon = embodied.constants()["sources"]
    rows["embodied_kg"] = {"source": carbon["cloud"], "date": carbon["date"]}
    for key in ("idle", "active"):
        rows[key] = {"source": rates["source"], "date": rates["date"]}
    lines = ["[sources]"]
    for key, row in rows.items():
        entries = {
            name: quoted(value) if isinstance(value, str) else str(value)
            for name, value in row.items()
        }
        lines.append(f"{key} = {table(**entries)}")
    return "\n".join(lines) + "\n"


def text(space: str) -> str:
    families = tomllib.loads((HERE / "families.toml").read_text(encoding="utf-8"))
    about = tomllib.loads((HERE / "sources.toml").read_text(encoding="utf-8"))[space]
    reference, name = families["scores"]["reference"].split(".")
    unit = families[reference][name]["busy"]
    with (HERE / f"{space}.csv").open(encoding="utf-8", newline="") as file:
        machines = [
            machine(space, row, families, unit, about["billing"]) for row in csv.DictReader(file)
        ]
    head = (
        f"name = {quoted(space)}\nsummary = {quoted(about['summary'])}\n"
        f'region = {quoted(about["region"])}\ncurrency = "USD"\n'
    )
    left_out = [
        f"[[not_modelled]]\nfamilies = {json.dumps(entry['families'])}\n"
        f"reason = {quoted(entry['reason'])}\n"
        for entry in about["not_modelled"]
    ]
    parts = [
        HEADER + head,
        *left_out,
        SPEEDS.format(score=unit),
        sources(space, about, families, unit),
        *machines,
    ]
    return "\n".join(parts)


def read_prices(space: str, path: str) -> None:
    """Puts the prices of a price file in the table of a space. A machine that the file lacks has no
    price afterwards, and is named."""
    found = price_files.parse(Path(path).read_text(encoding="utf-8"), path)
    about = tomllib.loads((HERE / "sources.toml").read_text(encoding="utf-8"))[space]
    table = HERE / f"{space}.csv"
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {"usd_per_hour": found.on_demand, "usd_spot_per_hour": found.spot}
    for column, prices in columns.items():
        if prices:
            of_region = prices[about["region"]]
            for row in rows:
                row[column] = repr(of_region[row["id"]]) if row["id"] in of_region else ""
                if not row[column]:
                    print(f"{space}: {row['id']} has no {column}", file=sys.stderr)
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"prices of {found.date or 'the day of the commit of the file'}: give it in sources.toml")


def main() -> None:
    match sys.argv[1:]:
        case ["--prices", space, path]:
            read_prices(space, path)
        case [] | ["--check"]:
            pass
        case _:
            sys.exit(__doc__)
    check = sys.argv[1:] == ["--check"]
    texts = {SPACES / f"{space}.toml": text(space) for space in FAMILY}
    for file in (SPACES / f"{space}.toml" for space in modern.SPACES):
        texts[file] = modern.text(file.read_text(encoding="utf-8"))
    for file, content in texts.items():
        if not check:
            file.write_text(content, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != content:
            sys.exit(f"{file} is not up to date: run `make machines`")


if __name__ == "__main__":
    main()
