"""Builds the site of docs/ into build/site with zensical, offline.

    scripts/build/website.py

The reference of the crates that docs/crates.md lists is made by rustdoc. The blocks of the pages
say how they are run (scripts/build/guide.py), in words that other programs do not know; a copy of
the pages in build/docs has what a reader needs of them. A notebook becomes a page
(scripts/build/notebooks.py). The exit status is 1 if zensical warns, as of a missing page, or if a
block is not shown as one.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import notebooks

ROOT = Path(__file__).resolve().parents[2]
DOCS, COPY, SITE = (ROOT / name for name in ("docs", "build/docs", "build/site"))
#: A link to the README of a crate, which is the front page of its reference.
CRATE = re.compile(r"\(\.\./crates/(\w+)/README\.md\)")
FENCE = re.compile(r"^```(\w+) (.+)$", re.MULTILINE)


def plain(page: str) -> str:
    """A page whose fences have a language, and a title if they are a file."""

    def fence(found: re.Match[str]) -> str:
        language, how = found.groups()
        if how.startswith("not run: "):
            return f"*Not run by the tests: {how.removeprefix('not run: ')}.*\n\n```{language}"
        return f'```{language} title="{how}"' if language == "toml" else f"```{language}"

    return FENCE.sub(fence, CRATE.sub(r"(crates/gordon_\1/index.html)", page))


def crates() -> None:
    """Makes the reference of the crates and puts it next to the pages."""
    names = CRATE.findall((DOCS / "crates.md").read_text())
    packages = [word for name in names for word in ("-p", f"gordon-{name}")]
    made = ROOT / "target/doc"
    # Its index would list all crates that were ever documented.
    shutil.rmtree(made, ignore_errors=True)
    command = ["cargo", "doc", "--no-deps", "--locked", "--quiet", *packages]
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        sys.exit(1)
    shutil.copytree(made, COPY / "crates", ignore=shutil.ignore_patterns(".lock"))


def main() -> None:
    for folder in (COPY, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, COPY, ignore=shutil.ignore_patterns("*.tar.xz"))
    for notebook in COPY.rglob("*.ipynb"):
        notebook.with_suffix(".md").write_text(notebooks.page(notebook))
    for page in COPY.rglob("*.md"):
        page.write_text(plain(page.read_text()))
    crates()
    zensical = Path(sys.executable).parent / "zensical"
    if subprocess.run([zensical, "build", "--strict", "--clean"], cwd=ROOT).returncode != 0:
        sys.exit(1)
    pages = (page for page in SITE.rglob("*.html") if SITE / "crates" not in page.parents)
    broken = [page for page in pages if "<p>```" in page.read_text()]
    if broken:
        sys.exit(f"error: blocks that are not shown: {', '.join(map(str, broken))}")
    print(f"wrote {SITE}/index.html")


if __name__ == "__main__":
    main()
