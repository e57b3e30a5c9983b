"""How well known flash devices are fitted to their bandwidths: the table of
docs/design/flash-fit.md.

    python bench/flash_fit.py                # some minutes

Presets, and one of them with other values, are probed as unknown drives and fitted from another
preset. The table has the values found next to the true ones, and the number of simulations.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from gordon.flash.device import changed
from gordon.human import figures
from gordon.storage import fit
from gordon.storage.fit.search import READS, WRITES, Knob

OTHER = {
    "host.latency": "30us",
    "host.link": "3GB",
    "geometry.buses": 4,
    "timing.read": "90us",
    "timing.program": "800us",
}
#: The probed devices, and the preset from which each is fitted.
CASES: dict[str, tuple[Any, str]] = {
    "nvme-tlc-1tb, other values": (changed("nvme-tlc-1tb", OTHER), "nvme-tlc-1tb"),
    "nvme-qlc-2tb": ("nvme-qlc-2tb", "nvme-tlc-1tb"),
    "datacenter-tlc-1tb": ("datacenter-tlc-1tb", "nvme-tlc-1tb"),
    "nvme-slc-800g": ("nvme-slc-800g", "nvme-tlc-1tb"),
}


def row(name: str, device: Any, like: str) -> list[str]:
    """The errors, and each value next to the true one."""
    simulations = 0

    def count(_: str, done: int) -> None:
        nonlocal simulations
        simulations = done

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "points.parquet"
        fit.probe(None, log, device=device)
        found = fit.fit(log, like=like, progress=count)
    truth, values = changed(device, []), {one["key"]: one["value"] for one in found["values"]}
    errors = found["errors"][0]
    return [
        name,
        f"{errors['median']:.1%}",
        f"{errors['p90']:.1%}",
        *(shown(knob, values[knob.key], knob.get(truth)) for knob in (*READS, WRITES)),
        str(simulations),
    ]


def shown(knob: Knob, found: float, true: float) -> str:
    scale = {"ns": 1e3, "": 1.0}.get(knob.unit, 1e6)
    return f"{figures(found / scale)} ({figures(true / scale)})"


def main() -> None:
    units = {"ns": "us", "B/s": "MB/s", "Hz": "MHz", "": ""}
    names = [f"{knob.key} {units[knob.unit]}".strip() for knob in (*READS, WRITES)]
    print(f"| probed | median error | 90 % below | {' | '.join(names)} | simulations |")
    print("|---|" + "--:|" * (len(names) + 3))
    for name, (device, like) in CASES.items():
        print(f"| {' | '.join(row(name, device, like))} |", flush=True)


if __name__ == "__main__":
    main()
