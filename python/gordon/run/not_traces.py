"""What is given in place of a trace: a file to convert, a run, a folder of traces.

A trace is a folder with a manifest. Errors about other paths name the command that takes them.
"""

import json
import shlex
from pathlib import Path

from gordon import _core
from gordon.human import counted
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


def check(path: Path) -> None:
    """Raises GordonError for a path that exists and is not a trace, with what to do. Other paths
    are left to the core, which reads traces."""
    if not path.exists() or (path / "manifest.json").exists():
        return
    if path.is_file():
        _check_file(path)
    elif folder.is_run(path):
        raise _error(path, *_of_run(path))
    elif hosts(path):
        names = hosts(path)
        raise _error(
            path,
            f"it is a folder with the traces of {counted(len(names), 'host')}",
            f"`{_command('trace show', names[0])}`, or all: `{_command('survey', path)}`",
        )
    elif runs := [child.name for child in sorted(path.glob("*/")) if folder.is_run(child)]:
        raise _error(
            path,
            f"it is a folder with {counted(len(runs), 'run')}",
            f"`{_command('survey', path)}`, or one of them: "
            f"`{_command('trace show', path / runs[0])}`",
        )
    elif path.is_dir():
        _check_folder(path)


def _of_run(path: Path) -> tuple[str, str]:
    try:
        nodes = [child for child in sorted(path.glob("*/")) if (child / "manifest.json").is_file()]
    except OSError:
        nodes = []
    one = path / nodes[0].name if nodes else path / "NODE"
    return (
        f"it is a run, with the traces of {counted(len(nodes), 'node')}",
        f"`{_command('trace show', one)}`, or all: `{_command('survey', path)}`",
    )


def _check_file(path: Path) -> None:
    parent = path.parent
    if path.name in (*_OF_TRACES, folder.FILE) and (parent / "manifest.json").exists():
        raise _error(path, f"it is a file of the trace {parent}", f"the folder, {parent}")
    if path.name == folder.FILE and folder.is_run(parent):
        raise _error(path, f"it is a file of the run {parent}", f"the folder, {parent}")
    if path.stat().st_size == 0:
        raise _error(path, "it is an empty file", "a file with records, or a trace")
    activity = _core.trace_activity_format(str(path))
    if activity is not None:
        raise _error(path, f"it is a file of the format {activity}", _conversion(path))
    name = _requests(path)
    if name is not None:
        of = {one["name"]: one["of"] for one in json.loads(_core.trace_formats())}
        command = "cache replay" if of.get(name) == "objects" else "flash replay"
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


def _check_folder(path: Path) -> None:
    """A folder without traces that has files to convert, or is a log in files."""
    activity = _core.trace_activity_format(str(path))
    if activity is not None:
        raise _error(path, f"it is a folder of the format {activity}", _conversion(path))


def _conversion(path: Path) -> str:
    """The command that converts a file, and what takes its result."""
    target = shlex.quote(f"{path.name.partition('.')[0] or path.name}.trace")
    return f"`{_command('trace convert', path)} {target}`, then the folder that it writes"


def _command(name: str, path: Path) -> str:
    return f"gordon {name} {shlex.quote(str(path))}"


def _error(path: Path, what: str, hint: str) -> _core.GordonError:
    return _core.GordonError(f"{path} is not a trace: {what}", hint, kind="not-a-trace")
