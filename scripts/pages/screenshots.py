#!/usr/bin/env python3
"""Makes one report of each kind, and pictures of them: wide, narrow, dark and printed.

    python scripts/pages/screenshots.py [NAME...]

Writes NAME.html, NAME-1400.png, NAME-390.png, NAME-dark.png and NAME.pdf into build/pages, and the
top of the survey's page as docs/survey.png, which README.md shows. A paper is a folder with a page
for each of its tables and figures. Needs chromium.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GORDON = (sys.executable, "-m", "gordon")
OUT = ROOT / "build/pages"
PICTURE = ROOT / "docs/survey.png"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000")
DARK = "--blink-settings=preferredColorScheme=0"
#: A page takes some seconds to draw; this is far beyond what any machine needs.
PATIENCE_S = 300.0

WEB = "web.parquet"
#: Words after the path of a report.
AFTER = {"meter": ["--", "sort", "-S", "64M", WEB, "-o", "sorted"]}
#: A report of each kind: the words before its path.
PAGES: dict[str, list[str]] = {
    "clusters": ["survey", "spark-sort", "--space", "ec2", "--reference", "m5.large", "-o"],
    "machines": ["survey", "job.trace", "-o"],
    "cost": [
        *("survey", "spark-sort", "--nodes", "1..4", "--objective", "time,tco,carbon"),
        *("--runs-per-day", "40", "-o"),
    ],
    "service": [
        *("survey", "job.trace", "--service", "--space", "ec2", "--reference", "m5.large", "-o"),
    ],
    "gordon-2009": [
        *("survey", "job.trace", "--space", "gordon-2009", "--nodes", "32", "--model", "paper"),
        "-o",
    ],
    "jobs": ["survey", "--bundled", "-o"],
    "flash": [
        *("flash", "bench", "--pattern", "random-write", "--requests", "100000"),
        *("--set", "capacity=8GiB", "--precondition", "0.8", "--report"),
    ],
    "compare": [
        *("flash", "compare", "gordon-slc-256g", "nvme-tlc-1tb", "--pattern", "mixed"),
        *("--requests", "20000", "--report"),
    ],
    "devices": ["compare", WEB, "nvme-tlc-1tb", "sata-7200-1tb", "--report"],
    "disk-compare": [
        *("disk", "compare", "sata-7200-1tb", "laptop-5400-160gb", "--pattern", "mixed"),
        *("--requests", "5000", "--report"),
    ],
    "disk": ["disk", "bench", "--pattern", "random-read", "--requests", "5000", "--report"],
    "cache-sweep": [
        *("cache", "sweep", WEB, "--objects", "--policy", "lru,s3-fifo"),
        *("--dram", "16MiB..64MiB", "--report"),
    ],
    "cache-curve": ["cache", "mrc", WEB, "--objects", "--report"],
    "tiered": [
        *("cache", "tiered", WEB, "--dram", "16MiB", "--flash", "128MiB", "--objects", "--report"),
    ],
    "storage": [
        *(
            "storage",
            "characterise",
            "disk",
            "--sizes",
            "4KiB..4MiB",
            "--seconds",
            "0.1",
            "--report",
        ),
    ],
    "storage-modelled": [
        *("storage", "characterise", "--preset", "sata-7200-1tb", "--stripe", "4", "--report"),
    ],
    "sort-tune": [
        *("sort", "tune", "--records", "200k", "--budget", "30s", "-o", "tuned.toml", "--report"),
    ],
    "sort-flash": [
        *("sort", "tune", "--flash", "nvme-tlc-1tb", "--set", "capacity=16GiB"),
        *("-o", "modelled.toml", "--report"),
    ],
    "meter": [
        *("meter", "record", "--interval", "0.02s", "--idle", "3s", "--runs", "3", "--report"),
    ],
    "sweep": ["sweep", "sweep.toml", "-o", "sweep.parquet", "--report"],
    "joulesort": [
        *("joulesort", "--records", "1e6", "--memory", "64MB", "--interval", "0.05s"),
        *("--idle", "3s", "--report"),
    ],
    "flashcache": [
        *("cache", "sweep", WEB, "--objects", "--dram", "16MiB,32MiB", "--flash", "0,64MiB"),
        *("--cores", "4,8", "--rate", "1000", "--report"),
    ],
}
SWEEP = """command = "flash bench"
objectives = ["write_amplification:min", "write.latency_us.p99:min"]
[settings]
capacity = "1GiB"
pattern = "random-write"
requests = 20000
[ranges]
precondition = [0.5, 0.7, 0.9]
ftl.victim = ["greedy", "fifo", "cost-benefit"]
"""
#: The comparisons with a paper: the words before the folder of their pages.
PAPERS = {
    f"paper-{paper}": ["reproduce", paper, "--quick", "--pages"]
    for paper in ("gordon", "joulesort", "flashcache")
}


def gordon(*words: str) -> None:
    """Runs a command in the folder of the pages."""
    ran = subprocess.run([*GORDON, *words], cwd=OUT, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"error: gordon {' '.join(words)}\n{ran.stderr}")


def browse(browser: str, page: Path, *words: str) -> None:
    """Draws a page. Exits with an error if the browser fails or does not end."""
    with tempfile.TemporaryFile("w+") as errors:
        # A session of its own, so that all processes of the browser can be ended.
        started = subprocess.Popen(
            [browser, *FLAGS, *words, page.as_uri()],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        try:
            status = started.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            sys.exit(f"error: {browser} has not drawn {page} in {PATIENCE_S:g} s, and was ended")
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGKILL)
                started.wait()
        if status != 0:
            errors.seek(0)
            sys.exit(f"error: {browser} ended with {status} on {page}\n{errors.read()}")


def picture(browser: str, page: Path, out: Path, width: int, height: int, *more: str) -> None:
    """The content of a window of this size."""
    browse(browser, page, *more, f"--window-size={width},{height}", f"--screenshot={out}")


def narrow(browser: str, page: Path, out: Path) -> None:
    """The page as wide as a telephone. The browser's own window has a least width."""
    frame = page.with_suffix(".frame.html")
    frame.write_text(f'<body style="margin:0"><iframe src="{page.name}" width="390" height="6000">')
    picture(browser, frame, out, 520, 6000)
    frame.unlink()


def made(name: str) -> list[Path]:
    """Makes the pages of a name."""
    if name in PAPERS:
        folder = OUT / name
        shutil.rmtree(folder, ignore_errors=True)
        gordon(*PAPERS[name], folder.name)
        return sorted(folder.glob("*.html"))
    page = OUT / f"{name}.html"
    gordon(*PAGES[name], page.name, *AFTER.get(name, []))
    return [page]


def pictures(browser: str, page: Path) -> None:
    """Makes the pictures of a page, next to it."""
    stem = page.with_suffix("")
    picture(browser, page, Path(f"{stem}-1400.png"), 1400, 3600)
    narrow(browser, page, Path(f"{stem}-390.png"))
    picture(browser, page, Path(f"{stem}-dark.png"), 1400, 3600, DARK)
    browse(browser, page, f"--print-to-pdf={stem}.pdf")
    print(f"{page.relative_to(OUT).with_suffix('')}: {page.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    """Makes the pages and pictures."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("error: neither chromium nor google-chrome is installed")
    names = [*PAGES, *PAPERS]
    unknown = [name for name in sys.argv[1:] if name not in names]
    if unknown:
        sys.exit(f"error: no page is called {unknown[0]}\n  try: one of {', '.join(names)}")
    OUT.mkdir(parents=True, exist_ok=True)
    if not (OUT / WEB).exists():
        gordon("cache", "generate", "surge", "--files", "100MB", "--requests", "200k", "-o", WEB)
    if not (OUT / "job.trace").exists():
        sort = ["sort", "-S", "64M", WEB, "-o", "sorted"]
        gordon("trace", "--interval", "0.1s", "-o", "job.trace", "--", *sort)
    (OUT / "disk").mkdir(exist_ok=True)
    (OUT / "sweep.toml").write_text(SWEEP)
    for name in sys.argv[1:] or names:
        for page in made(name):
            pictures(browser, page)
            if name == "clusters":
                picture(browser, page, PICTURE, 1400, 1360)


if __name__ == "__main__":
    main()
