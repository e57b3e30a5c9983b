"""Transfer sizes by name: those that the JouleSort paper found best on its systems (table 3)."""

from gordon import _core
from gordon.parts import unknown
from gordon.sort.systems import data


def names() -> list[str]:
    """The systems that have them: `1B`, `2`, `3B` ... ."""
    return [name for name, system in data.shipped()["system"].items() if "transfer" in system]


def transfer_sizes(name: str) -> tuple[int, int, int | None]:
    """Bytes of a transfer of the input, the output and the temporary files; no last one where the
    paper's system sorts in one pass. The paper's M is taken to be 2^20."""
    if name not in names():
        raise unknown("preset of transfer sizes", name, names())
    sizes = data.shipped()["system"][name]["transfer"]
    temp = _core.parse_bytes(sizes["temp"]) if "temp" in sizes else None
    return _core.parse_bytes(sizes["in"]), _core.parse_bytes(sizes["out"]), temp
