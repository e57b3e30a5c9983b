"""Builds the wheel, installs it into an empty environment, and times the first answer there.

    scripts/build/wheel.py

The exit status is 1 if the wheel is too large, if it lacks manual pages or licences, if it needs a
package that is only an extra, or if a command fails.
"""

import re
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build/wheels"
#: Bytes of a wheel.
MOST = 25e6
#: Packages of extras.
EXTRAS = {"numpy", "matplotlib", "plotly"}
#: Files that the wheel carries, as expressions.
NEEDED = (r"share/man/man1/gordon-flash\.1$", r"licenses/LICENSE$", r"licenses/THIRD-PARTY\.txt$")
#: Without extras.
COMMANDS = ("demo", "doctor", "flash bench --pattern random-read --requests 1000")


def run(*words: str | Path) -> str:
    """The output of a command. Raises SystemExit if it fails."""
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(f"error: exit status {ran.returncode} of {' '.join(map(str, words))}")
    return ran.stdout


def main() -> None:
    for old in OUT.glob("*.whl"):
        old.unlink()
    maturin = Path(sys.executable).parent / "maturin"
    run(maturin, "build", "--release", "--locked", "--quiet", "--out", OUT, "-i", sys.executable)
    (wheel,) = OUT.glob("gordon_storage-*-abi3-*.whl")
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB")
    if size > MOST:
        sys.exit(f"error: the wheel has more than {MOST / 1e6:.0f} MB")
    names = "\n".join(zipfile.ZipFile(wheel).namelist())
    for needed in NEEDED:
        if not re.search(needed, names, re.MULTILINE):
            sys.exit(f"error: the wheel lacks {needed}")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        installed = Path(folder, "bin")
        start = time.monotonic()
        run(installed / "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        print(f"installed in {time.monotonic() - start:.1f} s")
        found = {line.partition("==")[0] for line in run(installed / "pip", "freeze").splitlines()}
        if found & EXTRAS:
            sys.exit(f"error: installed without an extra: {', '.join(sorted(found & EXTRAS))}")
        for command in COMMANDS:
            start = time.monotonic()
            run(installed / "gordon", *command.split())
            print(f"gordon {command}: {time.monotonic() - start:.2f} s")


if __name__ == "__main__":
    main()
