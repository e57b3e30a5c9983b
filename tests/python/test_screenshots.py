"""Pictures of pages: a browser that hangs or fails ends the program with one error."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import screenshots
from limits import PATIENCE_S


def browser(tmp_path: Path, script: str) -> str:
    """A program in place of the browser."""
    program = tmp_path / "browser"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_a_browser_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screenshots, "PATIENCE_S", 0.5)
    pid = tmp_path / "pid"
    # Its child holds the pipes of the browser, as those of chromium do.
    hangs = browser(tmp_path, f"sleep 1000 & echo $! > {pid}.new; mv {pid}.new {pid}; wait")
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit, match=r"browser has not drawn .*page\.html in 0\.5 s"):
        screenshots.browse(hangs, page)
    if pid.exists():
        child = Path("/proc", pid.read_text().strip(), "stat")
        end = time.monotonic() + PATIENCE_S
        while child.exists() and ") Z " not in child.read_text():
            assert time.monotonic() < end, "the child of the browser still runs"
            time.sleep(0.05)


def test_a_browser_that_fails_is_quoted(tmp_path: Path) -> None:
    fails = browser(tmp_path, "echo 'no display' >&2; exit 3")
    with pytest.raises(SystemExit, match=r"(?s)ended with 3 on .*page\.html.*no display"):
        screenshots.browse(fails, tmp_path / "page.html")


def test_the_arguments_reach_the_browser(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    keeps = browser(tmp_path, f'echo "$@" > {seen}')
    page = tmp_path / "page.html"
    page.write_text("<p>")
    screenshots.narrow(keeps, page, tmp_path / "out.png")
    assert "--window-size=520,6000" in seen.read_text()
    assert f"--screenshot={tmp_path}/out.png" in seen.read_text()
    assert not (tmp_path / "page.frame.html").exists()
