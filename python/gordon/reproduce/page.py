"""The pages of a comparison with a paper: one for each table and figure, and a summary."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from gordon.human import figures, short
from gordon.report import measured
from gordon.report.entries import COUNT, NUMBER, TEXT, Entry, Unit, of
from gordon.report.run_figures import TONES, axis, layout, stripe
from gordon.reproduce.papers import Outcome, Paper
from gordon.reproduce.row import MEAN, TOLERANCE, Item
from gordon.untyped import Spec

#: Jobs or systems that a chart has in colours of their own.
COLOURED = 6
#: Larger numbers have a prefix.
LARGE = 1e5


def pages(paper: Paper, items: Sequence[Item], found: Sequence[Outcome]) -> dict[str, str]:
    """The HTML by the names of the files: `index.html`, and one for each place with figures."""
    made = {}
    for one in found:
        if one.figures:
            made[f"{_slug(one.place.place)}.html"] = _page(paper, one)
    return {"index.html": _index(paper, items, found), **made}


def _slug(place: str) -> str:
    return re.sub("[^a-z0-9]+", "-", place.casefold()).strip("-")


def command(paper: Paper, place: str) -> str:
    """The command that computes a place."""
    quoted = f'"{place}"' if " " in place else place
    return f"gordon reproduce {paper.name} --figure {quoted}"


def _page(paper: Paper, one: Outcome) -> str:
    items = sorted(one.figures, key=lambda item: item["job"] != MEAN)
    drawn = _ratios(items)
    return measured.render(
        measured.Page(
            what=f"reproduce {paper.name}",
            subject=command(paper, one.place.place),
            sentence=f"{one.place.place}, {one.place.title}: {one.agree} of {len(items)} figures "
            f"agree within {TOLERANCE:.0%}.",
            lead=f"{paper.title}, {one.place.of}. Every value of ours is computed by this command; "
            "none is typed in.",
            figures={"ratios": drawn} if drawn["data"] else {},
            notes={
                "ratios": f"A point is a figure; the band is {1 - TOLERANCE:.0%} to "
                f"{1 + TOLERANCE:.0%} of the paper's, or of the nearest end of its range."
            },
            tables=[measured.Table("items", "Figures", items, _ITEMS)],
            terms=_TERMS,
            warnings=[],
            settings={
                "paper": paper.title,
                "section": one.place.of,
                "command": command(paper, one.place.place),
            },
            result=items,
        )
    )


def _index(paper: Paper, items: Sequence[Item], found: Sequence[Outcome]) -> str:
    agree = sum(bool(item["agrees"]) for item in items)
    missing = [one.place for one in found if one.place.missing]
    rows = [
        {"place": one.place, "agree": one.agree, "figures": len(one.figures)}
        for one in found
        if one.figures
    ]
    return measured.render(
        measured.Page(
            what=f"reproduce {paper.name}",
            subject=f"gordon reproduce {paper.name}",
            sentence=f"{agree} of {len(items)} figures of {paper.title} agree within "
            f"{TOLERANCE:.0%}; {len(missing)} tables and figures are inputs, drawings or not "
            "reproducible here.",
            lead="Every table, figure and section with results, in the order of the paper. Each "
            "has a page of its own next to this one.",
            figures={"agreement": _agreement(rows)} if rows else {},
            notes={},
            tables=[
                measured.Table("places", "Tables and figures", rows, _PLACES),
                measured.Table(
                    "differing",
                    "Figures that differ",
                    [item for item in items if item["agrees"] is False],
                    _ITEMS,
                    is_folded=True,
                ),
                measured.Table("missing", "Not reproduced", missing, _MISSING),
            ],
            terms=_TERMS,
            warnings=[],
            settings={"paper": paper.title, "command": f"gordon reproduce {paper.name}"},
            result=list(items),
        )
    )


def _ratios(items: Sequence[Item]) -> Spec:
    """Ours over the paper's on a logarithmic axis, a line for each figure."""
    known = [item for item in items if item["ratio"]]
    jobs = list(dict.fromkeys(item["job"] for item in known))
    data = []
    for number, job in enumerate(jobs):
        own = [item for item in known if item["job"] == job]
        is_plain = len(jobs) > COLOURED and job != MEAN
        tone = "--overhead" if is_plain else TONES[number % len(TONES)]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": job,
                "x": [item["ratio"] for item in own],
                "y": [item["what"] for item in own],
                "marker": {
                    "color": "--cpu" if job == MEAN else tone,
                    "size": 11 if job == MEAN else 7,
                },
                "hovertemplate": f"{job}, %{{y}}: %{{x:.3~g}}<extra></extra>",
            }
        )
    count = len({item["what"] for item in known})
    x = axis("ours over the paper's", type="log", tickformat="~g", dtick="D2", rangemode="normal")
    y = axis("", type="category", autorange="reversed", automargin=True)
    made = layout("Ours over the paper's", x, y)
    band = stripe(1 - TOLERANCE, 1 + TOLERANCE, "--band")
    more = {"shapes": [band], "height": 170 + 22 * count, "showlegend": 1 < len(jobs) <= COLOURED}
    return {"data": data, "layout": made | more}


def _agreement(rows: Sequence[Mapping[str, Any]]) -> Spec:
    """A bar for each place: the shares of the figures that agree and that differ."""
    names = [row["place"].place for row in rows]
    agree = [row["agree"] / row["figures"] for row in rows]
    parts = {
        "agree": (agree, [row["agree"] for row in rows], "--network"),
        "differ": (
            [1 - share for share in agree],
            [row["figures"] - row["agree"] for row in rows],
            "--storage",
        ),
    }
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": shares,
            "y": names,
            "customdata": counts,
            "marker": {"color": tone},
            "hovertemplate": f"%{{y}}: %{{customdata}} {name}<extra></extra>",
        }
        for name, (shares, counts, tone) in parts.items()
    ]
    y = axis("", type="category", autorange="reversed", automargin=True, showgrid=False)
    x = axis("share of the figures", tickformat=".0%", range=[0, 1])
    made = layout("Agreement", x, y)
    more = {"barmode": "stack", "showlegend": True, "height": 150 + 30 * len(rows)}
    return {"data": data, "layout": made | more | {"legend": {"traceorder": "normal"}}}


def printed(item: Item) -> str:
    """The paper's figure, its bound, its range, or its words."""
    paper = item["paper"]
    if paper is None or isinstance(paper, str):
        return paper or "–"
    ends = paper["low"], paper["high"]
    is_large = any(end is not None and abs(end) >= LARGE for end in ends)
    low, high = (None if end is None else _number(end, is_large) for end in ends)
    if low is None:
        return f"at most {high}"
    if high is None:
        return f"at least {low}"
    return low if low == high else f"{low} to {high}"


def _number(value: float, is_large: bool) -> str:
    """A number of a paper with the digits that it prints; a large one with a prefix."""
    return short(value, "") if is_large else f"{value:.6g}"


def ours(item: Item) -> str:
    """Our figure, or what our tables say."""
    value = item["ours"]
    if isinstance(value, str):
        return value
    return short(value, "") if abs(value) >= LARGE else figures(value)


_ITEMS: tuple[Entry[Any], ...] = (
    Entry("what", "figure", of("what"), TEXT),
    Entry("job", "of", lambda item: item["job"] or None, TEXT),
    Entry("paper", "paper", printed, COUNT),
    Entry("ours", "ours", ours, COUNT),
    Entry("unit", "unit", lambda item: item["unit"] or None, TEXT),
    Entry("ratio", "ratio", of("ratio"), NUMBER),
    Entry("agrees", "agrees", lambda item: "yes" if item["agrees"] else "no", TEXT),
    Entry("reason", "reason", lambda item: item["reason"] or None, TEXT),
)
_LINK = Unit(str, lambda file: Markup('<a href="{0}">{0}</a>').format(file), is_text=True)
_PLACES: tuple[Entry[Any], ...] = (
    Entry("place", "place", lambda row: row["place"].place, TEXT),
    Entry("title", "what", lambda row: row["place"].title, TEXT),
    Entry("of", "of the paper", lambda row: row["place"].of, TEXT),
    Entry("figures", "figures", of("figures"), COUNT),
    Entry("agree", "agree", of("agree"), COUNT),
    Entry("page", "page", lambda row: f"{_slug(row['place'].place)}.html", _LINK),
)
_MISSING: tuple[Entry[Any], ...] = (
    Entry("place", "place", lambda place: place.place, TEXT),
    Entry("title", "what", lambda place: place.title, TEXT),
    Entry("reason", "reason", lambda place: place.missing, TEXT),
    Entry("see", "nearest command", lambda place: place.see or None, TEXT),
)
_TERMS = {
    "paper": "What the paper prints: a number, the ends of a range or of what rounds to it, a "
    "bound, or a statement.",
    "ratio": "Ours over the paper's, or over the nearest end of its range.",
    "agrees": f"The ratio is within {TOLERANCE:.0%} of one, which is how well the Gordon paper's "
    "power model agrees with its measurements (section 5.2); or the statement holds.",
}
