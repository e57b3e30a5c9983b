"""Spaces to survey: one of a grid of designs, one of machines, one of both."""

from __future__ import annotations

_HEAD = """
name = "own"
summary = "a space of a test"
"""
_GRID = """\
budget = "40W"
baseline = { cpu = "atom", clock = "1900MHz", cpus = 1, storage = "sata-7200-1tb", count = 1 }
node = { memory = "ddr2-2gib", memory_per = "node", network = "ethernet-1gbps", overhead = "none" }
processors = [{ part = "atom", clocks = ["1.9GHz"], counts = [1] }]
storage = [
  { part = "gordon-slc-256g", label = "flash", counts = [1] },
  { part = "sata-7200-1tb", label = "disk", counts = [1, 2] },
]
"""
_MACHINES = """
[[machines]]
id = "small"
cores = 2
core_speed = 1.0
memory = "16GiB"
storage = { bandwidth = "131MB", latency = "1ms" }
network = "10Gb"
price_per_hour = 0.096
idle = "4W"
active = "20W"

[[machines]]
id = "large"
cores = 4
core_speed = 2.0
memory = "1024GiB"
storage = "nvme-tlc-1tb"
network = "125MB"
price_per_hour = 0.9
idle = "40W"
active = "200W"

[[machines]]
id = "worse"
cores = 1
core_speed = 0.5
memory = "1024GiB"
storage = { part = "sata-7200-1tb", count = 2 }
network = "1Gb"
price_per_hour = 9.0
idle = "400W"
active = "2000W"
"""
_OVERHEAD = """
[parts.overhead.none]
summary = "no overhead"
ratio = { value = 1.0, assumed = "to see the parts alone" }
"""

#: The designs are atom-1.9GHz-x1-flash, -disk1, and -disk2, which is over the budget.
GRID = _HEAD + _GRID + _OVERHEAD
#: For the trace of a job that keeps both cores of `small` busy, only `worse` is not on the front.
MACHINES = _HEAD + _MACHINES
BOTH = _HEAD + _GRID + _MACHINES + _OVERHEAD


def without(text: str, *keys: str) -> str:
    """The space without the lines that start so."""
    return "".join(line for line in text.splitlines(True) if not line.startswith(keys))
