"""The rules of JouleSort, as far as they are published, and which of them a result fulfils.

*Paper*: Davis and Rivoire, "Building Energy-Efficient Systems for Sequential I/O Workloads",
section 2.1. *FAQ*: that of sortbenchmark.org, 2011 to 2018. *Entry*: the readme of the entry of
2025 (github.com/adamdeprince/bsort, submission.md), for customs that the FAQ leaves unsaid. Rules
change from year to year: read those of the year before an entry.
"""

from dataclasses import dataclass

from gordon.energy.account import Account
from gordon.joulesort.report import Category, NeedReport, Report
from gordon.options.meters import Benchmark

#: Records of 100 bytes, of which 10 are the key.
RECORD = 100
RUNS = Benchmark.runs
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
class Need:
    """A requirement of an entry."""

    what: str
    have: bool
    now: str
    source: str

    def about(self) -> NeedReport:
        return {"what": self.what, "have": self.have, "now": self.now, "source": self.source}


def category(records: int) -> Category:
    """The category of this number of records: its name (None if it is not one) and its input."""
    return {
        "records": records,
        "name": CATEGORIES.get(records),
        "bytes": records * RECORD,
        "ascii": records <= MOST_ASCII,
    }


def needs(report: Report, meter: Account) -> list[Need]:
    """The rules of an entry, next to this benchmark; `meter` is the account of the result's
    meter."""
    category, skewed, runs = report["category"], report["skewed"], len(report["runs"])
    records = category["records"]
    fine = meter["resolution_s"]
    wall = "the wall" in meter["measures"]
    measured = meter["how"] == "measured"
    held = all(check["held"] is not False for check in report["checks"])
    return [
        Need(
            "one of the categories",
            records in CATEGORIES,
            category["name"] or f"{records:,} records are not a category (1e8, 1e9, 1e10 or 1e12)",
            "Paper; sortbenchmark.org",
        ),
        Need(
            "power of the full system at the wall",
            wall and measured,
            f"{meter['how']}: {meter['measures']} ({meter['name']})",
            "Paper: full-system energy, average wall power times wall-clock time",
        ),
        Need(
            "at least one sample per second",
            fine is not None and fine <= SECOND and measured,
            f"{meter['how']}, "
            + ("interval unknown" if fine is None else f"one sample per {fine:.3g} s"),
            "Paper, 2.2: once per second",
        ),
        Need(
            "a meter of known accuracy, named in the report",
            False,
            "to be described by hand",
            "Entry: that of the Brand Electronics 20-1850/CI of the first JouleSort",
        ),
        Need(
            "the power factor, once per second",
            False,
            "no meter here reports it; energy is computed from watts and does not need it",
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
            "all checks hold" if held else "a check failed",
            "FAQ: output in order, the same records as the input",
        ),
        Need(
            "gensort's input, ASCII up to 1 TB",
            True,  # the generator's own tests compare its bytes with those of gensort
            "the same bytes as gensort's" + (" -a" if category["ascii"] else ""),
            "FAQ: all entrants use gensort or code from it",
        ),
        Need(
            "for Daytona: a run with skewed keys",
            skewed is not None and skewed["held"],
            "not run; give --skewed"
            if skewed is None
            else f"{skewed['time_ratio']:.2f} times the time of the other runs",
            "FAQ: Indy vs. Daytona; gensort -s",
        ),
        Need(
            "checksum and duplicates by valsort itself",
            False,
            "by Gordon's checker, which computes the same sums as valsort",
            "FAQ: measuring the sort",
        ),
        Need(
            "a description: ambient temperature, hardware, its price and all settings",
            False,
            "to be described by hand",
            "Entry: 60 F, and a list of parts with prices",
        ),
    ]
