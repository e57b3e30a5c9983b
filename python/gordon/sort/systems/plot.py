"""Figure 13: time against power on logarithmic axes; equal records/J are straight lines."""

from gordon import picture
from gordon.sort.systems.report import Extrapolation

SCALED = "measured at another size, time scaled"


def draw(report: Extrapolation, path: str) -> None:
    picture.check(path)
    figure = picture.figure(figsize=(7, 5), layout="constrained")
    from matplotlib.ticker import FuncFormatter

    def plain(value: float, _: int | None) -> str:
        return f"{value:g}"

    panel = figure.subplots()
    points = _points(report)
    named: set[str] = set()
    kinds = (("measured", "C0", "C0"), (SCALED, "C0", "none"), ("modelled", "C1", "none"))
    for kind, color, face in kinds:
        own = [point for point in points if point[0] == kind]
        if own:
            panel.scatter(
                [power for _, _, power, _ in own],
                [time for _, _, _, time in own],
                marker="s" if kind == "modelled" else "o",
                facecolors=face,
                edgecolors=color,
                label=kind,
            )
        for _, name, power, time in own:
            if name not in named:
                named.add(name)
                panel.annotate(
                    name,
                    (power, time),
                    xytext=(4, 4),
                    textcoords="offset points",
                    fontsize="x-small",
                )
    panel.set(xscale="log", yscale="log", xlabel="power, W", ylabel="time, s")
    if points:
        powers = [power for _, _, power, _ in points]
        ends = [0.8 * min(powers), 1.25 * max(powers)]
        for plateau in report["plateaus"]["plateaus"]:
            joules = report["records"] / plateau["records_per_j"]
            panel.plot(ends, [joules / watts for watts in ends], color="0.6", linewidth=1, zorder=0)
            panel.annotate(
                f"{plateau['records_per_j']:,.0f}/J",
                (ends[0], joules / ends[0]),
                fontsize="x-small",
                color="0.4",
            )
        panel.legend(fontsize="small")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(FuncFormatter(plain))
        axis.set_minor_formatter(FuncFormatter(plain))
    panel.tick_params(which="both", labelsize="x-small")
    panel.grid(alpha=0.3, which="both")
    panel.set_title(f"{report['records']:,} records; lines: equal records/J", fontsize="medium")
    picture.save(figure, path)


def _points(report: Extrapolation) -> list[tuple[str, str, float, float]]:
    """Kind, name, power, and the time of the report's number of records. The time of a row of
    another size is scaled to it, and its kind says so."""
    found = []
    for row in report["systems"]:
        measured = row["measured"]
        sizes = {"measured": measured["records"] if measured else 0, "modelled": report["records"]}
        for kind, figures in (("measured", measured), ("modelled", row["modelled"])):
            if figures and figures["records_per_j"] and figures["power_w"]:
                time, name, size = figures["time_s"], row["name"], sizes[kind]
                shown = kind if size == report["records"] else SCALED
                if time is None or shown == SCALED:
                    time = report["records"] / figures["records_per_j"] / figures["power_w"]
                if shown == SCALED:
                    name = f"{name}, {size:.0e} records".replace("e+0", "e").replace("e+", "e")
                found.append((shown, name, figures["power_w"], time))
    return found
