"""The keys of results and of options in words. Results have words and units everywhere; a range
keeps its key in tables, because that is what `--set` takes. Files keep all keys."""

import re
from typing import Any

from gordon.human import duration, short
from gordon.report import page

#: Ends of keys that are units.
_UNITS = {
    "_mb_s": "MB/s",
    "_bytes_per_s": "B/s",
    "_per_s": "per s",
    "_bit_s": "bit/s",
    "_bytes": "B",
    "_years": "years",
    "_us": "us",
    "_ms": "ms",
    "_s": "s",
    "_j": "J",
    "_w": "W",
}
#: Parts of keys that are a figure of a distribution.
_FIGURES = {"mean": "mean", "max": "maximum", "min": "minimum", "p50": "median"}


def of_option(key: str) -> str:
    """The words of a range: `ftl.victim` is `ftl victim`."""
    return key.replace(".", " ").replace("_", " ")


def of_result(key: str) -> tuple[str, str]:
    """The words and the unit of an objective: `write.latency_us.p99` is the `99th percentile of the
    write latency`, in `us`."""
    words, figure, unit = [], "", ""
    for part in key.split("."):
        end = next((end for end in _UNITS if part.endswith(end)), "")
        unit = _UNITS.get(end, unit)
        percentile = re.fullmatch(r"p(\d\d)(\d*)", part)
        if part in _FIGURES:
            figure = f"{_FIGURES[part]} "
        elif percentile:
            digits = ".".join(filter(None, percentile.groups()))
            figure = f"{digits}th percentile of the "
        else:
            words.append(part.removesuffix(end).replace("_", " "))
    return figure + " ".join(words), unit


def column(key: str) -> str:
    """The head of a column of an objective: `write latency p99, us`."""
    what, unit = of_result(key)
    figure = key.rpartition(".")[2]
    if figure in _FIGURES or re.fullmatch(r"p\d\d+", figure):
        what = f"{of_result(key.rpartition('.')[0])[0]} {figure}"
    return f"{what}{unit and ', '}{unit}"


def value(number: float, unit: str) -> str:
    """A value of an objective with its unit."""
    if unit == "s":
        return duration(number)
    if unit in ("B", "B/s", "bit/s", "J", "W"):
        return short(number, unit)
    return f"{page.sig(number)} {unit}".rstrip()


def setting(key: str, given: Any) -> str:
    """A value of a range: `queue depth 32`; of a flag, whether it is given."""
    if isinstance(given, bool):
        return of_option(key) if given else f"no {of_option(key)}"
    return f"{of_option(key)} {page.plain(given)}"
