"""Inputs in place of a trace: folders of traces, and files that have none.

A trace is a folder with a manifest. Errors about other files name the command that takes them.
"""

import json
import shlex
from pathlib import Path

from gordon import _core
from gordon.errors import GordonError
from gordon.run import folder

#: Files of a trace.
_OF_TRACES = ("manifest.json", "activity.parquet", "disks.parquet", "block.parquet")


def hosts(path: Path) -> list[Path]:
    """The traces in a folder, by name, as `gordon trace convert` writes them for several hosts;
    none for a trace, a run, or a folder without traces."""
    if (path / "manifest.json").exists() or folder.is_run(path):
        return []
    found = sorted(child.name for child in path.glob("*/") if (child / "manifest.json").is_file())
    return [path / name for name in found]


def is_trace(path: Path) -> bool:
    """Whether a folder is a trace, or says so: the core reports what is wrong with it."""
    return (path / "manifest.json").exists()


def check(path: Path) -> None:
    """Raises GordonError for a file without a machine's activity, with what to do. Other paths are
    left to the core, which reads traces."""
    if not path.is_file():
        return
    if path.stat().st_size == 0:
        raise _error(path, "it is an empty file", "a file with records, or a trace")
    kinds = _kinds()
    try:
        name = _requests(path)
    except GordonError as error:
        what, hint = error.message, error.hint
        # The reader knows the output of other programs. The options that it names for all other
        # files are not those of a survey.
        if "--columns" not in hint:
            raise GordonError(what, hint, kind="not-a-trace") from None
        activity = ", ".join(name for name, of in kinds.items() if of == "activity")
        others = ", ".join(name for name, of in kinds.items() if of != "activity")
        raise _error(
            path,
            "it is a file, and its format is not detected",
            f"a file of {activity}; `gordon trace formats` describes these and those of requests, "
            f"which `gordon trace show` and `convert` read with --columns or --format: {others}",
        ) from None
    command = "cache replay" if kinds[name] == "objects" else "flash replay"
    raise _error(
        path,
        f"it is a file of requests, of the format {name}, and has nothing of processors",
        f"`gordon {command} {shlex.quote(str(path))}`",
    )


def check_part(path: Path) -> None:
    """Raises GordonError for a file of a trace or of a run, whose folder is to be given."""
    parent = path.parent
    if path.name in (*_OF_TRACES, folder.FILE) and (parent / "manifest.json").exists():
        raise _error(path, f"it is a file of the trace {parent}", f"the folder, {parent}")
    if path.name == folder.FILE and folder.is_run(parent):
        raise _error(path, f"it is a file of the run {parent}", f"the folder, {parent}")


def is_of_blocks(path: Path) -> bool:
    """Whether a file has block requests, in any format that is detected."""
    try:
        name = _requests(path)
    except GordonError:
        return False
    return _kinds()[name] == "blocks"


def _kinds() -> dict[str, str]:
    """The kind of the records of each format: `activity`, `blocks` or `objects`."""
    return {one["name"]: one["of"] for one in json.loads(_core.trace_formats())}


def _requests(path: Path) -> str:
    """The format of a file of requests. Raises GordonError for another file."""
    note = _core.trace_input(json.dumps({"path": str(path)}), False)
    if note is None:
        raise _error(
            path, "it is a pipe, which can be read once", f"`cat {path} > FILE`, then FILE"
        )
    return str(json.loads(note)["format"])


def _error(path: Path, what: str, hint: str) -> GordonError:
    return GordonError(f"{path} is not a trace: {what}", hint, kind="not-a-trace")
