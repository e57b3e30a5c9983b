"""Gordon: trace a real job, simulate it on every node design, see the best node.

    import gordon
    result = gordon.survey.run("sort.trace", nodes=32)
    result["named"]["MaxE"], result["front"]

The work is done by the Rust core, `gordon._core`; this package is what people use. Nothing is
imported before it is asked for, so that `gordon --help` answers at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gordon._core import GordonError

_PACKAGES = (
    "block", "cache", "disk", "energy", "flash", "joulesort", "sort", "storage", "survey"
)  # fmt: skip

__all__ = ["GordonError", "__version__", *_PACKAGES]


def __getattr__(name: str) -> Any:
    if name == "GordonError":
        from gordon._core import GordonError

        return GordonError
    if name == "__version__":
        from gordon._core import version

        return version()
    if name in _PACKAGES:
        from importlib import import_module

        return import_module(f"gordon.{name}")
    raise AttributeError(f"module 'gordon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
