"""Statements of the JouleSort paper, compared with the paper's own tables and the model.

A statement on records/J is checked with the printed scores of table 2 and with those that follow
from a row's time and power: the two differ for 1B (`rows.check`).
"""

from collections.abc import Mapping, Sequence
from math import log10

from gordon.reproduce.joulesort.paper import Claims
from gordon.reproduce.joulesort.report import Statement
from gordon.reproduce.row import known
from gordon.sort import presets
from gordon.sort.systems.model import Parts
from gordon.sort.systems.report import Fitted, MeasuredRow, SystemRow

KIB = 1024
#: How far a stated percentage may be off (assumed: it is rounded to a figure or two); twice that
#: where the text says "1/3" or "almost".
POINTS = 0.02


def rows(
    claims: Claims, parts: Parts, systems: Sequence[SystemRow], fitted: Fitted
) -> list[Statement]:
    """Every statement: where it is, what the paper says, what its tables or the model give, and
    whether they agree; None where there is nothing to compare with."""
    measured = {one["name"]: one["measured"] for one in systems if one["measured"]}
    return [*_table_2(measured), *_table_3(), *_parts(claims, parts, measured, fitted)]


def _row(where: str, paper: str, here: str, agrees: bool | None) -> Statement:
    return {"where": where, "paper": paper, "here": here, "agrees": agrees}


def _table_2(measured: Mapping[str, MeasuredRow]) -> list[Statement]:
    def printed(name: str) -> float:
        return known(measured[name]["records_per_j"])

    def computed(name: str) -> float:
        return measured[name]["row"]["records_per_j"]

    def power(name: str) -> float:
        return known(measured[name]["power_w"])

    old = "CoolSort"
    beats = printed("1B") / printed(old) - 1, computed("1B") / computed(old) - 1
    share = printed("2") / printed("1B"), computed("2") / computed("1B")
    third = power("1B") / power(old)
    best = printed("4C") / printed(old)
    disks = printed("3D") / printed(old)
    less = [power(name) / power("3D") for name in ("3B", "3C", "3E")]
    return [
        _row(
            "abstract",
            "1B beats the record by 10 %",
            f"{beats[0]:.1%} by the printed scores, {beats[1]:.1%} by the time and power of 1B",
            all(abs(gain - 0.1) <= POINTS for gain in beats),
        ),
        _row(
            "abstract, 3.3.1",
            "more than twice the record",
            f"4C: {best:.2f} times CoolSort's score",
            best > 2,
        ),
        _row(
            "3.2",
            "1B and 2 draw 1/3 of the previous winner's power",
            f"{power('1B'):.1f} of {power(old):.1f} W: {third:.3f}",
            abs(third - 1 / 3) <= 2 * POINTS,
        ),
        _row(
            "3.3.1",
            "3D is almost identical to the previous winners",
            f"{disks:.3f} of CoolSort's score",
            abs(disks - 1) <= 2 * POINTS,
        ),
        _row(
            "3.3.1",
            "SSD systems draw slightly less power than 3D",
            f"{min(less):.3f} to {max(less):.3f} of 3D's",
            max(less) < 1,
        ),
        _row(
            "4.2.1",
            "2 achieves about 90 % of 1B's performance",
            f"{share[0]:.3f} by the printed scores, {share[1]:.3f} by time and power",
            all(abs(one - 0.9) <= POINTS for one in share),
        ),
    ]


def _table_3() -> list[Statement]:
    sizes = {name: presets.transfer_sizes(name) for name in presets.names()}
    two = {name: one for name, one in sizes.items() if one[2] is not None}
    same = sum(temp == out for _, out, temp in two.values())
    apart = sum(read != out for read, out, _ in sizes.values())
    orders = [log10(size / (64 * KIB)) for read, out, _ in sizes.values() for size in (read, out)]

    def listed(name: str) -> str:
        return ", ".join(f"{size >> 20}M" for size in sizes[name] if size is not None)

    return [
        _row(
            "3.2",
            "best on one drive: 4M for input and output, 2M for temporary files",
            f"table 3: 2 has {listed('2')}; 1B has {listed('1B')}",
            sizes["1B"] == sizes["2"],
        ),
        _row(
            "4.1.1",
            "transfers 2 to 3 orders of magnitude larger than 64 KB",
            f"table 3: {min(orders):.1f} to {max(orders):.1f} orders",
            min(orders) >= 2,
        ),
        _row(
            "4.1.1",
            "in two passes the output's size is best for temporary files, too",
            f"table 3: the same in {same} of {len(two)} two-pass systems",
            same == len(two),
        ),
        _row(
            "4.1.1",
            "input and output sizes decoupled for the highest performance",
            f"table 3: they differ in {apart} of {len(sizes)} systems",
            apart > len(sizes) / 2,
        ),
    ]


def _parts(
    claims: Claims, parts: Parts, measured: Mapping[str, MeasuredRow], fitted: Fitted
) -> list[Statement]:
    works = {name: sum(work) for name, work in fitted["core_s_per_gb"].items() if work}
    best = min(works, key=lambda name: works[name])
    others = min(work for name, work in works.items() if name != best)
    boards = {name: parts.all.system[name].board for name in measured}
    scores = {
        ecc: max(
            (known(measured[name]["records_per_j"]), name)
            for name, board in boards.items()
            if board is not None and (board in claims.ecc_boards) is ecc
        )
        for ecc in (True, False)
    }
    saved = claims.supply_saving.value
    after = parts.all.board["desktop"].efficiency.value
    return [
        _row(
            "4.2.1, figure 12",
            "the Core 2 Duo has the largest single-core performance",
            f"{best}: {works[best]:.2f} core-seconds per GB, the next one {others:.2f}; the figure "
            "prints no numbers",
            best == "core2-duo",
        ),
        _row(
            "4.2.1",
            "only systems 3 and 4 have ECC; without it systems are infeasible",
            f"best with ECC: {scores[True][1]}, {scores[True][0]:,.0f} records/J; best without: "
            f"{scores[False][1]}, {scores[False][0]:,.0f}",
            scores[True][0] > scores[False][0],
        ),
        _row(
            "3.3",
            f"80-plus supplies reduced the system power by {saved:.0%}",
            f"at an efficiency of {after:.2f} now, the old supplies had {after * (1 - saved):.2f}",
            None,
        ),
        _row(
            "2.4",
            "power factors of 0.95 to 1.0",
            f"3B's {measured['3B']['power_w']:.1f} W are up to "
            f"{known(measured['3B']['power_w']) / claims.power_factor.value:.1f} VA; energy is "
            "computed from watts and does not change",
            None,
        ),
    ]
