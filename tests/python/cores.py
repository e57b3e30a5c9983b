"""The use of more cores for a saturated trace: the rule of docs/design/cluster.md, computed."""

from __future__ import annotations

from math import sqrt


def stretch(traced: int, target: int) -> float:
    """Mean time on `target` cores of a second in which all `traced` cores were busy.

    The probability that the job could use `k` cores or more is 1 up to `traced`, and
    `(traced / k) ** 0.5` beyond.
    """

    def at_least(k: int) -> float:
        return min(1.0, sqrt(traced / k))

    shares = [at_least(k) - at_least(k + 1) for k in range(1, target)]
    shares.append(at_least(target))
    return sum(share * traced / k for k, share in enumerate(shares, start=1))
