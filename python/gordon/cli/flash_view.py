"""The screens of runs on flash devices."""

from typing import TYPE_CHECKING

from gordon.cli import run_view, say
from gordon.cli.terminal import Output
from gordon.flash.entries import COMPARED
from gordon.human import binary, counted, duration, figures, lifetime, short
from gordon.reports.devices import FlashRun, WaReport

if TYPE_CHECKING:
    from gordon.flash import Result
    from gordon.results import Comparison


#: Figures of a comparison that a narrow terminal lacks, the last ones first.
SPARE = (
    "write_p99_us",
    "read_p99_us",
    "write_amplification_bytes",
    "energy_j",
    "lifetime_years",
    "erases",
    "endurance_used",
)
FAR = 0.05
"""Relative deviation from theory above which the screen explains it."""


def show(console: Output, result: "Result") -> None:
    """The run's figures, and its warnings on stderr."""
    run_view.show(console, result, _device(result.report))


def _device(report: FlashRun) -> list[str]:
    raw, spare = report["raw_capacity_bytes"], report["spare_capacity_bytes"]
    exported = report["exported_capacity_bytes"]
    lines = [
        f"capacity: {short(raw, 'B')} raw, {short(exported, 'B')} exported, {short(spare, 'B')} "
        f"spare ({spare / exported:.1%} of the exported)"
    ]
    if report["write_amplification"] is not None:
        lines.append(_amplification(report))
    wear, pages = report["wear"], report["pages"]
    lines.append(
        f"pages of {binary(report['page_bytes'])}: host read {pages['host_read']:,}, "
        f"programmed {pages['host_program']:,}; garbage collection read {pages['gc_read']:,}, "
        f"programmed {pages['gc_program']:,}; read-modify-write read {pages['merge_read']:,}; "
        f"{report['combined']:,} writes combined, {report['bypassed']:,} reads bypassed"
    )
    lines.append(
        f"erases {report['erases']:,}; per block {wear['min_erases']:,} to "
        f"{wear['max_erases']:,}, mean {figures(wear['mean_erases'])}, rated "
        f"{wear['erase_budget']:,}"
    )
    busy = report["utilisation"]
    if busy["die"] is not None:
        lines.append(
            f"busy: buses {busy['bus']:.0%}, dies {busy['die']:.0%} (reading "
            f"{busy['die_read']:.0%}, programming and erasing {busy['die_write']:.0%}), "
            f"controller {busy['controller']:.0%}; garbage collection active "
            f"{busy['collecting']:.0%} of the time, {duration(report['collecting_s'])}"
        )
    energy = sorted(report["energy_by_part_j"].items(), key=lambda part: -part[1])
    parts_j = ", ".join(f"{part.replace('_', ' ')} {short(j, 'J')}" for part, j in energy)
    lines.append(f"energy {short(report['energy_j'], 'J')}: {parts_j}")
    lines.append(_lifetime(report))
    lines.append(
        f"mapping table (L2P) of the device {figures(report['lba_table_bytes'] / 2**20)} MiB, "
        f"4 bytes per raw page, rebuilt in {_known(report['startup_s'])} at power on; "
        f"map of the simulator {short(report['map_memory_bytes'], 'B')}"
    )
    return lines


def _known(seconds: float | None) -> str:
    return "an unknown time" if seconds is None else duration(seconds)


#: Share of padding from which the line of write amplification says what padding is.
MUCH_PADDING = 0.05


def _amplification(report: FlashRun) -> str:
    """Write amplification by bytes, and by pages with its causes, which sum to it."""
    pages, in_bytes = report["write_amplification"], report["write_amplification_bytes"]
    parts = report["write_amplification_by_cause"].items()
    causes = ", ".join(f"{name.replace('_', ' ')} {share:.3f}" for name, share in parts if share)
    if report["write_amplification_by_cause"]["padding"] >= MUCH_PADDING:
        causes += " (empty slots of programs that could not wait for more writes)"
    by_pages = f"{pages:.3f} per page programmed for the host: {causes}"
    if in_bytes is None:
        return f"write amplification {by_pages}"
    return f"write amplification {figures(in_bytes)} (bytes programmed / host bytes); {by_pages}"


def _lifetime(report: FlashRun) -> str:
    if report["worn_out"]:
        return f"worn out: {counted(report['failed_requests'], 'request')} failed"
    left = short(report["lifetime_writes_bytes"], "B")
    if report["endurance_used"] == 0:
        return f"lifetime: unknown, nothing was programmed; {left} can be programmed"
    written = short(report["write"]["bytes"], "B")
    years, span = report["lifetime_years"], duration(report["lifetime_span_s"])
    text = lifetime(report["endurance_used"], years, written, span)
    if report["first_block_years"] is not None:
        text += f", of the first block {short(report['first_block_years'], 'years')}"
    return f"{text}; {left} can be programmed"


def compared(console: Output, comparison: "Comparison[Result]") -> None:
    """Prints a row per device, with the ratios to the first device in brackets."""
    run_view.compared(console, comparison, COMPARED, SPARE)


def amplified(console: Output, report: WaReport) -> None:
    """Write amplification and what theory says."""
    config, theory = report["config"], report["theory"]
    console.text(
        f"write amplification {report['write_amplification']:.3f}, modelled: {config['policy']}, "
        f"rho {config['rho']:g}, {config['blocks']:,} blocks of {config['pages_per_block']} pages"
    )
    hot = config.get("hot_cold")
    if hot is not None:
        console.text(f"{hot['share']:.0%} of the writes go to {hot['space']:.0%} of the pages")
    if theory is not None:
        off = report["write_amplification"] / theory - 1
        console.text(
            f"theory for uniform writes {theory:.3f}; the simulation differs by {off:+.1%}"
        )
        if abs(off) > FAR:
            spare = figures((1 - config["rho"]) * config["blocks"])
            console.text(
                f"the theory assumes an infinite array; here stale pages fill {spare} blocks only: "
                "more --blocks come closer to it"
            )
    pages = report["pages"]
    console.text(
        f"counted over {pages['host_program']:,} host pages and {pages['gc_program']:,} copies, "
        f"after a warm-up of {report['warm_up_writes']:,} writes"
    )
    if not report["converged"]:
        say("the steady state was not reached", "more --blocks, or a smaller --rho", kind="warning")
