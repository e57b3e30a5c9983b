"""Figure 4 and the rates of section 4.2.2 of the Gordon paper: the flash array alone."""

from gordon import flash
from gordon.human import binary
from gordon.options.keywords import Pattern
from gordon.reproduce.flash_array import ARRAY, LARGE, SIZES
from gordon.reproduce.papers import paper
from gordon.reproduce.row import Row, known

TABLE = "Figure 4"
SEQUENTIAL: dict[str, Pattern] = {"read": "sequential-read", "write": "sequential-write"}
#: Bytes of a run, and bytes outstanding.
RUN, OUTSTANDING = 1 << 28, 4 << 20


def rows() -> list[Row]:
    """All comparisons."""
    return [*_peaks(), *_sizes(), _points()]


def _mb_s(pattern: Pattern, size: int, *settings: str, points: int | None = None) -> float:
    """MB/s of transfers of a size on the array with other values."""
    made = flash.bench(
        pattern,
        ARRAY,
        set=settings,
        size=f"{size}B",
        requests=RUN // size,
        queue_depth=OUTSTANDING // size,
        span="2GiB",
        write_points=points,
    )
    return known(made.report["bandwidth_mb_s"])


def _row(what: str, ours: float, number: str, unit: str, reason: str) -> Row:
    bounds = paper("gordon").numbers[number]
    return Row(TABLE, "array", what, ours, unit=unit, reason=reason, **bounds)


def _peaks() -> list[Row]:
    """Sequential transfers at 133 MHz, and at the rates of slower and faster buses."""
    found = []
    for op, pattern in SEQUENTIAL.items():
        base = _mb_s(pattern, LARGE)
        slow = _mb_s(pattern, LARGE, "timing.bus_rate=40MHz")
        fast = _mb_s(pattern, LARGE, "timing.bus_rate=400MHz")
        over = "Commands and out-of-band bytes occupy the buses, too."
        found += [
            _row(f"peak bandwidth, sequential {op}s", base, "peak", "MB/s", over),
            _row(
                f"40 MHz over 133 MHz, sequential {op}s",
                slow / base,
                "peak_40",
                "x",
                "The buses are the limit at both rates, so that the ratio is nearly 40 to 133.",
            ),
            _row(
                f"peak bandwidth at 400 MHz, sequential {op}s",
                fast,
                f"peak_400_{op}",
                "MB/s",
                "Commands and out-of-band bytes occupy the buses, too."
                if op == "read"
                else "The dies limit it: a page is received, and then programmed.",
            ),
        ]
    return found


def _sizes() -> list[Row]:
    """Random writes over sizes of super-pages."""
    best = {size: _mb_s("random-write", 256 << 10, f"super_page.size={size}B") for size in SIZES}
    alike = {
        size: _mb_s("random-write", size, "super_page.size=32KiB") for size in (32 << 10, 128 << 10)
    }
    first = max(best, key=lambda size: best[size])
    return [
        _row(
            "writes with super-pages of 64 KiB over the best size",
            best[LARGE] / best[first],
            "best_page",
            "x",
            f"{binary(first)} gives the most here.",
        ),
        _row(
            "writes of 128 KiB over those of 32 KiB, super-pages of 32 KiB",
            alike[128 << 10] / alike[32 << 10],
            "transfers_alike",
            "x",
            "A transfer of 128 KiB is four super-pages.",
        ),
    ]


def _points() -> Row:
    """Write points for each bus, of which the array has four."""
    settings = ("super_page.size=8KiB",)
    one, four = (_mb_s("random-write", 8 << 10, *settings, points=points) for points in (4, 16))
    return _row(
        "writes with four write points for each bus over one",
        four / one,
        "write_points",
        "x",
        "The paper does not print the size of its super-pages; these are of 8 KiB.",
    )
