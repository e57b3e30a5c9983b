"""The results of public functions: mappings with typed keys, tables, figures and pages.

A result is the report as JSON has it, `result["miss_ratio"]`; each key is an attribute as well,
`result.miss_ratio`. Type checkers know the keys of each kind of result (`gordon.fields`).
"""

import json
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from gordon.columns import VALUES, Columns, arrow, as_csv, html_of, of, short
from gordon.errors import GordonError, missing_package
from gordon.files import made_folder, write_all
from gordon.parts import unknown
from gordon.untyped import Spec

if TYPE_CHECKING:
    from gordon._core import Table

T_co = TypeVar("T_co", bound=Mapping[str, Any], covariant=True)
#: Values that a text shows.
SAID = 4


if TYPE_CHECKING:
    _Base = Mapping[str, Any]
else:

    class _Base:
        """Not a registered mapping, which polars would take for columns."""


class Result(_Base, Generic[T_co]):
    """The result of a public function. Its keys are in snake_case and carry their units."""

    ROWS: ClassVar[str] = VALUES
    """The table that stands for the whole: a list of rows by its key, or the values themselves."""
    SAYS: ClassVar[tuple[str, ...]] = ()
    """Keys of the values that a text shows; without them the first ones."""

    def __init__(self, report: T_co) -> None:
        self._report = report

    @property
    def report(self) -> T_co:
        """The result as a dict, as JSON has it."""
        return self._report

    def __getitem__(self, key: str) -> Any:
        return self._report[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._report)

    def __len__(self) -> int:
        return len(self._report)

    def __contains__(self, key: object) -> bool:
        return key in self._report

    def __eq__(self, other: object) -> bool:
        return self._report == (other.report if isinstance(other, Result) else other)

    __hash__ = None  # type: ignore[assignment]

    def keys(self) -> KeysView[str]:
        return self._report.keys()

    def values(self) -> ValuesView[Any]:
        return self._report.values()

    def items(self) -> ItemsView[str, Any]:
        return self._report.items()

    def get(self, key: str, default: Any = None) -> Any:
        return self._report.get(key, default)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self._report, **other}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # A copy that is being made has no report yet.
            report = self.__dict__.get("_report", {})
            if name in report:
                return report[name]
            error = unknown("key", name, list(report))
            raise AttributeError(f"{_name(self)}: {error}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(key for key in self if key.isidentifier())})

    def __repr__(self) -> str:
        return f"<{_name(self)}: {self.says()}>"

    def says(self) -> str:
        """The result in a sentence, or its most important values."""
        sentence = self.get("sentence")
        if isinstance(sentence, str):
            return sentence
        names = self.SAYS or [
            name
            for name, value in self.items()
            if isinstance(value, str | int | float) and name not in ("kind", "version")
        ]
        said = [f"{name} {short(self[name])}" for name in names[:SAID] if name in self]
        return ", ".join(said) or f"{len(self)} values"

    @property
    def tables(self) -> list[str]:
        """The names of the tables of the result; the one that stands for the whole is first."""
        names = list(self._tables())
        return sorted(names, key=lambda name: name != self._rows())

    def table(self, name: str | None = None) -> "Table":
        """A table, for libraries that read Arrow: `pyarrow.table(t)`, `polars.DataFrame(t)`.
        Without a name, that which stands for the whole. Raises GordonError for an unknown name."""
        return arrow(self.columns(name))

    def columns(self, name: str | None = None) -> Columns:
        """The columns of a table as lists, by name. Raises GordonError for an unknown name."""
        tables = self._tables()
        name = self._rows() if name is None else name
        if name not in tables:
            raise unknown("table", name, list(tables))
        return tables[name]

    def _rows(self) -> str:
        """The name of the table that stands for the whole."""
        return self.ROWS

    def _tables(self) -> dict[str, Columns]:
        """The columns of all tables."""
        found = of(self)
        # A list without rows is a table without columns.
        return {self.ROWS: {}} | found if self.ROWS in self else found

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table that stands for the whole, by Arrow's PyCapsule interface."""
        return self.table().__arrow_c_stream__(requested_schema)

    def to_pandas(self, name: str | None = None) -> Any:
        """A table as a pandas.DataFrame. Raises GordonError without pandas or pyarrow, and for an
        unknown name."""
        return _imported("pyarrow", "pandas").table(self.table(name)).to_pandas()

    def to_polars(self, name: str | None = None) -> Any:
        """A table as a polars.DataFrame. Raises GordonError without polars, and for an unknown
        name."""
        return _imported("polars").DataFrame(self.table(name))

    def to_parquet(self, folder: str | PathLike[str]) -> None:
        """Writes each table to NAME.parquet in the folder. Raises GordonError if it cannot."""
        place = made_folder(folder)
        for name in filter(self.columns, self.tables):
            self.table(name).write(fspath(place / f"{name}.parquet"))

    def to_csv(self, name: str | None = None) -> str:
        """A table as CSV, with `true` and `false` as in JSON. Raises GordonError for an unknown
        name."""
        return as_csv(self.columns(name))

    def html(self) -> str:
        """The report, one HTML file that works offline. Raises GordonError for a kind of result
        that has none."""
        raise GordonError(
            f"{_name(self)} has no page", "a name that ends in .json or .csv", kind="no-page"
        )

    def figures(self) -> Spec:
        """The figures of the report as plotly figures, by name. Raises GordonError without the
        package plotly."""
        specs = self._figures()
        if not specs:
            return {}
        go = _imported("plotly.graph_objects", extra="figures")
        from gordon.report.run_figures import light

        return {name: go.Figure(light(spec)) for name, spec in specs.items()}

    def figure(self, name: str | None = None) -> Any:
        """A figure of the report, by default the first one. Raises GordonError for an unknown name
        or a kind of result that has none, and without the package plotly."""
        specs = self._figures()
        if not specs:
            raise GordonError(
                f"{_name(self)} has no figure", "to_pandas() or to_polars()", kind="no-figure"
            )
        name = next(iter(specs)) if name is None else name
        if name not in specs:
            raise unknown("figure", name, list(specs))
        return self.figures()[name]

    def _figures(self) -> dict[str, Spec]:
        """The figures in plotly's format, by name."""
        return {}

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the report to a `.html` file, only its numbers to a `.json` file, or the table
        that stands for the whole to `.csv` or `.parquet`. Raises GordonError for another format,
        or if the file cannot be written."""
        target = Path(fspath(path))
        match target.suffix:
            case ".html":
                write_all({fspath(path): self.html()})
            case ".json":
                write_all({fspath(path): json.dumps(self.report, indent=1) + "\n"})
            case ".csv":
                write_all({fspath(path): self.to_csv()})
            case ".parquet":
                self.table().write(fspath(path))
            case _:
                raise GordonError(
                    f"{target}: a report is .html, .json, .csv or .parquet",
                    "a name that ends in one of these",
                    kind="bad-report-format",
                )

    def _repr_html_(self) -> str:
        """The first rows of the table that stands for the whole, for notebooks."""
        found = self.columns()
        rows = max(map(len, found.values()), default=0)
        return f"<p>{escape(_name(self))}: {escape(self.says())}</p>{html_of(found, rows)}"


def _name(result: Result[Any]) -> str:
    """The place where people find the class of a result."""
    kind = type(result)
    package = ".".join(kind.__module__.split(".")[:2])
    return f"{package}.{kind.__name__}"


def _imported(*names: str, extra: str | None = None) -> Any:
    """The first of these modules, if all are installed."""
    from importlib import import_module

    found = []
    for name in names:
        try:
            found.append(import_module(name))
        except ImportError:
            package = name.partition(".")[0]
            raise missing_package(package, extra) from None
    return found[0]
