"""The commands of README.md and docs/GUIDE.md, run as a reader would."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_commands_of_readme_and_guide_print_what_the_pages_show() -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts/build/guide.py"],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
