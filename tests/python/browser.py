"""Reads HTML pages, as they are written and, if there is a browser, as it draws them."""

import base64
import gzip
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from limits import PATIENCE_S


def _browser() -> str | None:
    """One that starts: some systems have a stub in its place."""
    for name in ("chromium", "google-chrome"):
        path = shutil.which(name)
        if path is not None:
            ran = subprocess.run([path, "--version"], capture_output=True)
            if ran.returncode == 0:
                return path
    return None


CHROMIUM = _browser()
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,2000",
    "--virtual-time-budget=20000",
]

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="neither chromium nor google-chrome is installed"
)


#: A compressed part, and the element that it belongs to.
PACKED = re.compile(r'<script type="text/plain" data-for="(\w+)">([^<]*)</script>')


def parts(page: str) -> dict[str, str]:
    """The compressed parts of a page, by the elements that they belong to."""
    return {
        name: gzip.decompress(base64.b64decode(code)).decode()
        for name, code in PACKED.findall(page)
    }


def result_of(page: str) -> Any:
    """The result in a page."""
    return json.loads(parts(page)["result"])


class Document(HTMLParser):
    """Start tags with their attributes, and the text of the rows of the designs table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.feed(parts(text).get("rows", ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def rows(self) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.tags if tag == "tr" and "data-id" in attrs]


def loads(document: Document) -> list[str]:
    """Everything that the page would fetch."""
    places = [attrs.get("src") for tag, attrs in document.tags if tag != "a"]
    places += [attrs.get("href") for tag, attrs in document.tags if tag == "link"]
    return [place for place in places if place and not place.startswith(("data:", "blob:", "#"))]


def drawn(page: Path, tmp_path: Path, fragment: str = "") -> str:
    """The page's HTML after its script has run in the browser."""
    ran = subprocess.run(
        [
            str(CHROMIUM),
            *FLAGS,
            f"--user-data-dir={tmp_path / 'chromium'}",
            "--dump-dom",
            page.as_uri() + fragment,
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return ran.stdout
