"""Traces: record a command, read requests, convert between formats.

    import gordon.trace
    made = gordon.trace.record(["sort", "in", "-o", "out"], "sort.trace")
    made["exit_status"], gordon.trace.summary("sort.trace").to_pandas("samples")
    requests = gordon.trace.read("web.csv.gz")
    requests.names(), len(requests)  # polars.DataFrame(requests), pyarrow.table(requests)
    gordon.trace.convert("web.csv.gz", "web.trace")

A trace is a folder of `record`, or a file in one of `formats()`. A failure raises
`gordon.GordonError`.
"""

from gordon._core import Table
from gordon.trace.convert import anonymise, convert, formats, read
from gordon.trace.record import record
from gordon.trace.result import ActivityResult, AnonymiseResult, ConvertResult, RecordResult
from gordon.trace.summary import Shown, SummaryResult, summary

__all__ = [
    "ActivityResult",
    "AnonymiseResult",
    "ConvertResult",
    "RecordResult",
    "Shown",
    "SummaryResult",
    "Table",
    "anonymise",
    "convert",
    "formats",
    "read",
    "record",
    "summary",
]


def __dir__() -> list[str]:
    return __all__
