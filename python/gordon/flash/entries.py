"""Entries that the screens and the pages of runs on flash devices list."""

from dataclasses import replace
from typing import Any

from gordon.human import percent
from gordon.report.entries import NUMBER, SECONDS, SHARE, Entry, Unit, of, with_prefix
from gordon.report.run_entries import BANDWIDTH, SIMULATED, at, latency

_BYTES, _JOULES, _YEARS = with_prefix("B"), with_prefix("J"), with_prefix("years")
_PERCENT = Unit(percent, percent)
AMPLIFICATION: Entry[Any] = Entry(
    "write_amplification_bytes",
    "write amplification, bytes",
    of("write_amplification_bytes"),
    NUMBER,
    short="write amp., bytes",
)
ERASES: Entry[Any] = Entry("erases", "super-blocks erased", of("erases"), NUMBER, short="erases")
ENDURANCE: Entry[Any] = Entry(
    "endurance_used", "rated endurance used", of("endurance_used"), _PERCENT, short="endurance used"
)
LIFETIME: Entry[Any] = Entry("lifetime_years", "lifetime", of("lifetime_years"), _YEARS)
ENERGY: Entry[Any] = Entry("energy_j", "total", of("energy_j"), _JOULES, short="energy")

CAPACITY: tuple[Entry[Any], ...] = (
    Entry("raw", "raw", of("raw_capacity_bytes"), _BYTES),
    Entry("exported", "exported", of("exported_capacity_bytes"), _BYTES),
    Entry("spare", "spare", of("spare_capacity_bytes"), _BYTES),
)
PAGES: tuple[Entry[Any], ...] = (
    Entry("write_amplification", "write amplification, pages", of("write_amplification"), NUMBER),
    AMPLIFICATION,
    *(
        Entry(key, title, of("pages", key), NUMBER)
        for key, title in (
            ("host_read", "read for the host"),
            ("host_program", "programmed with host data"),
            ("gc_read", "read by garbage collection"),
            ("gc_program", "copied by garbage collection"),
            ("merge_read", "read for a read-modify-write"),
            ("wear_program", "copied by wear levelling"),
            ("summary_program", "summaries"),
            ("log_program", "trim journal"),
            ("padding", "padding (empty slots)"),
        )
    ),
    Entry("buffered", "still in the write buffer at the end", of("buffered_at_end"), NUMBER),
    Entry("combined", "writes combined", of("combined"), NUMBER),
    Entry("bypassed", "reads bypassed", of("bypassed"), NUMBER),
    Entry("unmapped", "reads of unmapped pages", of("unmapped_reads"), NUMBER),
)
WEAR: tuple[Entry[Any], ...] = (
    ERASES,
    Entry("most", "most erases of a super-block", of("wear", "max_erases"), NUMBER),
    Entry("fewest", "fewest erases of a super-block", of("wear", "min_erases"), NUMBER),
    Entry("rated", "rated erases of a super-block", of("wear", "erase_budget"), NUMBER),
    Entry(
        "survival",
        "super-blocks that reach the rated erases",
        of("wear", "super_block_survival"),
        SHARE,
    ),
    Entry("grown_bad", "grown bad blocks", of("grown_bad"), NUMBER),
    ENDURANCE,
    Entry("span", "duration of the load, s", of("lifetime_span_s"), SECONDS),
    LIFETIME,
    Entry("first_block", "lifetime of the first block", of("first_block_years"), _YEARS),
    Entry("left", "bytes that can be programmed", of("lifetime_writes_bytes"), _BYTES),
)
UTILISATION: tuple[Entry[Any], ...] = (
    *(
        Entry(key, title, of("utilisation", key), SHARE)
        for key, title in (
            ("bus", "buses"),
            ("die", "dies"),
            ("die_read", "dies reading"),
            ("die_write", "dies programming, erasing"),
            ("controller", "controller"),
            ("collecting", "garbage collection active"),
        )
    ),
    Entry("collecting_s", "garbage collection active, s", of("collecting_s"), SECONDS),
)
TABLES: tuple[Entry[Any], ...] = (
    Entry(
        "table",
        "mapping table (L2P) of the device, 4 bytes per raw page",
        of("lba_table_bytes"),
        _BYTES,
    ),
    Entry("startup", "time to rebuild it at power on, s", of("startup_s"), SECONDS),
    Entry("map", "map of the simulator", of("map_memory_bytes"), _BYTES),
)
#: A comparison, by the names of its ratios.
COMPARED: tuple[Entry[Any], ...] = (
    SIMULATED,
    BANDWIDTH,
    at(latency("p99"), "read", title="read p99 us", key="read_p99_us"),
    at(latency("p99"), "write", title="write p99 us", key="write_p99_us"),
    AMPLIFICATION,
    ERASES,
    ENERGY,
    replace(ENDURANCE, value=lambda report: report["endurance_used"] or None),
    LIFETIME,
)
