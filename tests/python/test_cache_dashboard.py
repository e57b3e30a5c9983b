"""The dashboard of `gordon cache serve`, as a browser draws it."""

import random
import re
import subprocess
import time
from pathlib import Path

import pytest

from browser import CHROMIUM, FLAGS, Document, loads, needs_browser
from cache_site import CacheServer
from gordon.human import short
from limits import PATIENCE_S


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "www"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}").write_bytes(random.Random(number).randbytes(50_000))
    (tmp_path / "flash").mkdir()
    time.sleep(0.2)
    return folder


def _drawn(server: CacheServer, tmp_path: Path) -> str:
    """The page's HTML after its script has run in the browser."""
    ran = subprocess.run(
        [
            *(str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'chromium'}"),
            *("--dump-dom", f"{server.url}/-/cache"),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return ran.stdout


def test_the_page_loads_nothing_from_elsewhere(tmp_path: Path, root: Path) -> None:
    server = CacheServer(tmp_path, "--root", "www")
    page = server.get("/-/cache")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert loads(Document(page.body.decode())) == []
    server.stop()


@needs_browser
@pytest.mark.parametrize("flash", [False, True])
def test_the_browser_draws_live_figures(tmp_path: Path, root: Path, flash: bool) -> None:
    options = ["--flash", "flash", "--flash-size", "16MiB", "--lifetime", "5y"] if flash else []
    server = CacheServer(tmp_path, "--root", "www", *options, dram="1MiB")
    for _ in range(3):
        for number in range(60):
            server.get(f"/{number}")
    drawn = _drawn(server, tmp_path)
    assert '<h1 id="source">www</h1>' in drawn
    for card in ("hits", "bandwidth", "power", "wear" if flash else "memory"):
        assert f'<article id="{card}">' in drawn, card
    figures = drawn[drawn.index("<main") : drawn.index("</main>")]
    assert "NaN" not in figures
    assert "undefined" not in figures
    assert '<p class="warnings" id="warning" hidden="">' in drawn
    ratio = server.stats()["hit_ratio"]
    assert f"{100 * ratio:.1f} % since the start" in drawn
    if flash:
        assert "a day" in figures
        assert "expected life" in figures
    server.stop()


@needs_browser
def test_the_browser_draws_the_log_and_the_sets_apart(tmp_path: Path, root: Path) -> None:
    flash = ["--flash", "flash", "--flash-size", "2MiB", "--sets", "0.5"]
    server = CacheServer(tmp_path, "--root", "www", *flash, dram="128KiB")
    names = [f"small-{number}" for number in range(1000)]
    for name in names:
        (root / name).write_bytes(random.Random(name).randbytes(600))
    # A file that changed just now is not stored.
    time.sleep(0.2)
    server.command("warm", *(f"/{name}" for name in names))
    drawn = _drawn(server, tmp_path)
    figures = drawn[drawn.index("<main") : drawn.index("</main>")]
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", figures))
    stats = server.stats()["cache"]
    assert stats["set_objects"] > 100
    assert facts["objects in sets used"] == f"{stats['set_objects']:,}"
    assert facts["objects in log"] == f"{stats['flash_objects']:,}"
    assert stats["flash_capacity"] - stats["log_capacity"] == stats["sets"] * 4096
    # The part of the log only: what is in use of the sets is not known.
    assert facts["log in use"].endswith(f" of {short(stats['log_capacity'], 'B')}")
    assert facts["sets"] == f"{stats['sets']:,}, {short(stats['sets'] * 4096, 'B')}"
    assert "expected life" not in figures
    assert "budget" not in facts
    assert "NaN" not in figures
    assert "undefined" not in figures
    server.stop()
