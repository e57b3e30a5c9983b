"""Gordon: trace a real job, simulate it on every node design, see the best node.

    import gordon
    result = gordon.survey.run("sort.trace", space="gordon-2009", nodes=32)
    result["named"]["MaxE"], result.front, result.to_polars(), result.save("sort.html")

The Rust core, `gordon._core`, simulates, sorts and serves; this package checks options, calls the
core and shows results. Each subpackage is imported at its first use, so that `gordon --help` is
quick. A failure that a user can act on raises `gordon.GordonError`.
"""

from typing import TYPE_CHECKING, Any

__all__ = [
    "GordonError",
    "__version__",
    "block",
    "bundled",
    "cache",
    "compare",
    "cost",
    "disk",
    "energy",
    "flash",
    "joulesort",
    "reproduce",
    "run",
    "sort",
    "storage",
    "survey",
    "sweep",
    "trace",
    "workload",
]

if TYPE_CHECKING:
    from gordon import (
        block,
        bundled,
        cache,
        compare,
        cost,
        disk,
        energy,
        flash,
        joulesort,
        reproduce,
        run,
        sort,
        storage,
        survey,
        sweep,
        trace,
        workload,
    )
    from gordon.errors import GordonError

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        if name == "GordonError":
            from gordon.errors import GordonError

            return GordonError
        if name == "__version__":
            from gordon._core import version

            return version()
        if name in __all__:
            from importlib import import_module

            return import_module(f"gordon.{name}")
        raise AttributeError(f"module 'gordon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
