#!/usr/bin/env python3
"""Runs commands and writes a recording of the session as docs/session.svg.

    recording.py           run the commands and write the recording
    recording.py --check   fail if the commands print something else

Each line appears in its turn; a reader who asks for less motion sees them all. The file loads
nothing: its letters are of the reader's system.
"""

from __future__ import annotations

import os
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs/session.svg"
#: The commands, run by bash, where `gordon` is the one of this Python.
COMMANDS = (
    "gordon trace show spark-sort | tail -n 7",
    "gordon survey spark-sort --space ec2 --reference m5.large"
    " | grep -E '^  cluster|fastest|cheapest|here$'",
    "gordon flash compare gordon-slc-256g nvme-tlc-1tb --pattern random-read --requests 20000",
)
COLUMNS = 104
#: Pixels of a letter and of a line, and around them.
LETTER, LINE, EDGE = 7.8, 18, 18
#: Seconds until the output of a command, between its lines, and until the next command.
RUNNING, APART, READING = 1.2, 0.08, 2.5


def session() -> list[tuple[str, list[str]]]:
    """The commands and what they print."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": str(COLUMNS), "NO_COLOR": "1"}
    found = []
    for command in COMMANDS:
        ran = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if ran.returncode != 0:
            sys.exit(f"error: exit status {ran.returncode} of {command}")
        found.append((command, [line.rstrip() for line in ran.stdout.splitlines()]))
    return found


def wrapped(line: str) -> list[str]:
    """A line as a terminal of `COLUMNS` wraps it."""
    return [line[at : at + COLUMNS] for at in range(0, max(len(line), 1), COLUMNS)]


def svg(commands: list[tuple[str, list[str]]]) -> str:
    """The recording."""
    lines: list[tuple[str, str, float]] = []
    now = 0.5
    for command, output in commands:
        lines += [("command", part, now) for part in wrapped(f"$ {command}")]
        now += RUNNING
        for line in output:
            lines += [("output", part, now) for part in wrapped(line)]
            now += APART
        lines.append(("output", "", now))
        now += READING
    width = round(COLUMNS * LETTER + 2 * EDGE)
    height = LINE * len(lines) + 2 * EDGE
    texts = [
        f'<text class="{kind}" x="{EDGE}" y="{EDGE + LINE * (number + 0.75):g}" '
        f'style="animation-delay:{at:.2f}s">{escape(text)}</text>'
        for number, (kind, text, at) in enumerate(lines)
        if text
    ]
    title = "A session: what limited a Spark job, where it should run, and two flash devices"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            f"<title>{title}</title>",
            "<style>",
            "text{font:13px ui-monospace,Menlo,Consolas,'Liberation Mono',monospace;"
            "white-space:pre;fill:#d5dae0;animation:shown .1s both}",
            ".command{fill:#7db3e8;font-weight:600}",
            "@keyframes shown{from{opacity:0}to{opacity:1}}",
            "@media(prefers-reduced-motion:reduce){text{animation:none}}",
            "</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#16191d"/>',
            *texts,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    """Writes or checks the recording."""
    wanted = svg(session())
    if sys.argv[1:] == ["--check"]:
        if not FILE.exists() or FILE.read_text(encoding="utf-8") != wanted:
            sys.exit("error: docs/session.svg is out of date\n  try: make recording")
        return
    FILE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
