"""The warm-up of a replay, as text: `100k` requests, `20%` of the trace, `1h` of it."""

import re
from contextlib import suppress
from decimal import Decimal

from gordon import _core
from gordon.errors import GordonError
from gordon.untyped import Config

__all__ = ["warm_up"]

_SCALES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


def warm_up(given: str | int | None) -> Config | None:
    """The warm-up as the core takes it. Raises GordonError for what is neither a number of
    requests, nor a part of the trace, nor a time."""
    if given is None:
        return None
    text = str(given)
    if number := re.fullmatch(r"([0-9][0-9_]*(?:\.[0-9]+)?)([kMG]?)", text):
        requests = Decimal(number[1].replace("_", "")) * _SCALES[number[2]]
        if requests < 2**64 and requests == requests.to_integral_value():
            return {"requests": int(requests)}
    elif part := re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", text):
        return {"share": float(part[1]) / 100}
    else:
        with suppress(GordonError):
            _core.parse_ns(text)
            return {"time": text}
    raise GordonError(
        f"--warmup {text}: not a number of requests, a part of the trace or a time",
        "--warmup 100k, --warmup 20% or --warmup 1h",
    )
