"""Storage of machines that was measured: results of `gordon storage characterise --json`.

A space names the file (`storage = { measured = "ssd.json" }`), relative to its own.
"""

from collections.abc import Sequence
from pathlib import Path

from gordon.survey import space as spaces


def files(space: str, set_values: Sequence[str]) -> list[str]:
    """The files of measured storage that a space and settings `KEY=VALUE` name."""
    settings = [setting.partition("=") for setting in set_values]
    found = [text for key, _, text in settings if key.endswith(".measured")]
    file = spaces.path(space)
    try:
        names_any = file is not None and b"measured" in Path(file).read_bytes()
    except OSError:
        # Loading the space reports it.
        names_any = False
    if names_any:
        for machine in spaces.machines(spaces.load(space)):
            found += [s["measured"] for s in spaces.storages(machine) if "measured" in s]
    return found
