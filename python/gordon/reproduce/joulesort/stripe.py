"""Figure 11 of the JouleSort paper: the bandwidth of five drives as one volume."""

from gordon import storage
from gordon.reproduce.papers import paper
from gordon.reproduce.row import Row

#: A disk as those of the paper, and the drives of a volume.
DRIVE, DRIVES = "laptop-7200-320gb", 5
PLACE = "Figure 11"
#: Requests outstanding, as ATTO has them.
DEPTH = 4
SIZES = "4KiB..1MiB"
#: The part of the largest bandwidth that counts as the maximum.
FLAT = 0.9


def rows() -> list[Row]:
    """The volume over one drive, and the size of transfers that reaches the maximum."""
    one, volume = (_lines(drives) for drives in (1, DRIVES))
    title, numbers = paper("joulesort").title, paper("joulesort").numbers
    found = []
    for op, line in volume.items():
        most = max(line.values())
        least = min(size for size, rate in line.items() if rate >= FLAT * most)
        found += [
            Row(
                PLACE,
                f"{DRIVES} disks",
                f"sequential {op}s over those of one drive",
                most / max(one[op].values()),
                unit="x",
                reason="The stripe of the volume is 64 KiB.",
                paper=title,
                **numbers["stripe"],
            ),
            Row(
                PLACE,
                f"{DRIVES} disks",
                f"transfer size from which sequential {op}s are at their maximum",
                float(least),
                unit="B",
                reason=f"The least of the sizes that reaches {FLAT:.0%} of the largest bandwidth.",
                paper=title,
                **numbers["flat_from"],
            ),
        ]
    return found


def _lines(drives: int) -> dict[str, dict[int, float]]:
    """MB/s by transfer size of sequential reads and writes."""
    patterns = ("sequential-read", "sequential-write")
    made = storage.characterise(
        preset=DRIVE, stripe=drives, depths=(DEPTH,), sizes=SIZES, patterns=patterns
    )
    found: dict[str, dict[int, float]] = {}
    for point in made.report["points"]:
        found.setdefault(point["op"], {})[point["size_bytes"]] = point["bandwidth_mb_s"]
    return found
