"""Numbers, loads and lists in human-readable form: few significant figures, a prefix, a unit."""

from collections.abc import Callable, Sequence

from gordon.reports.devices import DiskRun, FlashRun

#: Below this, times are seconds.
_PLAIN_S = 120
#: Units of longer times in columns: from how many seconds, and the seconds of one.
_LONG = ((48 * 3600, 86_400, "d"), (7200, 3600, "h"), (_PLAIN_S, 60, "min"))
#: From this many days on, hours are left out.
_MANY_DAYS = 1e6
#: From this on, numbers have an exponent.
_LARGE = 1e9


def short(value: float, unit: str) -> str:
    """A number short enough for a column, with a decimal prefix: `12.3 GB`, `4.20 G`; a time in
    one unit: `61.0 s`, `12.1 min`, `8.74 h`."""
    if unit == "s":
        seconds, name = _scale_of(value)
        return f"{figures(value / seconds)} {name}"
    for scale, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{figures(value / scale)} {prefix}{unit}".rstrip()
    return f"{figures(value)} {unit}".rstrip()


def figures(value: float) -> str:
    """Three significant figures; an exponent only where there would be many zeros."""
    size = abs(value)
    if size >= _LARGE:
        return f"{value:.2e}"
    if size >= 100 or value == 0:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:#.3g}"


def or_dash(value: float | None, written: Callable[[float], str] = figures) -> str:
    """A number as it is `written`; a dash if it is unknown."""
    return "-" if value is None else written(value)


def spread(mean: float, sd: float | None) -> str:
    """A mean and its standard deviation, if that is known: `12.3 ± 0.2`."""
    return figures(mean) + deviation(sd)


def deviation(sd: float | None) -> str:
    """A standard deviation behind its mean."""
    return "" if sd is None else f" ± {figures(sd)}"


def counted(count: int, one: str) -> str:
    """`1 request`, `2,000 requests`."""
    return f"{count:,} {one}" + ("" if count == 1 else "s")


def in_words(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def duration(seconds: float) -> str:
    """A time in its two largest units: `0.1 s`, `61.0 s`, `12 min 5 s`, `9 h 4 min`, `3 d 4 h`."""
    if seconds < _PLAIN_S:
        return f"{figures(seconds)} s"
    if seconds < 3600:
        return _in_units(round(seconds), 60, "min", "s")
    if seconds < 48 * 3600:
        return _in_units(round(seconds / 60), 60, "h", "min")
    if seconds >= _MANY_DAYS * 86_400:
        return f"{figures(seconds / 86_400)} d"
    return _in_units(round(seconds / 3600), 24, "d", "h")


def _in_units(small: int, many: int, unit: str, small_unit: str) -> str:
    """Small units, of which `many` are a unit."""
    whole, rest = divmod(small, many)
    return f"{whole:,} {unit}" + (f" {rest} {small_unit}" if rest else "")


def interval(low: float, high: float, between: str = "-") -> str:
    """A range of times in one unit: `7.19 - 15.8 s`, `1.02 - 12.1 min`."""
    scale, unit = _scale_of(high)
    return f"{figures(low / scale)} {between} {figures(high / scale)} {unit}"


def _scale_of(seconds: float) -> tuple[int, str]:
    """The seconds of the unit of a time, and its name."""
    return next(((of, unit) for least, of, unit in _LONG if abs(seconds) >= least), (1, "s"))


def binary(size: int) -> str:
    """Bytes in whole MiB or KiB where they are: `1 MiB`, `64 KiB`, `512 B`."""
    for scale, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size} B"


def percent(part: float) -> str:
    """A part as per cent, in three significant figures: `0.0123 %`, `1.70e-07 %`."""
    return f"{figures(100 * part)} %" if part >= 1e-8 or part == 0 else f"{100 * part:.2e} %"


def as_percent(part: float) -> str:
    """A part that was given, as per cent: `30%`, `99.9%`."""
    return f"{100 * part:.6g}%"


def lifetime(used: float, years: float | None, written: str, span: str) -> str:
    """How long flash lasts (docs/design/endurance.md): years, if there are any, and the part of the
    rated endurance that the load used."""
    text = f"{written} written in {span}, {percent(used)} of rated endurance"
    return text if years is None else f"lifetime {short(years, 'years')}: {text}"


def load_of(report: FlashRun | DiskRun) -> str:
    """The load of a run, in words."""
    config = report["provenance"]["config"]
    load, precondition = config["load"], config.get("precondition")
    if "trace" in load:
        text = str(load["trace"]["path"])
        if load["trace"]["repeat"] > 1:
            text += f", repeated {load['trace']['repeat']} times"
    else:
        load = load["bench"]
        text = f"{load['pattern']} {load.get('size') or '4KiB'}"
        if load["pattern"] == "gordon-pair":
            text = "gordon-pair: 8 KiB, then the other 120 KiB of each 128 KiB"
    if precondition is not None:
        text += f", {precondition:.0%} preconditioned"
    return text
