"""The screen of `gordon explain`."""

from collections.abc import Callable, Sequence

from gordon.cli.terminal import Column, Output
from gordon.human import as_percent, duration, figures, in_words, short
from gordon.survey.explain import Explained, Explanation, ServiceExplanation, Share, Use


def show_explanation(console: Output, found: Explanation | ServiceExplanation) -> None:
    """The parts of what a design takes and costs, and the designs that are better in one figure."""
    if "uses" in found:
        _show_service(console, found)
    else:
        _show_job(console, found)


def _title(found: Explained) -> str:
    names = ["recommended"] if found["is_recommended"] else []
    names += found["names"]
    about = f" ({', '.join(names)})" if names else ""
    front = "on the front" if found["is_on_front"] else "not on the front"
    return f"{found['design']} of {found['space']}{about}, {front}"


def _show_job(console: Output, found: Explanation) -> None:
    ends = ""
    low, high = found["time_s_low"], found["time_s_high"]
    if low is not None and high is not None:
        ends = f" ({duration(low)} to {duration(high)})"
    console.text(
        f"{_title(found)}: {duration(found['time_s'])}{ends} by the {found['model']} model"
    )
    parts = found["time"]
    console.table(
        [
            Column("time", [_words(part["what"]) for part in parts]),
            Column("", [duration(part["amount"]) for part in parts], right=True),
            Column("share", [f"{part['share']:.0%}" for part in parts], right=True),
            Column("without it", [duration(part["without_s"]) for part in parts], right=True),
            Column("shorter by", [part["remedy"] or "" for part in parts], wraps=True),
        ]
    )
    if found["doubts"]:
        doubts = sorted(found["doubts"], key=lambda one: one["low_s"] - one["high_s"])
        widest = doubts[0]
        console.text(
            f"most of the range is of {_words(widest['what'])}: alone {duration(widest['low_s'])} "
            f"to {duration(widest['high_s'])}"
        )
    _shares(console, "energy", found["energy"], lambda amount: short(amount, "J"))
    _show_costs(console, found, "total of a run")
    if parts and parts[0]["remedy"]:
        console.text(
            f"first: {parts[0]['remedy']} ({_words(parts[0]['what'])} is "
            f"{parts[0]['share']:.0%} of the time)"
        )


def _show_service(console: Output, found: ServiceExplanation) -> None:
    keeps = {True: "keeps up", False: "does not keep up", None: "may not keep up"}
    limit = 1.0 - found["headroom"]
    text = (
        f"{_title(found)}: {keeps[found['keeps_up']]} with {as_percent(found['headroom'])} headroom"
    )
    if found["short_of"]:
        text += f" ({'too little' if found['keeps_up'] is False else 'unknown:'} "
        text += f"{' and '.join(found['short_of'])})"
    if found["power_w"] is not None:
        text += f", {short(found['power_w'], 'W')}"
    console.text(text)
    uses = found["uses"]
    console.table(
        [
            Column("resource", [one["what"] for one in uses]),
            Column("use", [_share_of(one["use"]) for one in uses], right=True),
            Column("range", [_range_of(one) for one in uses], right=True),
            Column("peak", [_share_of(one["peak"]) for one in uses], right=True),
            Column("most load", [_most_load(one) for one in uses], right=True),
            Column("lower with", [one["remedy"] for one in uses], wraps=True),
        ]
    )
    console.text(
        f"use: not exceeded in 99% of the time; the headroom allows {as_percent(limit)}. most "
        "load: what a resource keeps up with, relative to the recorded load"
    )
    _show_costs(console, found, "total of a month")
    first = next((one for one in uses if one["what"] == found["limited_by"]), None)
    unknown = [one["what"] for one in uses if one["use"] is None]
    lacking = [name for name in found["short_of"] if name in unknown]
    if lacking:
        text = f"first: record {' and '.join(lacking)}, which the record lacks"
        if "memory" in lacking and found["reference"] is None:
            text += ", or survey with --reference, the recorded machine"
        console.text(text)
    elif first is not None:
        _, high = first.get("range", [None, first["use"]])
        most = "a use without a known end" if high is None else f"a use of up to {high:.0%}"
        text = f"{first['what']} is nearest to its limit, with {most}"
        console.text(f"first: {first['remedy']} ({text})")


def _share_of(use: float | None) -> str:
    return "unknown" if use is None else f"{use:.0%}"


def _range_of(use: Use) -> str:
    if "range" not in use:
        return ""
    low, high = use["range"]
    return f"{_share_of(low)} to {'any' if high is None else _share_of(high)}"


def _most_load(use: Use) -> str:
    factor = use["load_factor"]
    text = "" if factor is None else f"x {figures(factor)}"
    if "load_factor_range" not in use:
        return text
    low, high = use["load_factor_range"]
    ends = f"{figures(low or 0.0)} to {'any' if high is None else figures(high)}"
    return f"{text} ({ends})"


def _show_costs(console: Output, found: Explained, total: str) -> None:
    """The parts of the total, and better designs."""
    currency = found["currency"] or ""
    _shares(console, total, found["money"], lambda amount: f"{figures(amount)} {currency}")
    for one in found["instead"]:
        ratios = ", ".join(f"{name} x {figures(value)}" for name, value in one["ratios"].items())
        console.text(f"least {in_words(one['better'])}: {one['id']} ({ratios})")


def _shares(
    console: Output, title: str, shares: Sequence[Share], written: Callable[[float], str]
) -> None:
    if shares:
        console.table(
            [
                Column(title, [one["what"].replace("_", " ") for one in shares]),
                Column("", [written(one["amount"]) for one in shares], right=True),
                Column("share", [f"{one['share']:.0%}" for one in shares], right=True),
            ]
        )


def _words(name: str) -> str:
    return name.replace("_", " ")
