"""The screen of a survey of machines: time, price and energy of each, and the verdict."""

from gordon.cli import warn
from gordon.cli.designs_view import ALL_CORES, RANGE, interval, legend, table
from gordon.cli.terminal import Output
from gordon.human import counted, duration, short
from gordon.survey import entries
from gordon.survey.doubts import described
from gordon.survey.machines import (
    MODEL,
    compared,
    in_nodes,
    is_notable,
    noun,
    outcome,
    recommended,
    remarks,
)
from gordon.survey.prices import dated
from gordon.survey.results import JobResult

#: The entries on the screen, with what is left out of a narrow one.
SPARE = {
    "all_cores": 5,
    "speed": 6,
    "time": 0,
    "interval": 1,
    "price": 0,
    "month": 2,
    "energy": 3,
    "limit": 4,
}
#: Cells of two remarks.
_TWO_REMARKS = len("cheapest, little memory,")


def show_machines(console: Output, result: JobResult, show_all: bool) -> None:
    """The table, the verdict, and the warnings."""
    rows = result["designs"]
    chosen = recommended(result)
    shown = [r for r in rows if show_all or r["pareto"] or is_notable(r, chosen)]
    shown.sort(key=lambda r: outcome(r)["time_s"])
    console.text(
        f"{counted(result['designs_total'], noun(rows))} of {result['space']['name']}, "
        f"{in_nodes(result)}; times by the {result['model']} model{dated(result)}"
    )
    listed = [*entries.machines(result), ALL_CORES, interval(MODEL)]
    spare = SPARE | entries.asked(result)
    console.table(table("machine", shown, listed, spare, remarks, _TWO_REMARKS))
    text = legend(result, compared(result), bool(result["front"]), len(shown))
    console.text(f"{text}; {RANGE}")
    console.text(result["sentence"])
    if standby := _standby(result):
        console.text(standby)
    if result["ranking"] is not None:
        console.text(described(result["ranking"]))
    warn(result["warnings"], [trace["path"] for trace in result["traces"]])


def _standby(result: JobResult) -> str:
    """The most that standby of disks saves, or would save; empty if no disk would sleep."""
    found = [(row, slept) for row in result["designs"] if (slept := row["job"].get("spin_down"))]
    is_vain = any(slept["is_used"] and slept["starts"] for _, slept in found)
    found = [(row, slept) for row, slept in found if (slept["saved_j"] or 0) > 0]
    if not found:
        return "standby saves energy on no design: the gaps are too short" if is_vain else ""
    row, slept = max(found, key=lambda pair: pair[1]["saved_j"] or 0)
    energy, saved = row["job"]["energy_j"] or 0, slept["saved_j"] or 0
    awake = energy + saved if slept["is_used"] else energy
    how = "saves" if slept["is_used"] else "would save"
    text = (
        f"standby {how} up to {short(saved, 'J')} ({saved / awake:.1%}) of a run, on {row['id']}: "
        f"{counted(slept['starts'], 'stop')} of each disk, {duration(slept['asleep_s'])} asleep, "
        f"{duration(slept['waiting_s'])} of waiting"
    )
    return text if slept["is_used"] else f"{text}: --spin-down auto"
