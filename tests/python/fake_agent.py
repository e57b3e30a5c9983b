"""An agent that answers as an argument says: for tests of what runs do when agents fail.

Its clock is FAKE_OFFSET nanoseconds ahead. `start` writes nothing; `stop` reports copies of the
trace FAKE_TRACE.
"""

import base64
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from gordon import __version__
from gordon.reports.trace import MachineUse


def main() -> None:
    how = os.environ.get("FAKE_AGENT", "")
    offset = int(os.environ.get("FAKE_OFFSET", "0"))
    scopes: list[dict[str, Any]] = []
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, Any] = {"id": request["id"]}
        match request["op"]:
            case "hello":
                reply |= {"version": "0.0.0" if how == "other-version" else __version__}
            case "clock":
                now = time.time_ns() + offset
                reply |= {"t1_ns": request["t1_ns"], "t2_ns": now, "t3_ns": now}
            case "start":
                if how == "refuses":
                    reply["error"] = {"kind": "no-scope", "message": "no such node", "hint": "x"}
                scopes = request["scopes"]
                reply["warnings"] = [f"phase {request['phase_unix_ns']}"]
            case "stop":
                if how == "dies":
                    sys.stderr.write("out of memory\n")
                    sys.exit(1)
                reply["traces"] = [
                    {
                        "name": scope["name"],
                        "folder": os.environ["FAKE_TRACE"],
                        "files": [
                            {"file": path.name, "bytes": path.stat().st_size}
                            for path in Path(os.environ["FAKE_TRACE"]).iterdir()
                        ],
                        "warnings": [],
                        "error": None,
                        "scope": {"kind": "machine", "host": "x"},
                    }
                    for scope in scopes
                ]
                reply["machine"] = dict.fromkeys(MachineUse.__annotations__, 0)
                reply["machine"]["cpu_ns"] = 1 if how == "counts-twice" else 10**15
            case "fetch":
                data = Path(request["path"]).read_bytes()[request["offset"] :]
                part = data[:1000]
                reply |= {"base64": base64.b64encode(part).decode(), "end": len(data) <= 1000}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
