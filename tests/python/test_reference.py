"""The reference, the manual pages and what shells complete: are they what the commands and the
schemas say?"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from click.shell_completion import BashComplete

import man
from gordon.options import completion
from serving import need

ROOT = Path(__file__).resolve().parents[2]
MAN = ROOT / "scripts/build/man.py"

SCRIPT = Path(__file__).parents[2] / "scripts/build/reference.py"


def test_the_reference_is_up_to_date() -> None:
    ran = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_manual_pages_are_up_to_date() -> None:
    ran = subprocess.run([sys.executable, MAN, "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_every_command_has_a_manual_page_that_the_wheel_carries() -> None:
    from gordon.cli import COMMANDS

    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["data"]
    found = {path.name for path in (ROOT / data / "data/share/man/man1").iterdir()}
    assert found == {"gordon.1", *(f"gordon-{name}.1" for name in COMMANDS)}


def test_a_manual_page_is_read_without_warnings() -> None:
    need("groff")
    for name in ("gordon.1", "gordon-flash.1", "gordon-survey.1"):
        page = ROOT / "man/data/share/man/man1" / name
        words: list[str | Path] = ["groff", "-man", "-Tutf8", "-ww", "-z", page]
        ran = subprocess.run(words, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")


def test_text_of_a_manual_page_is_no_request() -> None:
    assert man.plain(".SH\n'x\n--json a\\b") == "\\&.SH\n\\&'x\n\\-\\-json a\\eb"


def completed(words: str) -> list[str]:
    """The words that a shell offers for the last one."""
    from gordon.cli import gordon

    *before, last = words.split(" ")
    done = BashComplete(gordon, {}, "gordon", "_GORDON_COMPLETE")
    return [item.value for item in done.get_completions(before, last)]


def test_values_of_options_are_completed() -> None:
    assert completed("flash bench --preset gordon-s") == ["gordon-slc-256g"]
    assert completed("disk bench --preset gordon-s") == ["gordon-s"]
    assert "sata-7200-1tb" in completed("storage characterise --preset s")
    assert completed("survey job --space ec") == ["ec2"]
    assert completed("cache sweep t --policy lru,s3") == ["lru,s3-fifo"]
    assert completed("cache replay t --policy bela") == ["belady"]
    assert completed("flash bench --set ftl.vic") == ["ftl.victim="]
    assert completed("disk bench --set no.such") == []
    assert completed("compare trace nvme-t") == ["nvme-tlc-1tb"]
    assert completed("spaces show gordon") == ["gordon-2009"]
    assert completed("flash bench --pattern sequential-w") == ["sequential-write"]
    assert completed("flas") == ["flash"]


def test_completed_keys_are_keys_of_a_device() -> None:
    from gordon import _core

    for kind in ("flash", "disk", "flashcache"):
        found = list(completion.keys(kind))
        assert len(found) == len(set(found)) > 10
        schema = json.loads(_core.schema(kind))
        assert {key.partition(".")[0] for key in found} <= set(schema["properties"])
