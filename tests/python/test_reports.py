"""Are the types of python/gordon/reports those of the core's schemas?"""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/build/results.py"


def test_the_types_of_reports_are_up_to_date() -> None:
    ran = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
