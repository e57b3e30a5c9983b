"""Are the generated types, and the page of functions, those of the core and of the package?"""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "scripts/build"


@pytest.mark.parametrize("name", ["results", "keywords", "fields", "api"])
def test_what_is_generated_is_up_to_date(name: str) -> None:
    script = FOLDER / f"{name}.py"
    ran = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
