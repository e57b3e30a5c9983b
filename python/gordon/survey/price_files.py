"""Public price files of the clouds, and spaces with the prices of such a file.

The files are the generated price tables of three autoscalers, each a whole provider in one file:
karpenter-provider-aws (zz_generated.pricing_aws.go), karpenter-provider-azure
(zz_generated.pricing.go) and karpenter-provider-gcp (initial-prices.json). Prices are USD an hour,
Linux, without block storage.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from http.client import HTTPException
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from gordon import quantity
from gordon.errors import GordonError
from gordon.human import counted
from gordon.untyped import Config

#: Prices by region and machine.
Prices = dict[str, dict[str, float]]

_GITHUB = "https://raw.githubusercontent.com"
#: Where the price file of each provider is published.
URLS = {
    "ec2": f"{_GITHUB}/aws/karpenter-provider-aws/main/pkg/providers/pricing/"
    "zz_generated.pricing_aws.go",
    "azure": f"{_GITHUB}/Azure/karpenter-provider-azure/main/pkg/providers/pricing/"
    "zz_generated.pricing.go",
    "gcp": f"{_GITHUB}/cloudpilot-ai/karpenter-provider-gcp/main/pkg/providers/pricing/"
    "initial-prices.json",
}
#: The kind of the prices, as `sources` of a space states it.
ABOUT = {
    "ec2": "AWS price list, Linux; EBS volumes cost extra",
    "azure": "Azure retail prices, Linux; managed disks cost extra",
    "gcp": "Cloud Billing; disks cost extra",
}
_KEYS = {"on_demand": "price_per_hour", "spot": "price_spot_per_hour"}
_HINT = "a price file of one of the three karpenter providers: " + ", ".join(
    url.rpartition("/")[2] for url in URLS.values()
)
_WEB = ("https://", "http://")
_TIMEOUT_S = 30
#: Largest price file that is fetched, in bytes; the largest of the three has 1 MB.
_MOST_BYTES = 64 << 20
_GENERATED = re.compile(r"^// generated at (\d{4}-\d{2}-\d{2})T", re.M)
_PAIR = re.compile(r'"([^"]*)"\s*:\s*(?:map\[[^]]*\]\w+)?(\{|[^\s,{}]+)')
_AZURE_REGION = re.compile(r'initialOnDemandPrices\["([^"]*)"\] = map\[string\]float64\{')


@dataclass(frozen=True)
class PriceFile:
    """Prices of a provider, in USD an hour. `date` is the day on which the file was generated, if
    it states one; `spot` is empty for a file without prices of interruptible machines."""

    provider: str
    date: str | None
    on_demand: Prices
    spot: Prices


def read(source: str) -> PriceFile:
    """Reads the price file at a path or a URL. Raises GordonError."""
    try:
        if source.startswith(_WEB):
            with urlopen(source, timeout=_TIMEOUT_S) as page:  # noqa: S310 - http or https
                content = page.read(_MOST_BYTES + 1)
            if len(content) > _MOST_BYTES:
                raise _bad(source, "the file is larger than 64 MiB")
        else:
            content = Path(source).read_bytes()
        return parse(content.decode("utf-8"), source)
    except UnicodeDecodeError:
        raise _bad(source, "not a text file") from None
    except GordonError:
        raise
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or error
        hint = "--from FILE, with a copy of the file" if source.startswith(_WEB) else _HINT
        raise GordonError(
            f"cannot read the prices {source}: {why}", hint, kind="unreadable-file"
        ) from None


def parse(text: str, origin: str) -> PriceFile:
    """Reads a price file. Raises GordonError for another file, a cut one, or one with a price that
    is not a number; `origin` is its name in errors."""
    if text.lstrip().startswith("{"):
        return _parse_json(text, origin)
    generated = _GENERATED.search(text)
    day = generated[1] if generated else None
    code = re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    if code.count("{") != code.count("}"):
        raise _bad(origin, "the file is cut: its braces do not match")
    if "initialOnDemandPrices[" in code:
        provider = "azure"
        parts = _AZURE_REGION.split(code)
        tables = dict(zip(parts[1::2], parts[2::2], strict=True))
    elif "InitialOnDemandPrices" in code:
        provider = "ec2"
        tables = dict(_regions(code[code.index("InitialOnDemandPrices") :]))
    else:
        raise _bad(origin, "there is no table of prices")
    prices = {region: _pairs(table, region, origin) for region, table in tables.items()}
    return PriceFile(provider, day, _known(prices, origin), {})


def _regions(code: str) -> Iterator[tuple[str, str]]:
    """The text after each name that begins a table, up to the next such name."""
    starts = [found for found in _PAIR.finditer(code) if found[2] == "{"]
    ends = [found.start() for found in starts[1:]] + [len(code)]
    for found, end in zip(starts, ends, strict=True):
        yield found[1], code[found.end() : end]


def _pairs(table: str, region: str, origin: str) -> dict[str, float]:
    found = [(pair[1], pair[2]) for pair in _PAIR.finditer(table)]
    return _priced(found, region, origin)


def _priced(found: Iterable[tuple[str, Any]], region: str, origin: str) -> dict[str, float]:
    """The prices that are above 0: a price of 0 stands for a machine that is not sold there."""
    priced = {name: _price(value, f"{region}, {name}", origin) for name, value in found}
    return {name: price for name, price in priced.items() if price > 0}


def _parse_json(text: str, origin: str) -> PriceFile:
    try:
        regions = json.loads(text)["prices"]
        tables = {
            kind: {region: dict(table.get(kind, {})) for region, table in regions.items()}
            for kind in _KEYS
        }
    except ValueError as error:
        raise _bad(origin, f"the file is not JSON: {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise _bad(origin, "there is no table of prices by region") from None
    prices = {
        kind: {region: _priced(table.items(), region, origin) for region, table in found.items()}
        for kind, found in tables.items()
    }
    return PriceFile("gcp", None, _known(prices["on_demand"], origin), prices["spot"])


def _price(value: Any, where: str, origin: str) -> float:
    try:
        price = float(value)
    except (TypeError, ValueError):
        price = -1.0
    if isinstance(value, bool) or not (isfinite(price) and price >= 0):
        raise _bad(origin, f"{where}: {value!r} is not a price")
    return price


def _known(prices: Prices, origin: str) -> Prices:
    if not any(prices.values()):
        raise _bad(origin, "the table of prices is empty")
    return prices


def _bad(origin: str, why: str) -> GordonError:
    return GordonError(f"{origin}: {why}", _HINT, kind="bad-prices")


@dataclass(frozen=True)
class Updated:
    """A space with the prices of a price file, and the ids of its machines: those whose price
    changed, those whose price is the same, those that the file lacks and that keep their price with
    its old source, and those without a price. `spot` is the number of interruptible prices."""

    text: str
    date: str
    region: str
    changed: list[str]
    same: list[str]
    kept: list[str]
    unpriced: list[str]
    spot: int

    def report(self) -> Config:
        """All but the text, as JSON."""
        return {
            "prices_date": self.date,
            "region": self.region,
            "changed": self.changed,
            "same": self.same,
            "kept": self.kept,
            "unpriced": self.unpriced,
            "spot_prices": self.spot,
        }

    def summary(self, name: str) -> str:
        """One line about the space of this name."""
        return (
            f"{name}: prices of {self.date} in {self.region}: {len(self.changed)} changed, "
            f"{len(self.same)} the same, {len(self.kept)} kept, {len(self.unpriced)} unknown; "
            f"{self.spot} spot prices"
        )

    def warnings(self, source: str) -> list[str]:
        """The machines that the file lacks."""
        missing = ((self.kept, "keep their price"), (self.unpriced, "have no price"))
        return [
            f"{source} lacks {counted(len(ids), 'machine')}, which {what}: {', '.join(ids)}"
            for ids, what in missing
            if ids
        ]


def update(space: str, prices: PriceFile, day: str | None, origin: str, source: str) -> Updated:
    """The TOML text of a space with the prices of a file. `day` is the day of the prices, for a
    file that states none. `origin` and `source` are the names of the space and of the file.

    Only the lines of prices and of their sources change. Raises GordonError for a space without
    the region of its prices, or whose machines are not `[[machines]]` tables.
    """
    loaded = tomllib.loads(space)
    region = _region(loaded, prices, origin)
    if loaded.get("currency", "USD") != "USD":
        why = f"its prices are in {loaded['currency']}, and those of {source} in USD"
        raise GordonError(f"{origin}: {why}", 'currency = "USD"', kind="bad-space")
    day = _day(prices, day, source)
    machines = loaded.get("machines", [])
    found = prices.on_demand[region]
    if not any(machine["id"] in found for machine in machines):
        raise GordonError(
            f"{source}: no machine of {origin} has a price in {region}",
            f"ids as {prices.provider} spells them: {', '.join(sorted(found)[:3])}, ...",
            kind="no-prices",
        )
    tables = {"on_demand": found, "spot": prices.spot.get(region, {})}
    about = f"{source}: {ABOUT[prices.provider]}"
    lines = _with_prices(space.splitlines(), loaded, tables)
    for kind, key in _KEYS.items():
        if tables[kind]:
            entry = f"{{ source = {json.dumps(about)}, date = {day} }}"
            lines = _with_source(lines, key, entry)
    text = "\n".join(lines) + "\n"
    _check(text, loaded, tables, origin)
    ids = [machine["id"] for machine in machines]
    old = {machine["id"]: quantity.value(machine.get("price_per_hour")) for machine in machines}
    return Updated(
        text,
        day,
        region,
        changed=[id for id in ids if id in found and found[id] != old[id]],
        same=[id for id in ids if id in found and found[id] == old[id]],
        kept=[id for id in ids if id not in found and old[id] is not None],
        unpriced=[id for id in ids if id not in found and old[id] is None],
        spot=sum(id in tables["spot"] for id in ids),
    )


def _region(space: Config, prices: PriceFile, origin: str) -> str:
    region = space.get("region")
    if region is None:
        raise GordonError(
            f"{origin}: the space does not say in which region its prices hold",
            'region = "us-east-1"',
            kind="no-region",
        )
    if region not in prices.on_demand:
        regions = sorted(prices.on_demand)
        known = ", ".join(regions[:5]) + (", ..." if len(regions) > 5 else "")
        raise GordonError(
            f"{origin}: the price file has no region `{region}`",
            f"a file with it; this one has {known}",
            kind="no-region",
        )
    return str(region)


def _day(prices: PriceFile, day: str | None, source: str) -> str:
    """The day of the prices: that of the file, else the given one."""
    if day is not None and prices.date is not None and day != prices.date:
        raise GordonError(
            f"{source} was generated on {prices.date}, and --date is {day}",
            "leave out --date",
            kind="bad-date",
        )
    if prices.date or day:
        return prices.date or str(day)
    raise GordonError(
        f"{source} does not state the day of its prices",
        "--date DATE, such as the day of the commit that wrote the file",
        kind="no-date",
    )


def _with_prices(lines: list[str], space: Config, tables: dict[str, dict[str, float]]) -> list[str]:
    """The lines with the prices of the machines. A new price follows the machine's last line."""
    out: list[str] = []
    machines = iter(space.get("machines", []))
    pending: dict[str, str] = {}
    end = 0

    def flush() -> None:
        out[end:end] = [f"{key} = {value}" for key, value in pending.items()]
        pending.clear()

    for line in lines:
        if line.lstrip().startswith("["):
            flush()
            if re.match(r"\s*\[\[\s*machines\s*\]\]", line):
                pending = _new(next(machines, {}), tables, space.get("sources", {}))
        key = line.partition("=")[0].strip()
        if key in pending:
            line = f"{key} = {pending.pop(key)}"
        out.append(line)
        if line.strip() and not line.lstrip().startswith("#"):
            end = len(out)
    flush()
    return out


def _new(machine: Config, tables: dict[str, dict[str, float]], sources: Config) -> dict[str, str]:
    """The new price lines of a machine, by key. A price that the file lacks keeps the source that
    it had, because the space has another source for such prices from now on."""
    new = {}
    for kind, key in _KEYS.items():
        price = machine.get(key)
        if machine.get("id") in tables[kind]:
            new[key] = repr(tables[kind][machine["id"]])
        elif tables[kind] and isinstance(price, int | float):
            old = sources.get(key) or {k: machine[k] for k in ("source", "date") if k in machine}
            if "source" not in old and "assumed" not in old:
                old = {"assumed": "the price before the update, without a source"}
            entries = [f"{name} = {_toml(value)}" for name, value in old.items()]
            new[key] = "{ " + ", ".join([f"value = {price!r}", *entries]) + " }"
    return new


def _toml(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else json.dumps(value, ensure_ascii=False)


def _with_source(lines: list[str], key: str, entry: str) -> list[str]:
    """The lines with an entry of the table `sources`, which is added if there is none."""
    if "[sources]" not in [line.strip() for line in lines]:
        return [*lines, "", "[sources]", f"{key} = {entry}"]
    out: list[str] = []
    inside = placed = False
    for line in lines:
        if line.lstrip().startswith("["):
            inside = line.strip() == "[sources]"
        if inside and line.partition("=")[0].strip() == key:
            line, placed = f"{key} = {entry}", True
        out.append(line)
    if not placed:
        out.insert([line.strip() for line in out].index("[sources]") + 1, f"{key} = {entry}")
    return out


def _check(text: str, before: Config, tables: dict[str, dict[str, float]], origin: str) -> None:
    """Raises GordonError unless the new text has the new prices, and all other values as before."""
    try:
        after = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        after = {}
    machines = after.get("machines", [])
    correct = len(machines) == len(before["machines"])
    for new, old in zip(machines, before["machines"], strict=False):
        for kind, key in _KEYS.items():
            wanted = tables[kind].get(old["id"], quantity.value(old.get(key)))
            correct = correct and quantity.value(new.get(key)) == wanted
        others = [{k: v for k, v in m.items() if k not in _KEYS.values()} for m in (new, old)]
        correct = correct and others[0] == others[1]
    rest = []
    for space in (after, before):
        sources = space.get("sources", {})
        others = [{k: v for k, v in sources.items() if k not in _KEYS.values()}]
        others.append({k: v for k, v in space.items() if k not in ("machines", "sources")})
        rest.append(others)
    if not correct or rest[0] != rest[1]:
        raise GordonError(
            f"{origin}: the prices cannot be replaced, because they are not lines of their own",
            "write each machine as a [[machines]] table with a line for each key, and the sources "
            "as a [sources] table",
            kind="bad-space",
        )
