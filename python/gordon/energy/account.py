"""Accounts of a session's samples: joules, watts, and doubts about them, for each meter."""

from bisect import bisect_right
from collections.abc import Iterable
from statistics import fmean
from typing import TypedDict

from gordon.energy.meter import MeterAbout
from gordon.energy.sampler import Sampler
from gordon.energy.series import Series, Span, Summary, deviation, summary
from gordon.energy.session import Session

#: A run of fewer readings than this is reported with a warning: each end is known to one reading.
FEW = 10
#: The tail ends where this much of what the run drew above idle is left.
BACK = 0.05
#: A tail of more than this, of the energy above idle, is warned of.
LARGE_TAIL = 0.1
#: A baseline of a model above this many times its parts at rest causes a warning (assumed).
ABOVE_REST = 1.1
#: A meter whose values change less often than this factor of the sampling interval is slow.
SLOWER = 1.5


class Gap(TypedDict):
    """Readings that failed, from the sample before them to the one after."""

    begin_s: float
    end_s: float | None
    readings: int
    why: str


class Idle(TypedDict):
    """The idle baseline."""

    mean_w: float
    sd_w: float | None
    seconds: float
    #: Mean watts of each channel; None for a meter of power.
    channels_w: dict[str, float] | None


class RunEnergy(TypedDict):
    """The energy of a run; None if it is unknown."""

    energy_j: float | None
    mean_w: float | None
    above_idle_j: float | None
    samples: int
    channels_j: dict[str, float | None]


class Tail(TypedDict):
    """The time after the last run."""

    seconds: float
    energy_j: float
    above_idle_j: float
    share_of_above_idle: float
    back_at_idle: bool


class Efficiency(TypedDict):
    """Records per joule."""

    value: float
    sd: float | None
    runs: list[float]


class Account(MeterAbout):
    """The account of a meter."""

    samples: int
    interval_s: float | None
    resolution_s: float | None
    gaps: list[Gap]
    idle: Idle | None
    runs: list[RunEnergy]
    energy_j: Summary | None
    mean_w: Summary | None
    above_idle_j: Summary | None
    tail: Tail | None
    records_per_joule: Efficiency | None
    #: The error that ended the meter.
    error: str | None
    warnings: list[str]


def of(session: Session, records: float | None = None) -> list[Account]:
    """The accounts of a session, one per meter."""
    return [_meter(session, sampler, records) for sampler in session.samplers]


def _meter(session: Session, sampler: Sampler, records: float | None) -> Account:
    series, meter = sampler.series, sampler.meter
    idle = _idle(series, session.idle)
    runs = [_run(series, used.span, idle) for used in session.runs]
    walls = [used.span.seconds for used in session.runs]
    known = [run for run in runs if run["energy_j"] is not None]
    account: Account = {
        **meter.about(),
        "samples": len(series.times),
        "interval_s": series.interval(),
        "resolution_s": resolution(series),
        "gaps": _gaps(session, series),
        "idle": idle,
        "runs": runs,
        "energy_j": summary(_values(run["energy_j"] for run in known)),
        "mean_w": summary(_values(run["mean_w"] for run in known)),
        "above_idle_j": summary(_values(run["above_idle_j"] for run in known)),
        "tail": _tail(series, session, idle, known),
        "records_per_joule": _efficiency(records, known, walls),
        "error": sampler.error.message if sampler.error else None,
        "warnings": [],
    }
    account["warnings"] = [*meter.warnings, *_doubts(session, series, account)]
    return account


def _values(values: Iterable[float | None]) -> list[float]:
    """The known ones of these values."""
    return [value for value in values if value is not None]


def _gaps(session: Session, series: Series) -> list[Gap]:
    """Readings that failed, those in a row as one gap: from the sample before to the one after."""
    gaps: list[Gap] = []
    last = -1
    for at, why in series.missed:
        after = bisect_right(series.times, at)
        if after != last:
            begin = series.times[after - 1] if after > 0 else at
            end = series.times[after] if after < len(series.times) else None
            gaps.append(
                {
                    "begin_s": session.since(begin),
                    "end_s": None if end is None else session.since(end),
                    "readings": 0,
                    "why": why,
                }
            )
        gaps[-1]["readings"] += 1
        last = after
    return gaps


def _idle(series: Series, span: Span | None) -> Idle | None:
    """The baseline, to the last sample of the idle time: the next one is of the first run."""
    if span is None:
        return None
    inside = [at for at in series.times if span.begin <= at <= span.end]
    if not inside:
        return None
    span = Span(span.begin, inside[-1])
    mean = series.mean(span)
    if mean is None:
        return None
    return {
        "mean_w": mean,
        "sd_w": deviation([watts for _, watts in series.within(span)]),
        "seconds": span.seconds,
        "channels_w": _channels(series, span),
    }


def _channels(series: Series, span: Span) -> dict[str, float] | None:
    """Mean watts of each channel; None of a meter of power, which has one."""
    if series.meter.kind != "energy":
        return None
    return {
        channel.name: series.rate(span, joules)
        for channel, joules in zip(series.meter.channels, series.channels, strict=True)
    }


def _run(series: Series, span: Span, idle: Idle | None) -> RunEnergy:
    energy = series.energy(span)
    return {
        "energy_j": energy,
        "mean_w": series.mean(span),
        "above_idle_j": None
        if energy is None or idle is None
        else energy - idle["mean_w"] * span.seconds,
        "samples": sum(span.begin <= at <= span.end for at in series.times),
        "channels_j": {
            channel.name: series.energy(span, number)
            for number, channel in enumerate(series.meter.channels)
        },
    }


def _tail(
    series: Series, session: Session, idle: Idle | None, known: list[RunEnergy]
) -> Tail | None:
    """The time from the end of the last run until its power is back at idle, or as long as was
    waited."""
    if session.tail is None or idle is None or not known:
        return None
    rest, mean, whole = idle["mean_w"], known[-1]["mean_w"], known[-1]["above_idle_j"]
    if mean is None or whole is None:
        return None
    level = rest + max(BACK * (mean - rest), 2 * (idle["sd_w"] or 0.0))
    end, settled = session.tail.end, False
    for at, watts in series.within(session.tail):
        if watts <= level:
            end, settled = at, True
            break
    span = Span(session.tail.begin, end)
    energy = series.energy(span)
    if energy is None:
        return None
    above = energy - rest * span.seconds
    return {
        "seconds": span.seconds,
        "energy_j": energy,
        "above_idle_j": above,
        "share_of_above_idle": above / (above + whole) if whole > 0 and above > 0 else 0.0,
        "back_at_idle": settled,
    }


def _efficiency(
    records: float | None, known: list[RunEnergy], walls: list[float]
) -> Efficiency | None:
    """Records over mean power times mean time, as the benchmark has it; and of each run."""
    if not records or not known or len(known) < len(walls):
        return None
    watts, each = _values(run["mean_w"] for run in known), _values(run["energy_j"] for run in known)
    power = fmean(watts) if watts else 0.0
    if power <= 0 or min(each) <= 0:
        return None
    rates = [records / joules for joules in each]
    return {"value": records / (power * fmean(walls)), "sd": deviation(rates), "runs": rates}


def resolution(series: Series) -> float | None:
    """The time resolution of a run's ends, in seconds: for a counter that is read at both ends, the
    interval of its own values; for power, the sampling interval."""
    interval, seen, own = series.interval(), series.update(), series.meter.update_s
    if interval is None:
        return own
    slower = seen if seen is not None and seen > SLOWER * interval else 0.0
    if series.meter.kind == "energy":
        return max(own if own is not None else interval, slower)
    return max(own or 0.0, interval)


def _doubts(session: Session, series: Series, account: Account) -> list[str]:
    """Reasons to doubt the account."""
    found = []
    runs, fine = account["runs"], account["resolution_s"]
    if series.missed:
        count, (_, why) = len(series.missed), series.missed[-1]
        found.append(
            f"{count} reading{'s' * (count > 1)} failed, so that samples are missing; the last: "
            f"{why}"
        )
    missing = sum(not series.covers(used.span) for used in session.runs)
    if missing:
        found.append(
            f"samples cover only {len(runs) - missing} of {len(runs)} runs from beginning to end"
        )
    shortest = min((used.span.seconds for used in session.runs), default=0.0)
    if fine is not None and runs and shortest < FEW * fine and missing < len(runs):
        found.append(
            f"a run of {shortest:.3g} s has only {shortest / fine:.2g} readings of this meter (one "
            f"per {fine:.3g} s): use longer runs, or a shorter --interval if the meter allows"
        )
    if len(series.times) == 1 and missing < len(runs):
        found.append("there is only one sample: its power is assumed for a whole run")
    if any(run["energy_j"] == 0 for run in runs) and series.meter.kind == "energy":
        found.append("the counter did not change during a run: its interval is longer than the run")
    hole = max((series.hole(used.span) for used in session.runs), default=0.0)
    if hole and missing < len(runs) and len(series.times) > 1:
        found.append(f"no sample for {hole:.3g} s during a run")
    if session.idle is not None and account["idle"] is None and account["samples"]:
        found.append(
            f"no sample in {session.idle.seconds:.3g} s of idle time, so there is no idle "
            "baseline: use a longer --idle"
        )
    return [*found, *_at_rest(account), *_against_idle(account)]


def _at_rest(account: Account) -> list[str]:
    """A warning if a model's baseline is above the power of its parts at rest: the baseline is then
    the power of programs that ran meanwhile, and not the idle power of the machine."""
    idle, model = account["idle"], account.get("model")
    if idle is None or model is None:
        return []
    rest = model["rest_w"]
    if idle["mean_w"] <= ABOVE_REST * sum(rest.values()):
        return []
    above = {name: watts - rest[name] for name, watts in (idle["channels_w"] or {}).items()}
    parts = ", ".join(
        f"{name} {watts:+.3g} W"
        for name, watts in sorted(above.items(), key=lambda one: -one[1])
        if watts > 0
    )
    return [
        f"the idle baseline of {idle['mean_w']:.3g} W is above the {sum(rest.values()):.3g} W of "
        f"the idle parts: other programs were running ({parts})"
    ]


def _against_idle(account: Account) -> list[str]:
    idle, mean, tail = account["idle"], account["mean_w"], account["tail"]
    found = []
    if idle and mean and idle["sd_w"] and mean["mean"] - idle["mean_w"] < 2 * idle["sd_w"]:
        found.append(
            f"the mean power of the runs, {mean['mean']:.4g} W, is within the noise of the idle "
            f"power, {idle['mean_w']:.4g} +- {idle['sd_w']:.2g} W"
        )
    elif tail and not tail["back_at_idle"]:
        found.append(
            f"power was not back at idle after {tail['seconds']:.3g} s: use a longer --tail"
        )
    elif tail and tail["share_of_above_idle"] > LARGE_TAIL:
        found.append(
            f"{tail['share_of_above_idle']:.0%} of the energy above idle was drawn after the "
            "process had ended, and is not part of the runs"
        )
    return found
