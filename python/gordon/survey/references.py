"""The speed of the processors on which traces without hardware counters were recorded.

Such a trace has CPU time and clocks; its instructions are estimated with the instructions per cycle
of the traced processor.
"""

from math import isfinite
from typing import Any

from gordon._core import GordonError
from gordon.parts import Catalogue


def of(given: str | float | None, parts: Catalogue) -> list[dict[str, Any]]:
    """The given reference for all traces, or all processors that a manifest may name."""
    if given is None:
        known = [(name, parts.get("cpu", name)) for name in parts.names("cpu")]
        return [
            {"name": name, "ipc": part["ipc"], "models": part["models"]}
            for name, part in known
            if part.get("models")
        ]
    try:
        ipc = float(given)
    except ValueError:
        name = str(given)
        return [{"name": name, "ipc": parts.get("cpu", name)["ipc"]}]
    if not (isfinite(ipc) and ipc > 0):
        raise GordonError(
            f"--reference {given}: instructions per cycle must be above zero",
            "--reference core2, or --reference 3",
            kind="bad-number",
        )
    ipc_field = {"value": ipc, "assumed": "given by --reference"}
    return [{"name": "the traced processor", "ipc": ipc_field}]
