"""Pictures in files, whole or not at all."""

from pathlib import Path
from typing import Any

from gordon._core import GordonError

KINDS = (".png", ".svg", ".pdf")


def kind(path: str) -> str:
    """What kind of picture its name asks for."""
    kind = Path(path).suffix.lower()
    if kind not in KINDS:
        raise GordonError(f"cannot draw {path}: no kind of picture", "a name in .png, .svg or .pdf")
    return kind[1:]


def save(path: str, figure: Any) -> None:
    """Writes a matplotlib figure."""
    beside = Path(path).with_name(f".{Path(path).name}.partial")
    try:
        figure.savefig(beside, format=kind(path), dpi=120)
        beside.replace(path)
    except OSError as error:
        raise GordonError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        beside.unlink(missing_ok=True)
