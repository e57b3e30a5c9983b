"""An agent that answers as an argument says: for tests of what runs do when agents fail.

The clock is OFFSET nanoseconds ahead. `start` writes nothing; `stop` reports a trace of each scope.
"""

import base64
import json
import os
import sys
import time
from typing import Any

from gordon import __version__


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
                totals = {"cpu_s": 1.0, "read_bytes": 2, "write_bytes": 3, "rx_bytes": 0}
                reply["traces"] = [
                    {
                        "name": scope["name"],
                        "folder": f"/far/{scope['name']}",
                        "files": [{"file": "manifest.json", "bytes": 3}],
                        "warnings": [],
                        "totals": totals | {"tx_bytes": 0},
                    }
                    for scope in scopes
                ]
                machine = {"cpu_s": 0.5} if how == "counts-twice" else {"cpu_s": 2.0}
                reply["machine"] = totals | {"tx_bytes": 0} | machine
            case "fetch":
                data = b"{}\n"[request["offset"] :]
                reply |= {"base64": base64.b64encode(data).decode(), "end": True}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
