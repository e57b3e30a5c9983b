"""Pictures in files, whole or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gordon._core import GordonError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (".png", ".svg", ".pdf")


def check(path: str) -> None:
    """An error that can be told before the work."""
    if Path(path).suffix.lower() not in KINDS:
        raise GordonError(f"cannot draw {path}: no kind of picture", "a name in .png, .svg or .pdf")


def figure(**how: Any) -> "Figure":
    """An empty one of matplotlib's. Nothing of matplotlib is imported before."""
    import gordon.arrays  # noqa: F401 - before matplotlib imports numpy

    # isort: split
    from matplotlib.figure import Figure

    return Figure(**how)


def save(figure: Any, path: str) -> None:
    """Writes a figure of matplotlib's, in the kind that the path ends in."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.partial")
    try:
        figure.savefig(beside, format=target.suffix.lower()[1:], dpi=120)
        beside.replace(target)
    except OSError as error:
        raise GordonError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)
