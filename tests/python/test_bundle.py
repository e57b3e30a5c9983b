"""The recording of a session, and the licences of what the wheel carries of others."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import recording
import third_party
from serving import need

ROOT = Path(__file__).resolve().parents[2]


def test_the_recording_is_what_the_commands_print() -> None:
    words = [sys.executable, str(ROOT / "scripts/pages/recording.py"), "--check"]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_recording_loads_nothing_and_shows_all_without_motion() -> None:
    text = (ROOT / "docs/session.svg").read_text()
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "prefers-reduced-motion" in text
    root = ElementTree.fromstring(text)  # noqa: S314 - our own file
    lines = [one.text or "" for one in root if one.tag.endswith("text")]
    commands = "".join(line for line in lines if line.startswith("$ "))
    assert all(command.split("|")[0].strip() in commands for command in recording.COMMANDS)
    assert max(map(len, lines)) <= recording.COLUMNS


def test_lines_of_a_recording_are_text_in_their_order() -> None:
    text = recording.svg([("a", ["<b> & c", "d" * (recording.COLUMNS + 1)]), ("e", [])])
    assert "&lt;b&gt; &amp; c" in text
    delays = [float(at) for at in re.findall(r"animation-delay:([\d.]+)s", text)]
    assert delays == sorted(delays)
    assert len(delays) == 5


def test_the_licences_are_those_of_the_lock_file() -> None:
    need("cargo")
    words = [sys.executable, str(ROOT / "scripts/build/third_party.py"), "--check"]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_every_part_names_its_licence() -> None:
    text = (ROOT / "THIRD-PARTY.txt").read_text()
    listed = text.partition("Without a text")[0].splitlines()[3:]
    parts = [line for line in listed if line]
    assert len(parts) > 100
    assert all(re.match(r"\S+ .+: .+\.", part) for part in parts)
    for name in ("zstd in zstd-sys", "plotly.js-basic-dist-min", "pyo3 "):
        assert any(part.startswith(name) for part in parts), name


def test_a_text_that_parts_share_is_there_once() -> None:
    parts = [
        third_party.Part(name, "1.0", "MIT", "", (text,))
        for name, text in (("a", "Copyright  X\nfree"), ("b", "Copyright X free"), ("c", "other"))
    ]
    page = third_party.page([*parts, third_party.Part("d", "2.0", "ISC", "", ())])
    assert page.count("free") == 1
    assert "\na, b\n" in page
    assert "under the licences named above: d\n" in page
