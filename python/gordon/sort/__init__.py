"""The external sort, and the generator and checker of benchmark files.

    import gordon.sort
    made = gordon.sort.generate("in.dat", records=100_000_000)
    result = gordon.sort.run("in.dat", "out.dat", memory="2GB", temp=["/ssd1", "/ssd2"])
    result.report["time_s"], result.report["phases"]
    found = gordon.sort.validate("out.dat", checksum=made["checksum"])
    found["in_order"], found["all_there"], found["duplicates"]

The Rust core sorts files larger than memory in one process: records in memory, temporary files on
local folders, direct I/O. Sorting over several machines is left out. A failure raises
`gordon.GordonError`.
"""

from typing import TYPE_CHECKING, Any

from gordon.options.sorting import IN_CORE, IO, METHODS, PARTIAL, Records, SortSettings
from gordon.sort.data import GenerateResult, ValidateResult, generate, validate
from gordon.sort.run import Result, run

__all__ = [
    "IN_CORE",
    "IO",
    "METHODS",
    "PARTIAL",
    "GenerateResult",
    "Records",
    "Result",
    "SortSettings",
    "ValidateResult",
    "generate",
    "run",
    "systems",
    "tune",
    "validate",
]

if TYPE_CHECKING:
    from gordon.sort import systems, tune
else:

    def __getattr__(name: str) -> Any:
        if name in ("systems", "tune"):
            from importlib import import_module

            return import_module(f"gordon.sort.{name}")
        raise AttributeError(f"module 'gordon.sort' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
