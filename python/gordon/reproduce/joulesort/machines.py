"""Published machines: their power and sort times from their parts, next to what was published."""

from importlib.resources import as_file, files
from pathlib import Path

from gordon import tables
from gordon.reproduce.joulesort.report import PublishedMachine, Served
from gordon.sort.systems import data, model, run
from gordon.sort.systems.model import Parts
from gordon.sort.systems.schema import System, Systems


def published() -> list[PublishedMachine]:
    """A row for each machine with known parts and a published result: the systems of the JouleSort
    paper, then the others. Modelled figures are of the size that was sorted."""
    with as_file(files("gordon.reproduce.joulesort") / "published.toml") as path:
        return _rows(None) + _rows(path)


def others() -> Systems:
    """The machines that are not in the paper's tables, with the parts of the paper."""
    with as_file(files("gordon.reproduce.joulesort") / "published.toml") as path:
        return tables.read(Systems, _table(path), "")


def _table(path: Path | None) -> data.Table:
    if path is None:
        return data.shipped()
    return data.joined(data.read(path), str(path))[0]


def _rows(path: Path | None) -> list[PublishedMachine]:
    parts = Parts(tables.read(Systems, _table(path), ""))
    first = run.extrapolate(path)
    by_size = {first["records"]: first}
    rows: list[PublishedMachine] = []
    for entry in first["systems"]:
        system = parts.all.system[entry["name"]]
        if not model.whole(system) or not (system.measured or system.serves):
            continue
        theirs = entry["measured"]
        size = theirs["records"] if theirs else first["records"]
        if size not in by_size:
            by_size[size] = run.extrapolate(path, set=[f"records={size}"])
        same = next(one for one in by_size[size]["systems"] if one["name"] == entry["name"])
        assert system.board is not None
        base = first["fitted"]["board_w"][system.board]["value"]
        idle, most = model.levels_w(parts, system, base)
        rows.append(
            {
                "name": entry["name"],
                "of_paper": path is None,
                "summary": system.summary,
                "idle_w": idle,
                "most_w": most,
                "modelled": same["modelled"],
                "published": theirs,
                "error": same.get("error"),
                "serves": _serves(system, most),
                "board_share": base / parts.all.board[system.board].efficiency.value / most,
                "reason": system.reason,
            }
        )
    return rows


def _serves(system: System, most: float) -> Served | None:
    """Power and operations a joule at full load, at which all parts are busy."""
    if system.serves is None:
        return None
    served = system.serves
    score = served.rate.value / most
    return {
        "what": served.what,
        "rate": served.rate.value,
        "power_w": served.power.value,
        "power_error": most / served.power.value - 1,
        "per_joule": score,
        "published_per_joule": served.per_joule.value,
        "per_joule_error": score / served.per_joule.value - 1,
    }
