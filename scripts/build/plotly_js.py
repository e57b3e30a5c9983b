#!/usr/bin/env python3
"""Downloads the part of plotly.js that pages have: scatter and bar charts, a quarter of the whole.

    python scripts/build/plotly_js.py

The file is of the npm package plotly.js-basic-dist-min, of this version and with this checksum.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import sys
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

VERSION = "4.1.1"
#: As the registry has it: SHA-512 of the archive.
INTEGRITY = (
    "1oNF8PeQx2hv/y7tqEVWKD3JGwn/MGEMQ8mL9HUwsaqG9FGy/OU5FHUHvzqbqxN4mnwZGI9abTiE775C4kkjMQ=="
)
NAME = "plotly.js-basic-dist-min"
URL = f"https://registry.npmjs.org/{NAME}/-/{NAME}-{VERSION}.tgz"
FILE = Path(__file__).resolve().parents[2] / "python/gordon/report/plotly-basic.min.js"
PATIENCE_S = 180


def main() -> None:
    """Downloads the file, unless it is there."""
    if FILE.is_file() and f"plotly.js (basic - minified) v{VERSION}" in FILE.read_text()[:200]:
        return
    try:
        with urllib.request.urlopen(URL, timeout=PATIENCE_S) as answer:
            archive = answer.read()
    except (urllib.error.URLError, TimeoutError) as error:
        sys.exit(f"error: cannot download {URL}: {error}")
    found = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if found != INTEGRITY:
        sys.exit(f"error: {URL} has the checksum {found}, not {INTEGRITY}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        member = files.extractfile("package/plotly-basic.min.js")
        if member is None:
            sys.exit(f"error: {URL} has no package/plotly-basic.min.js")
        text = member.read()
    draft = FILE.with_suffix(f".partial-{os.getpid()}")
    draft.write_bytes(text)
    draft.rename(FILE)


if __name__ == "__main__":
    main()
