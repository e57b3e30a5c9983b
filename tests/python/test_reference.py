"""Is docs/REFERENCE.md what the commands and the schemas say?"""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/build/reference.py"


def test_the_reference_is_up_to_date() -> None:
    ran = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
