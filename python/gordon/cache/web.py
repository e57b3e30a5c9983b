"""Generated requests to web servers: SURGE and SPECweb99, as block logs of one Parquet file.

    from gordon.cache import web
    made = web.generate("surge", "web.parquet", requests=1_000_000)
    made["files"], made["mean_bytes"], made["top_fifth"]

The core generates the requests (`crates/workload`); `docs/design/web-workloads.md` describes
their distributions.
"""

import json
from os import fspath
from typing import Literal

from gordon import _core
from gordon.cache.result import WebResult
from gordon.errors import GordonError
from gordon.options import Path, Progress, Size, in_bytes
from gordon.options.caches import WebLoad

__all__ = ["WORKLOADS", "WebResult", "generate"]

WORKLOADS = {"surge": "1.5GB", "specweb99": "1.8GB"}
"""The workloads, with the total size of their files in the FlashCache paper."""


def generate(
    workload: Literal["surge", "specweb99"],
    output: Path,
    *,
    requests: int = WebLoad.requests,
    files: Size | None = None,
    clients: int = WebLoad.clients,
    seed: int = WebLoad.seed,
    progress: Progress | None = None,
) -> WebResult:
    """Generates a load, writes it to `output` as a block log, and returns a summary of it.

    `requests` is the number of requests, `files` the total size of the files (default: that of the
    FlashCache paper, in `WORKLOADS`), and `clients` the number of clients.

    `output` must not exist. Every function that reads block traces can read it. `progress` is
    called with (done, total).
    """
    if workload not in WORKLOADS:
        raise GordonError(f"no workload is called `{workload}`", f"one of {', '.join(WORKLOADS)}")
    config = {
        "workload": workload,
        "files": in_bytes(files, "--files") or WORKLOADS[workload],
        "requests": requests,
        "clients": clients,
        "seed": seed,
        "output": fspath(output),
    }
    return WebResult(json.loads(_core.web_generate(json.dumps(config), progress)))


def __dir__() -> list[str]:
    return __all__
