"""The screen of `gordon explain`."""

from collections.abc import Callable, Sequence

from gordon.cli.terminal import Column, Output
from gordon.human import duration, figures, short
from gordon.survey.explain import Explanation, Share
from gordon.survey.machines import in_words


def show_explanation(console: Output, found: Explanation) -> None:
    """The parts of time, energy and money, and the designs that are better in one figure."""
    names = ["recommended"] if found["is_recommended"] else []
    names += found["names"]
    about = f" ({', '.join(names)})" if names else ""
    front = "on the front" if found["is_on_front"] else "not on the front"
    ends = ""
    if "time_s_low" in found and "time_s_high" in found:
        ends = f" ({duration(found['time_s_low'])} to {duration(found['time_s_high'])})"
    console.text(
        f"{found['design']} of {found['space']}{about}, {front}: {duration(found['time_s'])}{ends} "
        f"by the {found['model']} model"
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
    currency = found["currency"] or ""
    _shares(console, "total of a run", found["money"], lambda v: f"{figures(v)} {currency}")
    for one in found["instead"]:
        ratios = ", ".join(f"{name} x {figures(value)}" for name, value in one["ratios"].items())
        console.text(f"least {in_words(one['better'])}: {one['id']} ({ratios})")
    if parts and parts[0]["remedy"]:
        console.text(
            f"first: {parts[0]['remedy']} ({_words(parts[0]['what'])} is "
            f"{parts[0]['share']:.0%} of the time)"
        )


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
