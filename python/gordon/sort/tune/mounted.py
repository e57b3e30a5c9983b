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
    """Options of a mount and of its file system, as the kernel lists them. Raises GordonError if
    nothing is mounted there."""
    entry = _entry(where)
    if entry is None:
        raise GordonError(f"{where}: not a mount point", kind="no-mount")
    mount, system = entry
    return mount[5].split(",") + system[2].split(",")


def in_memory(folder: Path) -> bool:
    """Whether the file system of a folder is known to have no storage device. The kernel may not
    list the mount of the root in a `chroot`, and nothing is known then."""
    entry = _entry(point(folder))
    return entry is not None and entry[1][0] in IN_MEMORY


def _entry(where: Path) -> tuple[list[str], list[str]] | None:
    """The fields of the mount that is on top at a mount point, and those of its file system; None
    if there is none."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    for line in reversed(lines):
        mount, system = line.split(" - ")
        fields = mount.split()
        if fields[4].replace("\\040", " ") == str(where):
            return fields, system.split()
    return None
