"""What web servers are asked for: SURGE and SPECweb99, as block logs of one Parquet file.

    from gordon.cache import web
    made = web.generate("surge", "web.parquet", requests=1_000_000)
    made["files"], made["mean_bytes"], made["top_fifth"]

The core draws (`crates/trace/src/web`); `docs/design/web-workloads.md` has the laws.
"""

import json
from os import fspath
from typing import Any

from gordon import _core
from gordon.options import Path, Progress

__all__ = ["WORKLOADS", "generate"]

WORKLOADS = {"surge": "1.5GB", "specweb99": "1.8GB"}
"""The workloads, and the size of each one's files in the FlashCache paper."""


def generate(
    workload: str,
    output: Path,
    *,
    requests: int,
    files: str | None = None,
    clients: int = 24,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Writes so many requests for files of so many bytes together, and says what they are.

    `output` must not exist; whatever reads block traces reads it. `progress` is called with
    (done, total).
    """
    if workload not in WORKLOADS:
        raise _core.GordonError(
            f"no workload is called `{workload}`", f"one of {', '.join(WORKLOADS)}"
        )
    config = {
        "workload": workload,
        "files": files or WORKLOADS[workload],
        "requests": requests,
        "clients": clients,
        "seed": seed,
        "output": fspath(output),
    }
    made: dict[str, Any] = json.loads(_core.web_generate(json.dumps(config), progress))
    return made
