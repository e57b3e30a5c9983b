"""What is given in place of a trace: folders of traces, and files that have none.

A trace is a folder with a manifest. Errors about other files name the command that takes them.
"""

import json
import shlex
from pathlib import Path

from gordon import _core
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
    if path.is_file():
        _check_file(path)


def check_part(path: Path) -> None:
    """Raises GordonError for a file of a trace or of a run, whose folder is to be given."""
    parent = path.parent
    if path.name in (*_OF_TRACES, folder.FILE) and (parent / "manifest.json").exists():
        raise _error(path, f"it is a file of the trace {parent}", f"the folder, {parent}")
    if path.name == folder.FILE and folder.is_run(parent):
        raise _error(path, f"it is a file of the run {parent}", f"the folder, {parent}")


def is_of_blocks(path: Path) -> bool:
    """Whether a file has block requests, in any format that is detected."""
    name = _requests(path)
    return name is not None and _kinds()[name] == "blocks"


def _kinds() -> dict[str, str]:
    """What the records of each format are."""
    return {one["name"]: one["of"] for one in json.loads(_core.trace_formats())}


def _check_file(path: Path) -> None:
    check_part(path)
    if path.stat().st_size == 0:
        raise _error(path, "it is an empty file", "a file with records, or a trace")
    name = _requests(path)
    if name is not None:
        command = "cache replay" if _kinds()[name] == "objects" else "flash replay"
        raise _error(
            path,
            f"it is a file of requests, of the format {name}, and has nothing of processors",
            f"`{_command(command, path)}`",
        )
    raise _error(
        path,
        "it is a file, and its format is not detected",
        "`gordon trace formats` lists the files that `gordon trace convert FILE OUT` reads, some "
        "with --format",
    )


def _requests(path: Path) -> str | None:
    """The format of a file of requests; None for another file."""
    try:
        note = _core.trace_input(json.dumps({"path": str(path)}), False)
    except _core.GordonError:
        return None
    return None if note is None else str(json.loads(note)["format"])


def _command(name: str, path: Path) -> str:
    return f"gordon {name} {shlex.quote(str(path))}"


def _error(path: Path, what: str, hint: str) -> _core.GordonError:
    return _core.GordonError(f"{path} is not a trace: {what}", hint, kind="not-a-trace")
