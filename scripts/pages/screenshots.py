#!/usr/bin/env python3
"""Makes one report of each kind, and pictures of them: wide, narrow, dark and printed.

    python scripts/pages/screenshots.py [NAME...]

Writes NAME.html, NAME-1400.png, NAME-390.png, NAME-dark.png and NAME.pdf into build/pages, and the
top of the survey's page as docs/survey.png, which README.md shows. Needs chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GORDON = (sys.executable, "-m", "gordon")
OUT = ROOT / "build/pages"
PICTURE = ROOT / "docs/survey.png"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000")
DARK = "--blink-settings=preferredColorScheme=0"

WEB = "web.parquet"
#: Words after the path of a report.
AFTER = {"meter": ["--", "sort", "-S", "64M", WEB, "-o", "sorted"]}
#: A report of each kind: the words before its path.
PAGES: dict[str, list[str]] = {
    "clusters": ["survey", "spark-sort", "--space", "ec2", "--reference", "m5.large", "-o"],
    "machines": ["survey", "job.trace", "-o"],
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
    "flashcache": [
        *("cache", "sweep", WEB, "--objects", "--dram", "16MiB,32MiB", "--flash", "0,64MiB"),
        *("--cores", "4,8", "--rate", "1000", "--report"),
    ],
}


def gordon(*words: str) -> None:
    """Runs a command in the folder of the pages."""
    ran = subprocess.run([*GORDON, *words], cwd=OUT, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"error: gordon {' '.join(words)}\n{ran.stderr}")


def picture(browser: str, page: Path, out: Path, width: int, height: int, *more: str) -> None:
    """The content of a window of this size."""
    size = f"--window-size={width},{height}"
    command = [browser, *FLAGS, *more, size, f"--screenshot={out}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)


def narrow(browser: str, page: Path, out: Path) -> None:
    """The page as wide as a telephone. The browser's own window has a least width."""
    frame = page.with_suffix(".frame.html")
    frame.write_text(f'<body style="margin:0"><iframe src="{page.name}" width="390" height="6000">')
    picture(browser, frame, out, 520, 6000)
    frame.unlink()


def main() -> None:
    """Makes the pages and pictures."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("error: neither chromium nor google-chrome is installed")
    unknown = [name for name in sys.argv[1:] if name not in PAGES]
    if unknown:
        sys.exit(f"error: no page is called {unknown[0]}\n  try: one of {', '.join(PAGES)}")
    OUT.mkdir(parents=True, exist_ok=True)
    if not (OUT / WEB).exists():
        gordon("cache", "generate", "surge", "--files", "100MB", "--requests", "200k", "-o", WEB)
    if not (OUT / "job.trace").exists():
        sort = ["sort", "-S", "64M", WEB, "-o", "sorted"]
        gordon("trace", "--interval", "0.1s", "-o", "job.trace", "--", *sort)
    (OUT / "disk").mkdir(exist_ok=True)
    for name in sys.argv[1:] or PAGES:
        page = OUT / f"{name}.html"
        gordon(*PAGES[name], page.name, *AFTER.get(name, []))
        picture(browser, page, OUT / f"{name}-1400.png", 1400, 3600)
        narrow(browser, page, OUT / f"{name}-390.png")
        picture(browser, page, OUT / f"{name}-dark.png", 1400, 3600, DARK)
        printed = [f"--print-to-pdf={OUT / name}.pdf", page.as_uri()]
        subprocess.run([browser, *FLAGS, *printed], check=True, capture_output=True)
        print(f"{name}: {page.stat().st_size / 1e6:.2f} MB")
        if name == "clusters":
            picture(browser, page, PICTURE, 1400, 1360)


if __name__ == "__main__":
    main()
