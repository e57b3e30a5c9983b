"""The report of a sweep: the best configurations, the effect of each range, the Pareto front.

One HTML file that works offline. The tables are plain HTML; a script draws the figures from data in
the file. The same result gives the same bytes.
"""

from collections import Counter
from typing import Literal

from gordon.human import in_words
from gordon.report import page
from gordon.report.run_figures import axis, layout
from gordon.sweep import words
from gordon.sweep.config import Objective
from gordon.sweep.result import Level, SweepReport
from gordon.sweep.rows import best, is_number
from gordon.untyped import Row, Spec

Quantile = Literal["min", "q1", "q3", "max"]

#: Configurations in the table of an objective.
BEST = 20
#: Points of the figure of two objectives; those of the front are always in it.
POINTS = 5_000
#: Different warnings.
WARNINGS = 20
#: Values of a range in the table of inputs; of more, the first and the last.
VALUES = 20
#: Ranges whose values the heading has.
SAID = 4
#: Configurations of the front in its table.
FRONT = 100


def render(result: SweepReport) -> str:
    """The report's HTML."""
    rows = [row for row in result["rows"] if row["error"] is None]
    objectives = [Objective(*text.rsplit(":", 1)) for text in result["objectives"]]
    specs = drawn(result)
    about = {key: value for key, value in result.items() if key not in ("rows", "effects")}
    front = set(result["pareto"])
    return page.render(
        "sweep",
        {"figures": specs, "effects": result["effects"]} | about,
        script="runs",
        first={"provenance": {"version": result["version"]}},
        trace=f"gordon {result['command']}",
        sentence=_sentence(objectives, list(result["ranges"]), rows),
        titles={key: spec["layout"]["title"]["text"] for key, spec in specs.items()},
        r=result,
        ok=len(rows),
        objectives=objectives,
        column=words.column,
        words_of=lambda key: words.of_result(key)[0],
        front_of=in_words([words.of_result(one.name)[0] for one in objectives]),
        best={str(one): best(rows, one)[:BEST] for one in objectives},
        front=[row for row in best(rows, objectives[0]) if row["configuration"] in front][:FRONT],
        errors=_errors(result["rows"]),
        settings=_settings(result),
        warnings=_warnings(rows),
    )


def drawn(result: SweepReport) -> dict[str, Spec]:
    """The figures, by name."""
    rows = [row for row in result["rows"] if row["error"] is None]
    objectives = [Objective(*text.rsplit(":", 1)) for text in result["objectives"]]
    effects = _effects(result)
    if len(objectives) < 2:
        return effects
    return {"front": _front(result, rows, objectives)} | effects


def _sentence(objectives: list[Objective], ranges: list[str], rows: list[Row]) -> str:
    """The best value of each objective, and the settings that have it."""
    found = []
    for objective in objectives:
        known = [row for row in best(rows, objective) if is_number(row.get(objective.name))]
        if known:
            row = known[0]
            what, unit = words.of_result(objective.name)
            degree = "least" if objective.way == "min" else "largest"
            settings = [words.setting(name, row[name]) for name in ranges]
            how = in_words(settings) if len(settings) <= SAID else "its settings"
            found.append(
                f"the {degree} {what} is {words.value(row[objective.name], unit)}, with {how} "
                f"(configuration {row['configuration']})"
            )
    said = "; ".join(found)
    return f"{said[0].upper()}{said[1:]}." if said else "No configuration has a result."


def _effects(result: SweepReport) -> dict[str, Spec]:
    """A figure for each range and objective: its mean and its spread at each value."""
    ways = dict(text.rsplit(":", 1) for text in result["objectives"])
    names = list(result["ranges"])
    drawn = {}
    for effect in result["effects"]:
        levels = effect["levels"]
        labels = [page.plain(level["value"]) for level in levels]
        name, objective = effect["range"], effect["objective"]
        better = "less" if ways[objective] == "min" else "more"
        spread = [
            *_band("all", labels, levels, "min", "max"),
            *_band("middle half", labels, levels, "q1", "q3"),
        ]
        median = {
            "type": "scatter",
            "mode": "lines",
            "name": "median",
            "x": labels,
            "y": [level["median"] for level in levels],
            "line": {"color": "--soft", "dash": "dot"},
        }
        mean = {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "mean",
            "x": labels,
            "y": [level["mean"] for level in levels],
            "line": {"color": "--cpu"},
            "marker": {"color": "--cpu"},
        }
        ranged = words.of_option(name)
        x = axis(ranged, type="category", categoryorder="array", categoryarray=labels)
        made = layout(f"{words.of_result(objective)[0]} by {ranged}", x, _axis(objective, better))
        number = list(ways).index(objective)
        drawn[f"effect-{number}-{names.index(name)}"] = {
            "data": [*spread, median, mean],
            "layout": made | {"showlegend": True},
        }
    return drawn


def _axis(objective: str, better: str) -> Spec:
    """The axis of an objective, with its unit, of which `better` is better."""
    what, unit = words.of_result(objective)
    return axis(f"{what}{unit and ', '}{unit}; {better} is better")


def _band(
    name: str, labels: list[str], levels: list[Level], low: Quantile, high: Quantile
) -> list[Spec]:
    """The area between two quantiles of each value."""
    line: Spec = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": labels,
        "line": {"width": 0},
    }
    return [
        line | {"y": [level[high] for level in levels], "showlegend": False, "hoverinfo": "skip"},
        line
        | {
            "y": [level[low] for level in levels],
            "fill": "tonexty",
            "fillcolor": "--band",
            "hoverinfo": "skip",
        },
    ]


def _front(result: SweepReport, rows: list[Row], objectives: list[Objective]) -> Spec:
    """Two objectives against each other, with the Pareto front of these two."""
    from gordon.sweep.rows import front

    first, second = objectives[:2]
    known = [r for r in rows if is_number(r.get(first.name)) and is_number(r.get(second.name))]
    by_number = {row["configuration"]: row for row in known}
    on = [by_number[number] for number in front(known, [first, second])]
    step = -(-len(known) // POINTS)
    points = known[::step] if step > 1 else known

    def marks(name: str, chosen: list[Row], mode: str, colour: str) -> Spec:
        return {
            "type": "scatter",
            "mode": mode,
            "name": name,
            "x": [row[first.name] for row in chosen],
            "y": [row[second.name] for row in chosen],
            "text": [
                ", ".join(words.setting(key, row[key]) for key in result["ranges"])
                for row in chosen
            ],
            "hovertemplate": "%{text}<br>%{x}, %{y}",
            "line": {"color": colour},
            "marker": {"color": colour},
        }

    made = layout(
        f"{words.of_result(second.name)[0]} against {words.of_result(first.name)[0]}",
        _axis(first.name, "less" if first.way == "min" else "more"),
        _axis(second.name, "less" if second.way == "min" else "more"),
    )
    data = [
        marks("configurations", points, "markers", "--soft"),
        marks("Pareto front", on, "lines+markers", "--cpu"),
    ]
    return {"data": data, "layout": made | {"showlegend": True}}


def _errors(rows: list[Row]) -> list[tuple[str, int, int]]:
    """Each different error, the number of its configurations, and the first one."""
    failed = [row for row in rows if row["error"] is not None]
    counts = Counter(row["error"] for row in failed)
    first = {row["error"]: row["configuration"] for row in reversed(failed)}
    return [(error, count, first[error]) for error, count in counts.most_common()]


def _warnings(rows: list[Row]) -> list[tuple[str, str]]:
    """Each different warning, with the number of its configurations."""
    texts = (text for row in rows for text in (row.get("warnings") or "").splitlines())
    counts = Counter(texts)
    found = [(f"{count:,} of {len(rows):,}", text) for text, count in counts.most_common(WARNINGS)]
    if len(counts) > WARNINGS:
        found.append(("", f"{len(counts) - WARNINGS:,} others are in the column warnings"))
    return found


def _settings(result: SweepReport) -> dict[str, object]:
    found: dict[str, object] = {"command": f"gordon {result['command']}"}
    found |= result["settings"]
    for name, values in result["ranges"].items():
        many = len(values) > VALUES
        ends = f"{page.plain(values[0])} to {page.plain(values[-1])}, {len(values):,} values"
        found[f"range of {name}"] = ends if many else values
    if result["sample"]:
        found["sample"] = (
            f"{result['sample']['size']:,} of {result['combinations']:,}, "
            f"seed {result['sample']['seed']}"
        )
    found |= {f"SHA-256 of {one['path']}": one["sha256"] for one in result["inputs"]}
    return found
