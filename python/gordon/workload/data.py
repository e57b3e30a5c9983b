"""Generates the input data of cluster jobs: text, web pages, numbers and records.

    from gordon.workload import data
    made = data.generate("text", "corpus", size="2GB")
    made["bytes"], made["records"], made["checksum"]

The core generates the data (`crates/workload`); `docs/design/corpora.md` describes models and
formats.
"""

import json
import time
from collections.abc import Sequence
from os import fspath
from typing import ClassVar, NotRequired

from gordon import _core, fields
from gordon.errors import GordonError
from gordon.options import Path, Progress, Size, in_bytes, several
from gordon.options.workloads import Corpus
from gordon.reports.workload import CorpusManifest
from gordon.run.report import RunInput

KINDS = ("text", "web", "numbers", "records")
"""The kinds of corpora."""


class CorpusFolder(RunInput):
    """The manifest of a corpus, with its folder."""

    output: NotRequired[str]


class CorpusResult(fields.CorpusResult):
    """A generated corpus."""

    SAYS: ClassVar = ("output", "bytes", "files")


def generate(
    kind: str,
    output: Path,
    *,
    size: Size,
    part_size: Size = Corpus.part_size,
    seed: int = Corpus.seed,
    sources: Path | Sequence[Path] = (),
    threads: int | None = None,
    root: Path = "/",
    progress: Progress | None = None,
) -> CorpusResult:
    """Generates a corpus in the folder `output`, which must not exist, and returns its manifest
    with `output` and `time_s`.

    `kind` is one of KINDS. `size` is that of all files, `part_size` the largest size of a file,
    such as `2GB`. Text and web pages are grown from the packages that are installed under
    `root`, or from the folders `sources`, each with the text of one language. `threads` is the
    number of threads (default: two more than cores); it does not change the data. `progress` is
    called with the bytes (done, total). Raises GordonError.
    """
    if kind not in KINDS:
        raise GordonError(
            f"no kind of data is called `{kind}`", f"one of {', '.join(KINDS)}", kind="unknown-name"
        )
    if not 0 <= seed < 1 << 64:
        raise GordonError(
            f"seed: {seed} is out of range", "a number from 0 to 2^64 - 1", kind="out-of-range"
        )
    config = {
        "kind": kind,
        "size": f"{_core.parse_bytes(in_bytes(size))}B",
        "part_size": f"{_core.parse_bytes(in_bytes(part_size))}B",
        "seed": seed,
        "from": [fspath(source) for source in several(sources)],
        "output": fspath(output),
        "threads": threads,
        "root": fspath(root),
    }
    began = time.monotonic()
    made: CorpusManifest = json.loads(_core.corpus_generate(json.dumps(config), progress))
    seconds = time.monotonic() - began
    return CorpusResult({"output": fspath(output), **made, "time_s": seconds})
