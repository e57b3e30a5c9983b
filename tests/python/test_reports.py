"""Are the generated types those of the core's schemas, of the options and of the results?"""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "scripts/build"


@pytest.mark.parametrize("name", ["results", "keywords", "fields"])
def test_generated_types_are_up_to_date(name: str) -> None:
    script = FOLDER / f"{name}.py"
    ran = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
