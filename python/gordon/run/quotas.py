"""Limits of local nodes: cores, and the rate of a disk.

Nodes share their machine with the driver of the job, the master of the cluster and the capture. If
the quotas of the nodes added up to all cores, a node would wait for a core whenever one of these
runs, and its trace would not be that of a machine of its own. By default the nodes have 80 % of the
cores together. A person may give them more, up to all cores, with a warning that the run keeps;
more than all cores is an error, because a node could not have what its trace states.
"""

import os
from contextlib import suppress
from pathlib import Path

from gordon.errors import GordonError
from gordon.run.control_groups import MOUNTS, ControlGroup

#: Share of the machine's cores that the nodes have together by default.
SHARE = 0.8
#: The smallest quota of a group: the kernel refuses less than 1 ms of a period of 100 ms.
LEAST_CORES = 0.01
#: Rounding of sums of quotas such as 3 x 0.1.
ROUNDING = 1e-9


def cores_of(
    count: int, cores: float | None, machine: int | None = None
) -> tuple[float, list[str]]:
    """The cores of each of `count` nodes, `cores` or else an equal share of 80 % of the machine's,
    and warnings. `machine` is the number of cores of the machine, by default of this one.

    Raises GordonError of the kind `out-of-range` if the nodes would have more cores than the
    machine, or a node less than 0.01 core.
    """
    machine = machine or os.cpu_count() or 1
    room = SHARE * machine
    each = room / count if cores is None else cores
    total = each * count
    if not each >= LEAST_CORES:
        raise GordonError(
            f"{each:g} core for each node is too little",
            f"at least {LEAST_CORES:g}, or fewer nodes",
            kind="out-of-range",
        )
    if total > machine * (1 + ROUNDING):
        raise GordonError(
            f"{count} x {each:g} cores are more than the {machine} of this machine",
            f"at most {room / count:.4g} for each node, which leaves the driver a fifth of the "
            "machine, or fewer nodes",
            kind="out-of-range",
        )
    if total <= room * (1 + ROUNDING):
        return each, []
    return each, [
        f"the nodes may use {total:.4g} of the {machine} cores of this machine, which leaves the "
        f"driver {machine - total:.4g}: they may wait for cores that the driver uses; at most "
        f"{room / count:.4g} for each node leave it {1 - SHARE:.0%} of the machine"
    ]


class DiskLimit:
    """A limit of the rate of a node's block device, for reads and for writes each.

    In version 2 of control groups the limit is that of the node's group, which the kernel also
    charges for writes of its page cache. In version 1 these writes are the root group's, in which
    the limit is set instead: nothing but the node uses its device.
    """

    def __init__(self, device: str, group: ControlGroup, rate: int) -> None:
        """Limits `device`, such as `/dev/loop3`, to `rate` bytes a second. Raises GordonError of
        the kind `no-node` if the kernel cannot."""
        self._device = device
        try:
            files = _throttle_files()
            if not files:
                limit = f"{_numbers(device)} rbps={rate} wbps={rate}"
                (group.folders["cpu"] / "io.max").write_text(limit)
            for file in files:
                file.write_text(f"{_numbers(device)} {rate}")
        except (OSError, KeyError) as error:
            self.remove()
            raise GordonError(
                f"cannot limit the rate of {device}: {error}",
                "leave out the rate of the disk, or use a kernel that limits it (CONFIG_BLK_DEV_"
                "THROTTLING)",
                kind="no-node",
            ) from None

    def remove(self) -> None:
        """Removes the limit."""
        remove_limit(self._device)


def remove_limit(device: str) -> None:
    """Removes the limit of a device from the root group of version 1, which keeps it for the next
    user of the device. A limit of version 2 ends with its group."""
    for file in _throttle_files():
        # The kernel has no limit that could be removed, or no such device.
        with suppress(OSError):
            file.write_text(f"{_numbers(device)} 0")


def _numbers(device: str) -> str:
    number = Path(device).stat().st_rdev
    return f"{os.major(number)}:{os.minor(number)}"


def _throttle_files() -> list[Path]:
    """The files of limits of the root group of version 1; none in version 2."""
    for line in MOUNTS.read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(maxsplit=2)
        if kind == "cgroup" and "blkio" in options.split(","):
            root = Path(left.split()[4])
            return [root / f"blkio.throttle.{name}_bps_device" for name in ("read", "write")]
    return []
