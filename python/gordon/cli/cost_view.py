"""The screens of `gordon cost petabyte` and `gordon cost prices`."""

from gordon.cli.paper_view import show_items
from gordon.cli.terminal import Column, ColumnsOf, Output
from gordon.cost.prices import Price, media
from gordon.cost.report import Array, Petabyte
from gordon.human import figures, short


def show_petabyte(console: Output, result: Petabyte) -> None:
    """A row for each medium, the price of bandwidth, and the figures of the paper."""
    currency = result["currency"]
    column = ColumnsOf(result["media"])
    of_year = "" if result["year"] is None else f", of media in {result['year']}"
    console.text(
        f"{short(result['capacity_bytes'], 'B')} on each medium, prices of "
        f"{result['inputs']['name']} in {currency}{of_year}; all values are computed, all parts "
        "active"
    )
    console.table(
        [
            column.text("medium", lambda r: r["summary"] or r["medium"]),
            column.number("media", lambda r: f"{r['media']:,}"),
            column.number("servers", lambda r: f"{r['servers']:,}"),
            column.number("processors", lambda r: f"{r['processors']:g}"),
            column.number("media cost", lambda r: _money(r["media_cost"])),
            column.number("other cost", lambda r: _money(r["nonmedia_cost"])),
            column.number("cost share", lambda r: f"{r['nonmedia_cost_share']:.1%}"),
            column.number("a GB", lambda r: figures(r["cost_per_gb"])),
            column.number("power", lambda r: short(r["total_power_w"], "W")),
            column.number("power share", lambda r: f"{r['nonmedia_power_share']:.1%}"),
        ]
    )
    console.table(_prices(result))
    arrays = result["bandwidth"]
    if arrays:
        console.text(f"arrays of {figures(arrays[0]['bandwidth_mb_s'])} MB/s")
        console.table(
            [
                Column("array", [f"{row['array']}: {_parts(row)}" for row in arrays]),
                Column(currency, [_money(row["cost"]) for row in arrays], right=True),
                Column("a MB/s", [figures(row["cost_per_mb_s"]) for row in arrays], right=True),
                Column("power", [short(row["active_w"], "W") for row in arrays], right=True),
            ]
        )
    show_items(console, result["items"])


def _prices(result: Petabyte) -> list[Column]:
    """The prices and powers of what a server is made of: Table 7."""
    column = ColumnsOf(result["parts"])
    return [
        column.text("part", lambda p: p["summary"] or p["part"]),
        column.number(
            "capacity", lambda p: short(p["capacity_bytes"], "B") if p["capacity_bytes"] else "-"
        ),
        column.number(result["currency"], lambda p: f"{p['price']:,g}"),
        column.number("active", lambda p: short(p["active_w"], "W")),
    ]


def _money(cost: float) -> str:
    return short(cost, "") if cost >= 1e6 else f"{cost:,.0f}"


def _parts(row: Array) -> str:
    return f"{figures(row['parts'])} x {row['part']}"


def show_prices(console: Output, prices: list[Price]) -> None:
    """A row for each year and a column for each medium; ~ marks interpolated prices."""
    years = sorted({price.year for price in prices})
    cells = {(price.year, price.medium): price for price in prices}

    def cell(year: int, medium: str) -> str:
        price = cells.get((year, medium))
        if price is None:
            return "-"
        return ("~" if price.is_interpolated else "") + figures(price.usd_per_gb)

    columns = [Column(id, [cell(year, id) for year in years], right=True) for id in media()]
    console.text("USD for a GB; ~: between the prices of the years around it")
    console.table([Column("year", [str(year) for year in years]), *columns])
