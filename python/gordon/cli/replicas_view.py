"""The screen of `gordon cost replicas`."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gordon.cli.paper_view import show_items
from gordon.cli.terminal import Column, ColumnsOf, Output
from gordon.human import duration, figures, or_dash, percent, short

if TYPE_CHECKING:
    from gordon.cost.replicas import Payback, Replicas

Row = Any

#: Names of the arrangements on a screen.
NAMES = {"flash": "all on flash", "disks": "all on disks", "sleeping": "flash, sleeping disks"}


def show_replicas(console: Output, result: "Replicas") -> None:
    """The arrangements, the sleeping disks, rates, recovery, and when sleeping pays."""
    for line in result["warnings"]:
        console.text(f"note: {line}")
    console.text(
        f"{result['replicas']} replicas on {result['flash']} and {result['disk']}: "
        f"{short(result['written_bytes'], 'B')} written in {duration(result['span_s'])}, "
        f"{short(result['write_bytes_per_s'], 'B/s')}; all values are modelled"
    )
    console.table(arrangements_table(result))
    console.table(devices_table(result))
    for line in sentences(result):
        console.text(line)
    console.table(rates_table(result))
    console.text(pays(result))
    for one in result["prices"]:
        price = "unknown" if one["price"] is None else f"{figures(one['price'])} "
        price += "" if one["price"] is None else result["currency"]
        console.text(f"price of a {one['kind']} device: {price} ({one['why']})")
    for payback in result["payback"]:
        console.text(paid(payback, result["currency"]))
    show_items(console, result["items"])


def _arrangements(result: "Replicas") -> list[Row]:
    """The arrangements with their costs."""
    pairs = zip(result["arrangements"], result["costs"], strict=True)
    return [{**one, **cost} for one, cost in pairs]


def arrangements_table(result: "Replicas") -> list[Column]:
    """Energy and price of each arrangement."""
    column = ColumnsOf(_arrangements(result))
    currency = result["currency"]
    return [
        column.text("replicas", lambda r: NAMES[r["id"]]),
        column.number("energy", lambda r: short(r["energy_j"], "J")),
        column.number("mean power", lambda r: short(r["mean_w"], "W")),
        column.number(f"{currency}", lambda r: or_dash(r["price"], lambda p: f"{p:,.0f}")),
        column.number("kWh a year", lambda r: figures(r["kwh_per_year"])),
        column.number(f"{currency} a year", lambda r: figures(r["electricity_per_year"])),
        column.number("worn a year", lambda r: or_dash(r["worn_per_year"])),
        column.number(
            "mean write",
            lambda r: or_dash(r["write_response_ms"]["mean"], lambda ms: f"{figures(ms)} ms"),
        ),
    ]


def _devices(result: "Replicas") -> list[Row]:
    """The devices of all arrangements."""
    return [
        {**device, "id": one["id"]} for one in result["arrangements"] for device in one["devices"]
    ]


def devices_table(result: "Replicas") -> list[Column]:
    """The devices of each arrangement: energy, sleep, wear."""
    column = ColumnsOf(_devices(result))

    def wear(row: Row) -> str:
        return or_dash(row["wear"] and row["wear"]["years"], _years)

    return [
        column.text("replicas", lambda r: NAMES[r["id"]]),
        column.text("devices", lambda r: f"{r['role']}: {r['count']} x {r['kind']}"),
        column.number("energy", lambda r: short(r["energy_j"], "J")),
        column.number("mean power", lambda r: short(r["mean_w"], "W")),
        column.number("asleep", lambda r: or_dash(r["asleep"], percent)),
        column.number("wake-ups", lambda r: or_dash(r["wakes"], lambda n: f"{n:,.0f}")),
        column.number("a year", lambda r: or_dash(r["wakes_per_year"], lambda n: f"{n:,.0f}")),
        column.number("to the rating", lambda r: or_dash(r["rated_years"], _years)),
        column.number("flash worn after", wear),
    ]


#: Whether sleeping disks pay, in a column.
_PAYS = {True: "yes", False: "no", None: "unknown"}


def _years(years: float) -> str:
    return f"{years:,.0f} years" if years >= 1000 else f"{figures(years)} years"


def sentences(result: "Replicas") -> list[str]:
    """Sentences about the sleeping disks: standby, batches, limits, recovery."""
    return [*_sleep(result), _limits(result), _recovery(result)]


def _sleep(result: "Replicas") -> Iterator[str]:
    batches = result["batches"]
    yield (
        f"a disk is put in standby after {duration(result['spin_down_s'])}; standby saves energy "
        f"from {duration(result['break_even_s'])} of idle time on"
    )
    yield (
        f"batches: {batches['count']:,} ({batches['full']:,} by size, {batches['aged']:,} by age, "
        f"{batches['late']:,} late) with {short(batches['bytes'], 'B')} for each disk; at most "
        f"{short(batches['exposed_bytes'], 'B')} were on flash only, for at most "
        f"{duration(batches['exposed_s'])}"
    )


def _limits(result: "Replicas") -> str:
    limits = result["limits"]
    asleep, keeps_up = limits["asleep_bytes_per_s"], limits["keeps_up_bytes_per_s"]
    if asleep is None or keeps_up is None:
        return "no limit of the rate of writes is known: the load does not fill the buffer"
    return (
        f"limits of writes like these: above {short(asleep, 'B/s')} a disk never sleeps, above "
        f"{short(keeps_up, 'B/s')} it cannot keep up"
    )


def rates_table(result: "Replicas") -> list[Column]:
    """Sleeping and awake disks at each rate."""
    column = ColumnsOf(result["by_rate"])
    return [
        column.number("speed", lambda r: f"{r['speed']:g}"),
        column.number("writes", lambda r: short(r["write_bytes_per_s"], "B/s")),
        column.number("sleeping disk", lambda r: short(r["sleeping_w"], "W")),
        column.number("awake disk", lambda r: short(r["awake_w"], "W")),
        column.number("asleep", lambda r: percent(r["asleep"])),
        column.number("wake-ups", lambda r: f"{r['wakes']:,}"),
        column.number("late", lambda r: f"{r['late']:,}"),
        column.number("on flash only", lambda r: short(r["exposed_bytes"], "B")),
        column.text("pays", lambda r: _PAYS[r["pays"]]),
        column.number("to the rating", lambda r: or_dash(r["rated_years"], _years)),
    ]


def pays(result: "Replicas") -> str:
    """Where a sleeping disk keeps up and uses less energy than one that is awake."""
    below, given = result["pays_below_bytes_per_s"], [one["pays"] for one in result["by_rate"]]
    rule = "a sleeping disk keeps up and uses less energy than one that is awake"
    if below is not None:
        return f"{rule} below {short(below, 'B/s')} of writes"
    if not given:
        return "no rates were compared"
    known = [one for one in given if one is not None]
    if not known:
        return "when sleeping disks pay is unknown: at no rate is a batch due before the load ends"
    if all(known):
        which = "all of these rates" if len(known) == len(given) else "all rates with a batch"
        return f"{rule} at {which}"
    if not any(known):
        return "a sleeping disk uses more energy than one that is awake, or cannot keep up"
    return f"{rule} only at the higher rates"


def _recovery(result: "Replicas") -> str:
    one = result["recovery"]
    return (
        f"a failed flash node of {short(one['bytes'], 'B')} is recovered in "
        f"{duration(one['time_s'])} from one disk: {duration(one['wake_s'])} to wake it, "
        f"{duration(one['read_s'])} to read, {duration(one['link_s'])} over the link, which "
        + ("limits it" if one["limited_by"] == "link" else "does not limit it")
    )


def paid(one: "Payback", currency: str) -> str:
    """Savings of sleeping disks against another arrangement, in a sentence."""
    price, watts = one["price_difference"], one["power_difference_w"]
    text = f"sleeping disks against {NAMES[one['against']]}: {_more(watts, 'W', short)}"
    if price is None:
        return f"{text}; {one['reason']}"
    text = f"{text}, {_more(price, currency, lambda value, unit: f'{value:,.0f} {unit}')}"
    per_year = one["per_year_difference"]
    if per_year is not None:
        text += f", {_more(per_year, currency, lambda v, unit: f'{figures(v)} {unit}')} a year"
    if one["years"] is None:
        return f"{text}; {one['reason']}"
    if price == 0:
        return text
    what = "lower price is used up" if price < 0 else "higher price is paid"
    return f"{text}; their {what} by electricity and worn devices in {_years(one['years'])}"


def _more(value: float, unit: str, written: Callable[[float, str], str]) -> str:
    return f"{written(abs(value), unit)} {'more' if value > 0 else 'less'}"
