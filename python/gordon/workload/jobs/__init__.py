"""The seven jobs of the Gordon paper's Table 2, on Spark.

A job is a module with a function `run`, which uses only the DataFrame API: no Python runs in the
executors, and a job also runs over Spark Connect. Inputs and output are paths of any file system of
Hadoop: `file:`, `hdfs:`, `s3a:`.
"""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from gordon.errors import GordonError
from gordon.parts import unknown
from gordon.run.report import JobFigures, Parameters
from gordon.workload import spark, text

GB = 1_000_000_000
#: Lines of an input that are looked at before a job is run on it.
PEEK_LINES = 1000


@dataclass(frozen=True)
class Parameter:
    """A setting of a job. Its type is that of its default."""

    default: int | str
    help: str
    choices: tuple[str, ...] = ()
    at_least: int = 0


@dataclass(frozen=True)
class Job:
    """A job: `summary` and `paper_bytes` are its description and size in Table 2, `data` is the
    kind of corpus that it reads."""

    id: str
    title: str
    summary: str
    data: str
    paper_bytes: int
    parameters: dict[str, Parameter] = field(default_factory=dict)
    disk_per_byte: int = 6
    """Bytes of disk for each byte of input: the input, spills, shuffle files and the output."""

    def run(
        self, session: Any, inputs: list[str], output: str, parameters: Parameters | None = None
    ) -> JobFigures:
        """Runs the job in a session of Spark and returns its parameters and figures.

        Raises GordonError for parameters that do not fit, a missing input, and an output that
        exists.
        """
        complete = self.complete(parameters or {})
        module = import_module(f"gordon.workload.jobs.{self.id.replace('-', '_')}")
        try:
            figures: dict[str, int] = module.run(session, inputs, output, complete)
        except spark.analysis_error() as error:
            raise _explained(error, output) from error
        made: JobFigures = {"job": self.id, "parameters": complete}
        made.update(figures)  # type: ignore[typeddict-item] # the keys are those of JobFigures
        return made

    def complete(self, parameters: Parameters) -> Parameters:
        """The parameters with the defaults of those that are not given. Raises GordonError."""
        for name in parameters:
            if name not in self.parameters:
                raise unknown(f"parameter of the job {self.id}", name, list(self.parameters))
        return {
            name: _checked(name, parameter, parameters.get(name, parameter.default))
            for name, parameter in self.parameters.items()
        }


def _checked(name: str, parameter: Parameter, value: Any) -> Any:
    if isinstance(parameter.default, int):
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise _bad(name, value, "a whole number") from None
        if number < parameter.at_least or number != float(value):
            raise _bad(name, value, f"a whole number of at least {parameter.at_least}")
        return number
    if value not in parameter.choices:
        raise _bad(name, value, "one of " + ", ".join(parameter.choices))
    return value


def _bad(name: str, value: Any, expected: str) -> GordonError:
    return GordonError(f"{name}={value}: not {expected}", expected, kind="bad-parameter")


def _explained(error: Exception, output: str) -> GordonError:
    """The error for a query that Spark cannot plan."""
    what = str(error).splitlines()[0]
    if "PATH_NOT_FOUND" in what:
        return GordonError(what, "a path that the driver of Spark can read", kind="missing-input")
    if "PATH_ALREADY_EXISTS" in what:
        return GordonError(
            f"the output {output} exists", "name another folder, or remove it", kind="output-exists"
        )
    return GordonError(f"Spark refuses the job: {what}", kind="refused-by-spark")


_JOBS = (
    Job(
        "randomwriter",
        "RandomWriter",
        "Output random data",
        "none",
        10 * GB,
        {
            "size": Parameter(1 << 30, "Bytes to write, in records of 100 bytes.", at_least=100),
            "partitions": Parameter(16, "Number of output files.", at_least=1),
            "seed": Parameter(1, "Random seed."),
        },
    ),
    Job("identity", "Identity", "Copy all inputs to the output", "text", 15 * GB),
    Job("sort", "Sort", "Sort random numbers", "numbers", 1 * GB),
    Job("grep-simple", "Grep (simple)", "Search for “the” in multi-lingual text", "text", 8 * GB),
    Job(
        "grep-complex",
        "Grep (complex)",
        "Complex regular expression search in multi-lingual text",
        "text",
        8 * GB,
    ),
    Job(
        "ngram",
        "N-Gram",
        "Find frequently occurring N-word phrases in multi-lingual text",
        "text",
        4 * GB,
        {
            "n": Parameter(3, "Words of a phrase.", at_least=1),
            "minimum": Parameter(10, "Least number of occurrences to keep.", at_least=1),
        },
    ),
    Job(
        "webindex",
        "WebIndex",
        "Indexing of web pages",
        "web",
        13 * GB,
        {"format": Parameter("json", "Format of the index.", choices=("json", "parquet"))},
        # Each posting repeats the address of its page, in the shuffle and in the index.
        disk_per_byte=14,
    ),
)

#: The jobs by their ids, in the order of Table 2.
JOBS: dict[str, Job] = {job.id: job for job in _JOBS}


def get(id: str) -> Job:
    """The job with this id. Raises GordonError with the kind `unknown-name`."""
    if id not in JOBS:
        raise unknown("job", id, list(JOBS))
    return JOBS[id]


def check_input(session: Any, job: Job, inputs: list[str]) -> None:
    """Looks at the first lines of the inputs of a job.

    Raises GordonError with the kind `no-input` if none is given, `missing-input`, `empty-input`,
    `binary-input` if a line has a zero byte, and `bad-web-input` if a line is not a page in JSON.
    """
    if job.data == "none":
        return
    if not inputs:
        raise GordonError(
            f"the job {job.id} has no input", f"a corpus of {job.data}", kind="no-input"
        )
    f = spark.functions()
    names = ", ".join(inputs)
    try:
        first = text.lines(session, inputs).limit(PEEK_LINES)
        zero = f.sum(f.col("value").contains("\0").cast("int"))
        found = first.agg(f.count("*").alias("lines"), zero.alias("binary")).first()
    except spark.analysis_error() as error:
        raise _explained(error, "") from error
    if found["lines"] == 0:
        raise GordonError(
            f"{names}: the input is empty", f"a corpus of {job.data}", kind="empty-input"
        )
    if found["binary"]:
        raise GordonError(
            f"{names}: the input is binary: a line has a zero byte",
            f"a corpus of {job.data}, as text",
            kind="binary-input",
        )
    if job.data == "web":
        from gordon.workload.jobs.webindex import pages

        good = pages(session, inputs).limit(PEEK_LINES).count()
        if good < found["lines"]:
            raise GordonError(
                f"{names}: {found['lines'] - good} of the first {found['lines']} lines are not"
                ' JSON objects with the texts "url" and "html"',
                "a corpus of web pages",
                kind="bad-web-input",
            )
