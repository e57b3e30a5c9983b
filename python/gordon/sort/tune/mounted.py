"""The file system of a folder: its mount point, and whether it has a device."""

from pathlib import Path

from gordon.errors import GordonError

#: File systems without a storage device.
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


def point(folder: Path) -> Path:
    """The mount point of a folder."""
    here = folder.resolve()
    while not here.is_mount():
        here = here.parent
    return here


def options(where: Path) -> list[str]:
    """Options of a mount and of its file system, as the kernel lists them."""
    mount, system = _entry(where)
    return mount[5].split(",") + system[2].split(",")


def in_memory(folder: Path) -> bool:
    """Whether the file system of a folder has no storage device."""
    _, system = _entry(point(folder))
    return system[0] in IN_MEMORY


def _entry(where: Path) -> tuple[list[str], list[str]]:
    """The fields of the mount that is on top at a mount point, and those of its file system."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    for line in reversed(lines):
        mount, system = line.split(" - ")
        fields = mount.split()
        if fields[4].replace("\\040", " ") == str(where):
            return fields, system.split()
    raise GordonError(f"{where}: not a mount point", kind="no-mount")
