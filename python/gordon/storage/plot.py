"""Plots bandwidth against transfer size on logarithmic axes: sequential and random panels."""

from itertools import groupby

from gordon import picture
from gordon.human import binary
from gordon.storage.point import Point, series
from gordon.storage.result import Characterisation


def draw(report: Characterisation, path: str) -> None:
    picture.check(path)

    points: list[Point] = [*report["points"]]
    points.sort(key=lambda p: (p["pattern"], p["op"], p["queue_depth"]))
    orders: list[str] = sorted({point["pattern"] for point in points}, reverse=True)
    depths = sorted({point["queue_depth"] for point in points})
    figure = picture.figure(figsize=(5 * len(orders), 4.5), layout="constrained")
    panels = figure.subplots(1, len(orders), sharey=True, squeeze=False)[0]
    for (name, depth), line in groupby(points, key=series):
        pattern, _, op = name.partition("-")
        at = sorted((point["size_bytes"], point["bandwidth_mb_s"]) for point in line)
        panels[orders.index(pattern)].plot(
            [size for size, _ in at],
            [rate for _, rate in at],
            marker="o" if op == "read" else "s",
            markersize=3,
            color=f"C{depths.index(depth)}",
            linestyle="-" if op == "read" else "--",
            label=f"{op}, {depth} outstanding",
        )
    marks = sorted({point["size_bytes"] for point in points})
    marks = marks[:: 1 + len(marks) // 8]
    for order, panel in zip(orders, panels, strict=True):
        panel.set(xscale="log", yscale="log", title=order, xlabel="transfer size")
        panel.set_xticks(marks, [binary(size) for size in marks], rotation=45, fontsize="small")
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    panels[0].set_ylabel("MB/s")
    figure.suptitle(f"{report['storage']}, {report['kind'].partition(':')[0]}", fontsize="medium")
    picture.save(figure, path)
