"""Trees of sysfs and /proc as meters find them, written by the tests."""

from pathlib import Path

JOULE = 1_000_000  # microjoules


def write(folder: Path, **files: object) -> Path:
    """Small files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")
    return folder


def zone(root: Path, where: str, name: str, joules: float, range_j: float = 262143.0) -> Path:
    """A zone of powercap."""
    return write(
        root / "sys/class/powercap" / f"intel-rapl:{where}",
        name=name,
        energy_uj=int(joules * JOULE),
        max_energy_range_uj=int(range_j * JOULE),
    )


def set_joules(zone: Path, joules: float) -> None:
    (zone / "energy_uj").write_text(f"{int(joules * JOULE)}\n")


def proc(root: Path, busy: int, idle: int, sectors: tuple[int, int] = (0, 0), ms: int = 0) -> None:
    """Two processors, 32 GiB, a disk with a partition."""
    stat = f"cpu  {busy} 0 0 {idle} 70 0 0 9 0 0\ncpu0 0 0\ncpu1 0 0\nintr 5\n"
    disk = "{} 259 {} {} 10 0 {} 5 20 0 {} 9 0 {} 12 0 0 0 0"
    rows = [disk.format(*row, *sectors, ms) for row in ((8, 0, "sda"), (8, 1, "sda1"))]
    rows = [row.replace("259 ", "", 1) for row in rows]
    write(root / "proc", stat=stat.rstrip(), meminfo="MemTotal:  33554432 kB", cpuinfo="")
    (root / "proc/diskstats").write_text("\n".join(rows) + "\n")


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now
