"""What a run on a simulated flash device comes to, and several of them side by side."""

import json
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from gordon import _core
from gordon.runs import Run

# What a comparison puts side by side: name, path in the report.
RATIOS = {
    "simulated_s": "simulated_s",
    "bandwidth_mb_s": "bandwidth_mb_s",
    "iops": "iops",
    "read_mean_us": "read.latency_us.mean",
    "read_p99_us": "read.latency_us.p99",
    "read_p999_us": "read.latency_us.p999",
    "write_mean_us": "write.latency_us.mean",
    "write_p99_us": "write.latency_us.p99",
    "write_p999_us": "write.latency_us.p999",
    "write_amplification": "write_amplification",
    "erases": "erases",
    "energy_j": "energy_j",
    "lifetime_years": "lifetime_years",
}


class _Shown:
    """What has figures and a page."""

    def _runs(self) -> "list[Result]":
        raise NotImplementedError

    def _json(self) -> Any:
        raise NotImplementedError

    def html(self) -> str:
        """One HTML file that works offline."""
        from gordon.report.flash import render

        return render(self._runs())

    def figures(self) -> dict[str, Any]:
        """Plotly figures by name: bandwidth, queue depth and utilisation over time, latencies,
        erases."""
        import plotly.graph_objects as go  # type: ignore[import-untyped, unused-ignore]

        from gordon.report.flash_figures import figures, light

        return {name: go.Figure(light(spec)) for name, spec in figures(self._runs()).items()}

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the report: `.html`, or `.json` for the numbers alone."""
        target = Path(fspath(path))
        if target.suffix == ".html":
            text = self.html()
        elif target.suffix == ".json":
            text = json.dumps(self._json(), indent=1) + "\n"
        else:
            raise _core.GordonError(f"{target}: neither .html nor .json", "to_parquet for tables")
        target.write_text(text, encoding="utf-8")


class Result(Run, _Shown):
    """One run: `report` is the summary, tables are Arrow columns."""

    def _runs(self) -> "list[Result]":
        return [self]

    def _json(self) -> Any:
        return self.report


class Comparison(_Shown):
    """The same load on several devices; ratios are to the first."""

    def __init__(self, results: list[Result]) -> None:
        self.results = results

    @cached_property
    def report(self) -> dict[str, Any]:
        """Each device's summary, and its figures relative to the first's."""
        first = self.results[0]
        return {
            "kind": first.report["kind"],
            "baseline": first.name,
            "devices": [
                {"name": r.name, "relative": relative(r, first), "report": r.report}
                for r in self.results
            ],
        }

    def __getitem__(self, name: str) -> Result:
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)

    def _runs(self) -> list[Result]:
        return self.results

    def _json(self) -> Any:
        return self.report

    def __repr__(self) -> str:
        return f"<gordon.flash.Comparison of {', '.join(r.name for r in self.results)}>"


def figure(report: dict[str, Any], path: str) -> float | None:
    """A number of the report, by its path."""
    value: Any = report
    for key in path.split("."):
        value = value[key]
    return None if value is None else float(value)


def relative(result: Result, first: Result) -> dict[str, float | None]:
    """Figures over the first's; none where there is nothing to divide, or to divide by."""
    found = {}
    for name, path in RATIOS.items():
        ours, theirs = figure(result.report, path), figure(first.report, path)
        found[name] = ours / theirs if ours is not None and theirs else None
    return found
