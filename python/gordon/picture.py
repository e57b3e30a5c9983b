"""Image files of plots, written completely or not at all."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gordon.errors import GordonError, missing_package
from gordon.files import whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (".png", ".svg", ".pdf")


def check(path: str) -> None:
    """Raises GordonError if the path does not end in a supported image format, or without the
    package matplotlib."""
    if Path(path).suffix.lower() not in KINDS:
        raise GordonError(
            f"cannot draw {path}: not a supported image format",
            "a name that ends in .png, .svg or .pdf",
            kind="bad-image-format",
        )
    if find_spec("matplotlib") is None:
        raise missing_package("matplotlib", "plot")


def figure(**how: Any) -> "Figure":
    """An empty figure of matplotlib, which is imported here and not earlier."""
    import gordon.arrays  # noqa: F401 - before matplotlib imports numpy

    # isort: split
    from matplotlib.figure import Figure

    return Figure(**how)


def save(figure: Any, path: str) -> None:
    """Writes a figure of matplotlib in the format of the path's suffix. Raises GordonError."""
    with whole(path) as partial:
        figure.savefig(partial, format=Path(path).suffix.lower()[1:], dpi=120)
