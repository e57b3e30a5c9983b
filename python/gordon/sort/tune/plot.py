"""Plots of trials: figures 6 to 10 of the JouleSort paper for your own device.

Figures 7 and 8 are power and time against the stripe unit, here that of the temporary files over
several folders.
"""

from collections.abc import Callable
from typing import Any, Literal

from gordon import picture
from gordon.human import binary
from gordon.sort.tune.point import TRANSFERS
from gordon.sort.tune.report import TuneReport
from gordon.sort.tune.report import known as kind
from gordon.sort.tune.search import TrialReport
from gordon.sort.tune.tried import Quantity, Size, by_size, means


def draw(report: TuneReport, path: str) -> None:
    """Draws a panel for each group of settings."""
    picture.check(path)

    trials = [t for t in report["trials"] if t["cost"] is not None and t["role"] != "warm-up"]
    rows: list[Quantity] = ["time_s"]
    if any(t["energy_j"] is not None for t in trials):
        rows += ["energy_j", "power_w"]
    figure = picture.figure(figsize=(18, 3.6 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), 5, squeeze=False)
    for key, line in zip(rows, panels, strict=True):
        known = [t for t in trials if t[key] is not None]
        unit = {"time_s": "time, s", "energy_j": "energy, J", "power_w": "power, W"}[key]
        _transfers(line[0], known, key, TRANSFERS, "transfer size")
        _methods(line[1], known, key)
        _curves(line[2], known, key, "overwrite", "output_transfer", _overwriting)
        _curves(line[3], known, key, "folders", "temp_transfer", _folders)
        _transfers(line[4], known, key, ("stripe",), "stripe unit")
        for panel in line:
            panel.set_ylabel(unit)
            panel.set_ylim(bottom=0)
            panel.grid(alpha=0.3)
            panel.tick_params(labelsize="x-small")
    titles = (
        "transfer sizes",
        "method",
        "output overwritten or a new file",
        "temporary folders",
        "stripe unit",
    )
    for panel, title in zip(panels[0], titles, strict=True):
        panel.set_title(title, fontsize="medium")
    megabytes = f"{report['bytes'] / 1e6:,.0f} MB"
    title = f"{megabytes}, memory {report['memory']}; {kind(report)}"
    figure.suptitle(title, fontsize="medium")
    picture.save(figure, path)


def _sizes(panel: Any, groups: dict[int, list[float]], label: str) -> None:
    sizes, values, errors = means(groups)
    panel.errorbar(sizes, values, yerr=errors, marker="o", markersize=4, capsize=3, label=label)


def _axis(panel: Any, what: str) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda size, _: binary(int(size))))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel(what)
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize="small")


def _transfers(
    panel: Any, trials: list[TrialReport], key: Quantity, settings: tuple[Size, ...], what: str
) -> None:
    """Figures 7 to 9: sizes differ, and of the rest only what the search had chosen by then."""
    for name in settings:
        if groups := by_size(trials, name, key):
            _sizes(panel, groups, name.removesuffix("_transfer"))
    if not any(trial["role"] in settings for trial in trials):
        panel.text(0.5, 0.5, "not tried", ha="center", transform=panel.transAxes, color="0.5")
        return
    _axis(panel, what)


def _methods(panel: Any, trials: list[TrialReport], key: Quantity) -> None:
    """Figure 6: by the method that was carried out, all else as by default."""
    groups: dict[str, list[float]] = {}
    for trial in trials:
        changed = {
            k for k, v in trial["settings"].items() if v not in (None, False, 0, "auto", "radix")
        }
        value = trial[key]
        if changed <= {"method"} and value is not None:
            groups.setdefault(trial["plan"]["method"], []).append(value)
    names, values, errors = means(groups)
    panel.bar(names, values, yerr=errors, capsize=3, color="C0")


def _overwriting(value: Any) -> str:
    return "overwritten" if value else "new file"


def _folders(value: Any) -> str:
    return "all" if value is None else str(value)


def _curves(
    panel: Any,
    trials: list[TrialReport],
    key: Quantity,
    by: Literal["overwrite", "folders"],
    size: Size,
    name: Callable[[Any], str],
) -> None:
    """Figures 8 and 10: a curve for each value, over sizes; the rest as in the best."""
    figures = [trial for trial in trials if trial["role"] == f"figure-{by}"]
    if not figures:
        panel.text(0.5, 0.5, "not tried", ha="center", transform=panel.transAxes, color="0.5")
        return
    free = (by, size)
    rest = {(k, v) for k, v in figures[0]["settings"].items() if k not in free}
    curves: dict[int | None, dict[int, list[float]]] = {}
    for trial in trials:
        settings, cost = trial["settings"], trial[key]
        transfer = settings[size]
        if transfer and cost is not None and rest <= settings.items():
            own = curves.setdefault(settings[by], {})
            own.setdefault(transfer, []).append(cost)
    for value in sorted(curves, key=str):
        _sizes(panel, curves[value], name(value))
    _axis(panel, f"{size.removesuffix('_transfer')} transfer size")
