"""Made output of `sadf -j`, which `gordon trace convert --format sysstat` reads."""

from __future__ import annotations

import json
from typing import Any


def second(
    nth: int,
    *,
    user: float = 100.0,
    iowait: float = 0.0,
    writes: float = 1.0,
    write_kib: float = 64.0,
) -> dict[str, Any]:
    """A second, the `nth` of a minute. `user` and `iowait`: per cent of all cores; the rest of the
    time is idle. `writes`: requests to the only disk, `write_kib` together."""
    idle = 100.0 - user - iowait
    cpu = {"cpu": "all", "user": user, "nice": 0.0, "system": 0.0, "iowait": iowait, "idle": idle}
    disk = {"disk-device": "sda", "tps": writes, "rkB": 0.0, "wkB": write_kib, "util-percent": 1.0}
    return {
        "timestamp": {"date": "2026-11-26", "time": f"10:00:{nth:02}", "utc": 1, "interval": 1},
        "cpu-load": [cpu],
        "memory": {
            "memfree": 600_000,
            "memused": 400_000,
            "memused-percent": 40.0,
            "avail": 700_000,
        },
        "disk": [disk],
        "network": {"net-dev": [{"iface": "eth0", "rxkB": 1.0, "txkB": 0.0}]},
    }


def day(samples: list[dict[str, Any]], *hosts: str, cores: int | None = 2) -> str:
    """A file of hosts with the same samples; `cores`: of each, `None` if the file does not say."""
    common = {} if cores is None else {"number-of-cpus": cores}
    entries = [{"nodename": host, "statistics": samples, **common} for host in hosts]
    return json.dumps({"sysstat": {"hosts": entries}})
