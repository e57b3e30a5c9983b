"""The measured runs of local clusters that the repository keeps, without names of the machine.

An archive has the runs of one job. A run that is read from it gives the predictions that the run
itself gives, so that a change of the model is judged on runs of an earlier day.
"""

from __future__ import annotations

import io
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from gordon import _core, files
from gordon.run import folder

BUNDLE_LOG = Path(__file__).resolve().parents[1] / "build/bundle_log.py"

#: Keys of the description of a run that no model reads.
LEFT_OUT = ("command", "data", "output", "verification")
LOG = "eventlog/log.gz"


def keep(run: Path, out: Path) -> None:
    """Writes a run without what names the machine that made it."""
    (log,) = (run / "eventlog").iterdir()
    with TemporaryDirectory(dir=out.parent) as scratch:
        made = Path(scratch, "made")
        _core.trace_anonymise(str(run), str(made))
        (made / LOG).parent.mkdir(exist_ok=True)
        subprocess.run([sys.executable, BUNDLE_LOG, log, made / LOG], check=True)
        report = folder.read(made)
        kept = {key: value for key, value in report.items() if key not in LEFT_OUT}
        text = json.dumps(kept | {"event_log": LOG}, indent=1)
        (made / folder.FILE).write_text(f"{text}\n")
        shutil.rmtree(out, ignore_errors=True)
        made.rename(out)


def pack(runs: list[Path], archive: Path) -> None:
    """Writes the archive of runs. The same runs make the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for run in sorted(runs):
            for path in sorted(one for one in run.rglob("*") if one.is_file()):
                entry = tarfile.TarInfo(f"{run.name}/{path.relative_to(run)}")
                entry.size = path.stat().st_size
                with path.open("rb") as file:
                    tar.addfile(entry, file)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with files.whole(archive) as unfinished:
        Path(unfinished).write_bytes(lzma.compress(packed.getvalue(), preset=9))


def unpack(archive: Path, runs: Path) -> None:
    """Reads the runs of an archive into the folder `runs`."""
    with tarfile.open(archive) as tar:
        tar.extractall(runs, filter="data")
