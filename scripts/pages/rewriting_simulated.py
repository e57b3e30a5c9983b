"""Figure 10 of the JouleSort paper on a simulated device: the output phase of a sort that finds an
earlier output.
"""

from gordon import flash
from gordon.errors import GordonError
from gordon.reproduce.rewriting import OVER, TRIMMED, UNTRIMMED
from gordon.sort.tune.simulated import Figures, Simulated, sequential


def rewriting(device: Simulated, size: int, transfer: int) -> dict[str, Figures]:
    """Simulates the output phase in the presence of an earlier output (figure 10)."""
    fresh = device.mapped
    if size > fresh or fresh + size > device.capacity:
        raise GordonError(
            f"two files of {size} bytes do not fit on {flash.device.name(device.device)}",
            "a smaller file, or a smaller preconditioned fraction",
            kind="no-space",
        )
    device.run(sequential("write", 0, size, transfer), keep="old")
    device.run([("trim", 0, size)], start="old", keep="trimmed")
    return {
        OVER: device.run(sequential("write", 0, size, transfer), start="old"),
        UNTRIMMED: device.run(sequential("write", fresh, size, transfer), start="old"),
        TRIMMED: device.run(sequential("write", fresh, size, transfer), start="trimmed"),
    }


def again_and_again(device: Simulated, size: int, transfer: int, times: int) -> list[Figures]:
    """Simulates consecutive sorts that overwrite the same output."""
    rows, start = [], None
    for n in range(times):
        row = device.run(sequential("write", 0, size, transfer), start=start, keep=f"state{n % 2}")
        rows.append(row)
        start = f"state{n % 2}"
    return rows
