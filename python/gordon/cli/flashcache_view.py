"""The screen of a replay through a FlashCache."""

from typing import Literal

from gordon.cache import flashcache
from gordon.cli.cache_view import begin
from gordon.cli.terminal import Column, Output
from gordon.disk.mechanism import mechanism
from gordon.human import binary, duration, figures, percent, short
from gordon.reports.cache import FlashCacheReport, HeadReport, RoadmapReport

Level = Literal["dram", "buffer", "flash", "backend", "written"]
LEVELS: dict[Level, str] = {
    "dram": "DRAM",
    "buffer": "write buffer",
    "flash": "flash",
    "backend": "backend",
    "written": "newly written",
}
Power = Literal[flashcache.PowerPart, "total_w"]
Time = Literal["mean", "p50", "p99", "max"]
POWER: list[tuple[Power, str]] = [*flashcache.POWER.items(), ("total_w", "total")]


def show(console: Output, report: FlashCacheReport) -> None:
    """Where things were found, time, flash, wear, power, area and cost."""
    name = (
        f"flashcache, {binary(report['dram_bytes'])} DRAM ({report['dram_policy']}), "
        f"{binary(report['flash_bytes'])} flash"
    )
    more = (
        f"; {figures(report['bandwidth_mb_s'])} MB/s, {figures(report['requests_per_s'])} "
        f"requests/s over {duration(report['simulated_s'])}"
    )
    begin(console, report, name, more)
    if report["requests"]:
        console.table(_levels(report))
    _flash(console, report)
    backend = report["backend"]
    console.text(
        f"{backend['kind']}: {backend['reads']:,} reads, {short(backend['bytes_read'], 'B')}; "
        f"{backend['writes']:,} writes, {short(backend['bytes_written'], 'B')}; busy "
        f"{backend['busy']:.1%} of the time"
    )
    if backend["head"] is not None:
        _head(console, backend["head"], report["simulated_s"])
    console.table(_power(report))
    area, cost = report["area"], report["cost"]
    console.text(
        f"die area {figures(area['total_cm2'])} cm2: DRAM {figures(area['dram_cm2'])}, flash "
        f"{figures(area['flash_cm2'])}; cost {figures(cost['total_usd'])} $: DRAM "
        f"{figures(cost['dram_usd'])}, flash {figures(cost['flash_usd'])}"
    )
    if report["roadmap"]:
        console.text(
            "roadmap: density relative to DRAM, die area of this DRAM and flash, retention, "
            "lifetime"
        )
        console.table(_roadmap(report["roadmap"]))


def _roadmap(years: list[RoadmapReport]) -> list[Column]:
    """Table 2 of the paper: density relative to DRAM, die area, endurance, retention, lifetime."""

    def cells(
        key: Literal["nand_slc_density", "nand_mlc_density", "nor_density", "years"],
    ) -> list[str]:
        return ["–" if value is None else figures(value) for value in (y[key] for y in years)]

    def area(key: Literal["area", "area_mlc"]) -> list[str]:
        areas = [year[key] for year in years]
        return ["–" if area is None else figures(area["total_cm2"]) for area in areas]

    def keeps(year: RoadmapReport) -> str:
        least, most = year["retention_years_min"], year["retention_years_max"]
        if least is None:
            return "–"
        return f"{least}" if least == most else f"{least} to {most}"

    return [
        Column("year", [f"{year['year']}" for year in years]),
        Column("SLC density", cells("nand_slc_density"), right=True),
        Column("MLC density", cells("nand_mlc_density"), right=True),
        Column("NOR density", cells("nor_density"), right=True),
        Column("SLC cm2", area("area"), right=True),
        Column("MLC cm2", area("area_mlc"), right=True),
        Column("erases", [f"{year['endurance']:,}" for year in years], right=True),
        Column("retention, years", [keeps(year) for year in years], right=True),
        Column("lifetime, years", cells("years"), right=True),
    ]


def _levels(report: FlashCacheReport) -> list[Column]:
    rows = [(name, report["levels"][key]) for key, name in LEVELS.items()]
    rows = [(name, level) for name, level in rows if level["requests"]]

    def times(which: Time) -> list[str]:
        each = [*(level["latency_us"][which] for _, level in rows), report["latency_us"][which]]
        return ["" if time is None else figures(time) for time in each]

    return [
        Column("level", [*(name for name, _ in rows), "all"]),
        Column(
            "requests",
            [*(f"{level['requests']:,}" for _, level in rows), f"{report['requests']:,}"],
            right=True,
        ),
        Column("share", [*(f"{level['share']:.2%}" for _, level in rows), ""], right=True),
        Column(
            "share of bytes", [*(f"{level['byte_share']:.2%}" for _, level in rows), ""], right=True
        ),
        Column("mean us", times("mean"), right=True),
        Column("p50", times("p50"), right=True),
        Column("p99", times("p99"), right=True),
        Column("max", times("max"), right=True),
    ]


def _flash(console: Output, report: FlashCacheReport) -> None:
    flash, table, wear = report["flash"], report["table"], report["wear"]
    if flash is None or wear is None:
        return
    ratio = table["hit_ratio"]
    hits = "" if ratio is None else f", {ratio:.2%} of the searches for reads hit"
    console.text(
        f"table: {table['lookups']:,} searches of {table['lookup_ns']} ns{hits}; a miss fetches a "
        f"{'logical block' if report['fill'] == 'block' else report['unit']}"
    )
    console.text(
        f"flash: {figures(flash['accesses_per_s'])} accesses/s, {flash['pages_read']:,} pages "
        f"read, {flash['pages_programmed']:,} programmed, {flash['erases']:,} erases; busy "
        f"{flash['busy']:.1%} of the time"
    )
    console.text(
        f"wear: {wear['evictions']:,} evictions, {figures(wear['mean'])} per block, standard "
        f"deviation {figures(wear['standard_deviation'])}, {wear['min']:,} to {wear['max']:,}; hot "
        f"blocks spared {wear['block_rule_fired']:,} times, hot sets swapped "
        f"{wear['set_rule_fired']:,} times"
    )
    ecc = wear["ecc"]
    if ecc is not None and ecc["correctable"] != ecc["rated_correctable"]:
        console.text(
            f"  ECC corrects {ecc['correctable']} bits per codeword, the rated endurance assumes "
            f"{ecc['rated_correctable']}: {figures(ecc['endurance_gain'])} times the erases; "
            f"decoding takes {figures(ecc['decode_us'])} us per page"
        )
    if wear["lifetime_span_s"] is not None:
        span = duration(wear["lifetime_span_s"])
        console.text(f"  lifetimes are extrapolated from {span} with full flash")
    for life in wear["lifetimes"]:
        lasts = f"{percent(life['endurance_used'])} of rated endurance used"
        if life["years"] is not None:
            lasts = f"{_years(life['years'])}, the first block "
            first = life["first_block_years"]
            lasts += "never" if first is None else _years(first)
        console.text(
            f"  {life['endurance']:,} erases per block: {lasts}; worst case "
            f"{_years(life['worst_case_years'])}"
        )


def _head(console: Output, head: HeadReport, simulated_s: float) -> None:
    """How a simulated disk's head spent the time."""
    spent = mechanism(head["mechanism_s"])
    parts = (f"{spent[part] / simulated_s:.1%} {part}" for part in spent) if simulated_s else ()
    energy = "" if head["energy_j"] is None else f"; {figures(head['energy_j'])} J"
    console.text(f"  {head['disk']}: {', '.join(parts)}{energy}")
    console.text(
        f"  {head['positionings']:,} positionings; {head['buffer_hits']:,} reads served from the "
        f"buffer, {head['read_ahead_hits']:,} from read-ahead; data laid out: {head['places']}"
    )


def _years(years: float) -> str:
    return f"{figures(years)} years"


def _power(report: FlashCacheReport) -> list[Column]:
    modes = (report["power_active"], report["power_down"])
    shown = [(key, name) for key, name in POWER if any(mode[key] for mode in modes)]
    each = [
        "" if mode["energy_per_request_j"] is None else _microjoules(mode["energy_per_request_j"])
        for mode in modes
    ]

    def cells(which: int) -> list[str]:
        return [*(_milliwatts(modes[which][key]) for key, _ in shown), each[which]]

    return [
        Column("power", [*(name for _, name in shown), "energy per request"]),
        Column("DRAM ready", cells(0), right=True),
        Column("DRAM powered down", cells(1), right=True),
    ]


def _milliwatts(watts: float) -> str:
    return f"{figures(watts * 1e3)} mW"


def _microjoules(joules: float) -> str:
    return f"{figures(joules * 1e6)} uJ"
