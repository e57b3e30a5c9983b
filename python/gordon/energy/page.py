"""The page of a metered command: power over time, and the energy of its runs."""

from pathlib import PurePath
from statistics import fmean
from typing import Any, TypedDict

from gordon.energy.account import Account
from gordon.energy.record import Recording, Report
from gordon.energy.session import Row
from gordon.human import duration, figures, spread
from gordon.report import measured
from gordon.report.entries import COUNT, NUMBER, TEXT, Entry, of, with_prefix
from gordon.report.run_figures import TONES, axis, band, layout, level, quantiles, stripe
from gordon.untyped import Spec

#: Points of a line; more samples have a band around their means.
POINTS = 300
#: A phase that is shorter than this part of the session has no name in the chart.
NAMED = 0.15
#: Pixels above the chart for its buttons.
MARGIN = {"l": 64, "r": 28, "t": 40, "b": 52}
#: Fills of the phases of a session.
FILLS = {"idle": "--calm", "run": "--busy", "tail": "--calm"}


def render(recording: Recording) -> str:
    """The page's HTML."""
    report = recording.report
    meters = report["meters"]
    drawn = {
        f"power-{number}": figure
        for number, meter in enumerate(meters)
        if (figure := _power(meter, recording.rows)) is not None
    }
    command = " ".join(report["command"])
    runs = [
        {"number": number, **used} | {f"{m['name']}": m["runs"][number - 1] for m in meters}
        for number, used in enumerate(report["runs"], 1)
    ]
    warnings = [(meter["name"], text) for meter in meters for text in meter["warnings"]]
    warnings += [(meter["name"], meter["error"]) for meter in meters if meter["error"]]
    warnings += [("", text) for text in report["warnings"]]
    return measured.render(
        measured.Page(
            what="meter record",
            subject=command,
            sentence=sentence(report),
            lead=f"{len(runs)} run{'s' if len(runs) > 1 else ''} of "
            f"{duration(report['wall_s']['mean'])}, exit status {report['exit_status']}. Time, "
            f"memory and bytes are measured; energy and power are {_origins(meters)}.",
            figures=drawn,
            notes=dict.fromkeys(
                drawn,
                "Shaded: the idle baseline, the runs and the tail. The dashed line is the idle "
                "power, the grey band around it its standard deviation; a grey band around the "
                "line has nine tenths of the samples where a point is the mean of several.",
            ),
            tables=[
                measured.Table("meters", "Energy and power", meters, _METERS),
                measured.Table("channels", "Channels", _channels(meters), _CHANNELS),
                measured.Table(
                    "runs", "Runs", runs, [*_RUNS, *(_of_meter(m["name"]) for m in meters)]
                ),
            ],
            terms=_TERMS,
            warnings=warnings,
            settings={
                "command": command,
                "interval, s": report["interval_s"],
                "meters": ", ".join(meter["name"] for meter in meters),
                "records": "–" if report["records"] is None else report["records"],
            },
            result=report,
        )
    )


def sentence(report: Report) -> str:
    """The energy of a run by the first meter that measured it."""
    name = PurePath(report["command"][0]).name
    time = duration(report["wall_s"]["mean"])
    for meter in report["meters"]:
        energy, mean = meter["energy_j"], meter["mean_w"]
        if energy is None or mean is None:
            continue
        above = ""
        if meter["above_idle_j"] is not None:
            above = f", {figures(meter['above_idle_j']['mean'])} J of it above idle"
        verb = {"estimated": "drew an estimated", "modelled": "drew a modelled"}.get(
            meter["how"], "drew"
        )
        rate = meter["records_per_joule"]
        records = "" if rate is None else f"; {figures(rate['value'])} records/J"
        return (
            f"{name} {verb} {spread(energy['mean'], energy['sd'])} J in {time} "
            f"({figures(mean['mean'])} W){above}{records}."
        )
    return f"{name} ran for {time}; no meter gave its energy."


def _origins(meters: list[Account]) -> str:
    return ", ".join(dict.fromkeys(f"{meter['how']} ({meter['name']})" for meter in meters))


def _power(meter: Account, rows: list[Row]) -> Spec | None:
    """Watts over time; None if the meter gave no sample of power."""
    own = [
        (row["time_s"], watts, row["phase"])
        for row in rows
        if row["meter"] == meter["name"] and (watts := row["watts"]) is not None
    ]
    if not own:
        return None
    group = -(-len(own) // POINTS)
    parts = [own[at : at + group] for at in range(0, len(own), group)]
    x = [fmean(time for time, _, _ in part) for part in parts]
    y = [fmean(watts for _, watts, _ in part) for part in parts]
    data: list[Spec] = []
    if group > 1:
        data += band("power", x, quantiles([watts for _, watts, _ in own], group), "--cpu")
    data.append(
        {
            "type": "scatter",
            "mode": "lines+markers" if len(x) <= 60 else "lines",
            "name": "power",
            "x": x,
            "y": y,
            "line": {"color": TONES[0], "width": 1.6},
            "marker": {"size": 5},
            "hovertemplate": "%{x:.4~g} s: %{y:.4~g} W<extra></extra>",
        }
    )
    made = layout(
        f"Power by {meter['name']}, {meter['how']}",
        axis("time since the start of the session, s", rangemode="tozero"),
        axis("power, W"),
    )
    made |= {"shapes": [*_phases(meter, rows), *_baseline(meter)], "showlegend": False}
    return {"data": data, "layout": made | {"height": 400, "margin": MARGIN}}


def _phases(meter: Account, rows: list[Row]) -> list[Spec]:
    """A rectangle for each phase, from its first sample to its last."""
    ends: dict[str, tuple[float, float]] = {}
    for row in rows:
        if row["meter"] == meter["name"] and row["phase"]:
            first, _ = ends.get(row["phase"], (row["time_s"], 0.0))
            ends[row["phase"]] = (first, row["time_s"])
    whole = max((row["time_s"] for row in rows), default=0.0)
    return [
        stripe(
            begin,
            end,
            FILLS[phase.partition(" ")[0]],
            layer="below",
            label={
                "text": phase if end - begin > NAMED * whole else "",
                "textposition": "top left",
                "font": {"size": 12},
            },
        )
        for phase, (begin, end) in ends.items()
    ]


def _baseline(meter: Account) -> list[Spec]:
    """The idle power."""
    idle = meter["idle"]
    return [] if idle is None else level(idle["mean_w"], idle["sd_w"] or 0.0)


class ChannelRow(TypedDict):
    """A channel of a meter, the mean of the runs."""

    meter: str
    channel: str
    measures: str
    energy_j: float | None
    idle_w: float | None
    counted: str


def _channels(meters: list[Account]) -> list[ChannelRow]:
    """A row for each channel of a meter that has several: the mean of the runs."""
    rows: list[ChannelRow] = []
    for meter in meters:
        for channel in meter["channels"] if len(meter["channels"]) > 1 else []:
            name = channel["name"]
            of_runs = [run["channels_j"].get(name) for run in meter["runs"]]
            values = [value for value in of_runs if value is not None]
            idle = meter["idle"]
            rest = (None if idle is None else idle["channels_w"]) or {}
            rows.append(
                {
                    "meter": meter["name"],
                    "channel": name,
                    "measures": channel["measures"],
                    "energy_j": fmean(values) if values else None,
                    "idle_w": rest.get(name),
                    "counted": "yes" if channel["counted"] else "no",
                }
            )
    return rows


def _of_meter(name: str) -> Entry[Any]:
    return Entry(name, f"energy by {name}, J", of(name, "energy_j"), NUMBER)


def _spread(*path: str) -> Any:
    """Mean and deviation of a summary."""

    def value(row: Any) -> str | None:
        found = of(*path)(row)
        return None if found is None else spread(found["mean"], found["sd"])

    return value


_BYTES = with_prefix("B")
_METERS: tuple[Entry[Any], ...] = (
    Entry("name", "meter", of("name"), TEXT),
    Entry("how", "source", of("how"), TEXT),
    Entry("energy", "energy, J", _spread("energy_j"), COUNT),
    Entry("mean", "mean W", _spread("mean_w"), COUNT),
    Entry("idle", "idle W", of("idle", "mean_w"), NUMBER),
    Entry("above", "above idle, J", _spread("above_idle_j"), COUNT),
    Entry("tail", "above idle in the tail, J", of("tail", "above_idle_j"), NUMBER),
    Entry("samples", "samples", of("samples"), COUNT),
    Entry("resolution", "resolution, s", of("resolution_s"), NUMBER),
    Entry("records", "records/J", of("records_per_joule", "value"), NUMBER),
)
_CHANNELS: tuple[Entry[Any], ...] = (
    Entry("channel", "channel", of("channel"), TEXT),
    Entry("meter", "meter", of("meter"), TEXT),
    Entry("measures", "measures", of("measures"), TEXT),
    Entry("energy", "energy of a run, J", of("energy_j"), NUMBER),
    Entry("idle", "idle W", of("idle_w"), NUMBER),
    Entry("counted", "in the sum", of("counted"), TEXT),
)
_RUNS: tuple[Entry[Any], ...] = (
    Entry("number", "run", of("number"), COUNT),
    Entry("wall", "time, s", of("wall_s"), NUMBER),
    Entry("user", "user CPU s", of("user_s"), NUMBER),
    Entry("sys", "system CPU s", of("sys_s"), NUMBER),
    Entry("memory", "peak memory", of("max_rss_bytes"), _BYTES),
    Entry("read", "read", of("read_bytes"), _BYTES),
    Entry("written", "written", of("written_bytes"), _BYTES),
    Entry("status", "exit status", of("exit_status"), COUNT),
)
_TERMS = {
    "energy": "Of all that the meter measures, during a run: other programs draw power, too.",
    "idle": "Power before the first run.",
    "above idle": "Energy of a run less idle power times its time.",
    "tail": "Time after the last run, until power is back at idle or "
    "the time of --tail has passed.",
    "resolution": "The time to which the meter knows the ends of a run. A run should have ten "
    "readings at least.",
    "±": "Standard deviation of the runs.",
    "measured": "Read from a meter of the machine.",
    "estimated": "Computed by a part of the machine itself.",
    "modelled": "Computed from the use of the parts and assumed powers.",
    "replayed": "Read from a file.",
}
