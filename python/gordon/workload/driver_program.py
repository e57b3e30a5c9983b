"""The driver of a job on local nodes, as a program of its own: `gordon.workload.driver` starts it
in the node of the driver, so that its work is in that node's trace.

It reads JSON, one object a line, from stdin: the request, an object with the job and its session;
then `{"op": "run"}`. To each it replies with one line on stdout. It ends with its stdin. What Spark
prints goes to stderr.
"""

import json
import os
import sys
from pathlib import Path

from gordon.errors import GordonError
from gordon.workload import jobs, session, spark
from gordon.workload.driver import Reply, Request


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def reply(fields: Reply) -> None:
        replies.write(json.dumps(fields) + "\n")
        replies.flush()

    request: Request = json.loads(sys.stdin.readline())
    job, own = jobs.get(request["job"]), request["settings"]
    try:
        name, home = f"gordon {job.id}", Path(request["java_home"])
        with session.opened(name, request["master"], home, own) as spark_session:
            jobs.check_input(spark_session, job, request["inputs"])
            reply({"engine": session.describe(spark_session, request["java_version"], own)})
            if sys.stdin.readline():
                given = (request["inputs"], request["output"], request["parameters"])
                reply({"figures": job.run(spark_session, *given)})
                # The session stays until the capture has ended.
                sys.stdin.readline()
    except GordonError as error:
        reply({"error": {"message": error.message, "hint": error.hint, "kind": error.kind}})
    except spark.errors() as error:
        reply({"failure": str(error)})


if __name__ == "__main__":
    main()
