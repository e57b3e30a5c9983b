"""The screens of `gordon cache serve` and of the commands for a server that runs."""

from typing import TYPE_CHECKING, Literal, get_args

from gordon.cli import say
from gordon.cli.terminal import Output
from gordon.human import counted, duration, figures, percent, short

if TYPE_CHECKING:
    from gordon.cache.live import Listening, Purged
    from gordon.reports.objects import ObjectCacheChecked, ServeStats, Warmed

Result = Literal["dram", "flash", "stale", "revalidated", "miss", "expired", "bypass"]
#: The ways in which requests are served.
RESULTS: tuple[Result, ...] = get_args(Result)


def ready(console: Output, source: str, where: "Listening") -> None:
    console.text(f"{source}: served at")
    for url in where["urls"]:
        console.text(f"  {url}/ (dashboard: {url}/-/cache)")
    if where["socket"] is not None:
        console.text(f"  control socket: {where['socket']}")


def reloaded(error: str | None) -> None:
    if error is None:
        say("the access log and the certificate were read again", kind="note")
    else:
        say(f"not reloaded: {error}", kind="warning")


def stopped(console: Output, stats: "ServeStats") -> None:
    console.text(
        f"stopped after {counted(stats['requests']['requests'], 'request')}; the cache is closed"
    )


def _percent(part: float | None) -> str:
    return "-" if part is None else percent(part)


def stats(console: Output, found: "ServeStats") -> None:
    requests, cache = found["requests"], found["cache"]
    results, bytes_sent = requests["results"], requests["bytes_sent"]
    sent = short(sum(bytes_sent[result] for result in RESULTS), "B")
    console.text(f"{found['source']}: up {duration(found['uptime_s'])}")
    console.text(
        f"requests: {requests['requests']:,}; hit ratio {_percent(found['hit_ratio'])}, of bytes "
        f"{_percent(found['byte_hit_ratio'])}"
    )
    console.text(
        f"served: {results['dram']:,} from DRAM, {results['flash']:,} from flash, "
        f"{results['stale']:,} stale, {results['revalidated']:,} revalidated, {results['miss']:,} "
        f"missed, {results['expired']:,} expired, {results['bypass']:,} not looked up"
    )
    console.text(
        f"bytes: {sent} sent, {short(requests['origin_bytes'], 'B')} fetched; "
        f"{requests['origin_requests']:,} fetches, {requests['origin_failures']:,} failed, "
        f"{counted(requests['collapsed'], 'request')} waited for the fetch of another"
    )
    console.text(
        f"clients: {found['connections']:,} connections of at most "
        f"{found['connections_limit']:,}; {short(found['client_memory'], 'B')} of "
        f"{short(found['client_memory_limit'], 'B')} for bodies; {requests['aborted']:,} responses "
        f"cut off, {requests['refused_for_memory']:,} requests refused"
    )
    console.text(
        f"DRAM: {cache['dram_objects']:,} objects, {short(cache['dram_bytes'], 'B')} of "
        f"{short(cache['dram_capacity'], 'B')}, index {short(cache['index_bytes'], 'B')}"
    )
    if cache["flash_capacity"]:
        console.text(
            f"{'log' if cache['sets'] else 'flash'}: {cache['flash_objects']:,} objects, "
            f"{short(cache['flash_bytes'], 'B')} of {short(cache['log_capacity'], 'B')}; "
            f"{short(cache['written_bytes'], 'B')} written, "
            f"{short(cache['admitted_bytes'], 'B')} admitted; {cache['damaged']:,} damaged objects"
        )
        if cache["sets"]:
            ratios = (cache["index_bytes_per_object"], cache["write_amplification"])
            each, written = ("-" if ratio is None else figures(ratio) for ratio in ratios)
            console.text(
                f"sets: {cache['set_objects']:,} objects in {cache['sets']:,} sets, as far as they "
                f"were used since the start; {each} bytes of index for each object, {written} "
                "bytes written for each byte admitted"
            )
        nand = cache["nand"]
        if nand is not None:
            amplification = nand["write_amplification"]
            console.text(
                f"NAND: {nand['block_erases']:,} erases, {nand['least_erases']:,} to "
                f"{nand['most_erases']:,} per block; {nand['good_blocks']:,} blocks in service, "
                f"{nand['bad_blocks']:,} bad; "
                f"{short(nand['programmed_bytes'], 'B')} programmed, "
                f"{'-' if amplification is None else figures(amplification)} for each byte written"
            )
        budget = cache["budget_bytes_per_day"]
        if budget is not None:
            console.text(
                f"budget: {short(budget, 'B')} a day, {short(cache['written_today_bytes'], 'B')} "
                "written today"
            )
        if cache["expected_life_years"] is not None:
            console.text(f"expected life: {figures(cache['expected_life_years'])} years")
    console.text(f"power (modelled): {figures(found['energy']['mean_w'])} W on average")


def purged(console: Output, path: str, prefix: bool, done: "Purged") -> None:
    where = " in memory, and those in flash" if prefix else ""
    console.text(f"{path}: {counted(done['purged'], 'object')}{where} purged")


def checked(console: Output, found: "ObjectCacheChecked") -> None:
    console.text(
        f"{counted(found['objects'], 'object')}, {short(found['bytes'], 'B')}: "
        f"{found['damaged']:,} damaged"
    )


def warmed(console: Output, done: "Warmed") -> None:
    console.text(
        f"{counted(done['requested'], 'path')} requested: {done['stored']:,} answered, "
        f"{done['failed']:,} failed; {short(done['bytes'], 'B')}"
    )
