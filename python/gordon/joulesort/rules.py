"""The rules of JouleSort, as far as they can be read, and what a result has of them.

*Paper*: Davis and Rivoire, "Building Energy-Efficient Systems for Sequential I/O Workloads",
section 2.1. *FAQ*: that of sortbenchmark.org, 2011 to 2018. *Entry*: the readme of the entry of
2025 (github.com/adamdeprince/bsort, submission.md), for customs that the FAQ leaves unsaid. Rules
change from year to year: read those of the year before an entry.
"""

from dataclasses import asdict, dataclass
from typing import Any

Json = dict[str, Any]

#: Records of 100 bytes, of which 10 are the key.
RECORD = 100
RUNS = 5
#: Records of each category. The paper knows the first three; the entries of today the last, too.
CATEGORIES = {
    10**8: "10^8 records, 10 GB",
    10**9: "10^9 records, 100 GB",
    10**10: "10^10 records, 1 TB",
    10**12: "10^12 records, 100 TB",
}
#: "10GB to 1TB JouleSort entrants are required to generate ascii records" (FAQ of 2011 and 2012).
MOST_ASCII = 10**10
#: A sample a second, by a clock that is not perfect.
SECOND = 1.05


@dataclass(frozen=True)
class Check:
    """Something that has to hold, whether it does (None: nobody looked), how that is known, and
    what is wrong where it does not hold."""

    what: str
    held: bool | None
    how: str
    failure: str

    def about(self) -> Json:
        return asdict(self)


@dataclass(frozen=True)
class Need:
    """Something an entry has to have."""

    what: str
    have: bool
    now: str
    source: str

    def about(self) -> Json:
        return asdict(self)


def category(records: int) -> Json:
    """Its name, where it is one, and what its input is."""
    return {
        "records": records,
        "name": CATEGORIES.get(records),
        "bytes": records * RECORD,
        "ascii": records <= MOST_ASCII,
    }


def needs(report: Json, meter: Json) -> list[Need]:
    """What an entry needs, next to what this benchmark has; `meter` is the account of the result's
    meter."""
    records = report["category"]["records"]
    fine = meter["resolution_s"]
    wall = meter["measures"].endswith("the wall")
    measured = meter["how"] == "measured"
    runs, skewed = len(report["runs"]), report["skewed"]
    held = all(check["held"] is not False for check in report["checks"])
    return [
        Need(
            "one of the categories",
            records in CATEGORIES,
            report["category"]["name"] or f"{records:,} records are none: 1e8, 1e9, 1e10, 1e12",
            "Paper; sortbenchmark.org",
        ),
        Need(
            "power of the full system at the wall",
            wall and measured,
            f"{meter['how']}: {meter['measures']} ({meter['name']})",
            "Paper: full-system energy, average wall power times wall-clock time",
        ),
        Need(
            "a sample a second at least",
            fine is not None and fine <= SECOND and measured,
            f"{meter['how']}, {'unknown' if fine is None else f'one each {fine:.3g} s'}",
            "Paper, 2.2: once per second",
        ),
        Need(
            "a meter of known accuracy, named in the report",
            False,
            "to be told in words",
            "Entry: that of the Brand Electronics 20-1850/CI of the first JouleSort",
        ),
        Need(
            "power factor, once a second",
            False,
            "no meter here reports it; energy is of watts and does not need it",
            "Paper, 2.2: power and power factor once per second",
        ),
        Need(
            f"means over {RUNS} consecutive runs",
            runs >= RUNS,
            f"{runs} runs",
            "Paper: average power and time over five consecutive benchmark runs",
        ),
        Need(
            "all checks of each run hold",
            held,
            "they do" if held else "they do not",
            "FAQ: output in order, the same records as the input",
        ),
        Need(
            "gensort's input, ASCII up to 1 TB",
            True,  # the generator's bytes are held against gensort's by its own tests
            "the same bytes as gensort's" + (" -a" if report["category"]["ascii"] else ""),
            "FAQ: all entrants use gensort or code from it",
        ),
        Need(
            "for Daytona: skewed keys, too",
            skewed is not None and bool(skewed["held"]),
            "not tried: --skewed"
            if skewed is None
            else f"{skewed['time_ratio']:.2f} times the time of the others",
            "FAQ: Indy vs. Daytona; gensort -s",
        ),
        Need(
            "checksum and duplicates by valsort itself",
            False,
            "by Gordon's checker, which has valsort's sums",
            "FAQ: measuring the sort",
        ),
        Need(
            "ambient temperature, told with the hardware, its price and all settings",
            False,
            "to be told in words",
            "Entry: 60 F, and a list of parts with prices",
        ),
    ]
