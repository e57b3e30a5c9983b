"""The sort, and the generator and the checker of its files. Sizes are text (`2GB`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from gordon.errors import GordonError
from gordon.options import Device, Path, Settings, several
from gordon.options.kinds import (
    COUNT,
    DIR,
    FILE,
    PATH,
    PRESET,
    SEED,
    SETTING,
    SIZE,
    THREADS,
    Amount,
    Choice,
    Each,
    Named,
    Seconds,
    Share,
    Text,
    Words,
)

#: Methods of the external sort.
METHODS = ("auto", "one-pass", "distribute", "merge")
#: Methods of sorting records in memory.
IN_CORE = ("radix", "merge")
#: I/O backends.
IO = ("auto", "uring", "threads")
#: Handling of a partial record at the end of a file.
PARTIAL = ("refuse", "keep", "drop")


@dataclass(frozen=True, kw_only=True)
class Striped:
    """How inputs make one file."""

    GROUP: ClassVar = "Records"
    stripe: Annotated[str | None, SIZE] = None
    """Read IN... in parallel as one file striped over them in units of SIZE (RAID-0). Default:
    IN... are concatenated."""


@dataclass(frozen=True, kw_only=True)
class Records:
    """The format of the records and their keys. By default records of the sort benchmark."""

    GROUP: ClassVar = "Records"
    lines: bool = False
    """Sort lines, in the order of sort(1) with LC_ALL=C: by the values of bytes."""
    record: Annotated[int | None, COUNT] = None
    """Sort records of N bytes by all their bytes, or by --key. Default: 100, of which the first 10
    are the key; text is refused."""
    keys: Annotated[Sequence[str], Named("--key", ("-k",)), Each("KEY")] = ()
    """Lines: a key as for sort(1), such as 2,2n. Records: START:END[:TYPE][:r], such as 8:16:u64be.
    Repeatable, most significant key first. Default: the whole line or record."""
    order: Annotated[str | None, Text("LETTERS")] = None
    """Lines: options of sort(1) for keys without options: letters of bdfghiMnrV."""
    field_separator: Annotated[str | None, Named("--field-separator", ("-t",)), Text("CHAR")] = None
    """Lines: field separator. Default: the start of each run of blanks, as sort(1)."""
    zero_terminated: Annotated[bool, Named("--zero-terminated", ("-z",))] = False
    """Lines end with a NUL byte."""
    last_resort: bool = False
    """Lines: order equal keys by the whole line, as sort(1) without -s. Default: keep the input's
    order."""

    def config(self) -> Any:
        """The core's."""
        if self.lines and self.record is not None:
            raise GordonError(
                "--lines and --record exclude each other",
                "give only one of them",
                kind="exclusive-options",
            )
        if self.lines:
            return {
                "lines": {
                    "keys": several(self.keys),
                    "options": self.order or "",
                    "separator": self.field_separator,
                    "zero": self.zero_terminated,
                    "stable": not self.last_resort,
                }
            }
        of_lines = ("order", "field_separator", "zero_terminated", "last_resort")
        given = [name for name in of_lines if getattr(self, name)]
        if given:
            option = given[0].replace("_", "-")
            raise GordonError(
                f"--{option} applies to lines only", "also give --lines", kind="needs-option"
            )
        if self.record is not None:
            return {"fixed": {"record": self.record, "keys": several(self.keys)}}
        if self.keys:
            raise GordonError(
                "--key needs --lines or --record: the key of benchmark records is fixed",
                "also give --lines, or --record N",
                kind="needs-option",
            )
        return "benchmark"


@dataclass(frozen=True, kw_only=True)
class Unique:
    """Which records are written."""

    GROUP: ClassVar = "Records"
    unique: Annotated[bool, Named("--unique", ("-u",))] = False
    """Write only the first of the records whose keys are equal, as sort -u does. The order of
    --last-resort is not part of the key."""


@dataclass(frozen=True, kw_only=True)
class SortSettings:
    """Settings of a sort that do not change its result."""

    GROUP: ClassVar = "Settings"
    memory: Annotated[str | None, SIZE] = None
    """Maximum memory for records and buffers. The program itself takes about 30 MB more. Default:
    half of the available memory."""
    temp: Annotated[Sequence[Path], Words("DIR,DIR...")] = ()
    """Folders of temporary files, used round-robin. Default: the output's folder."""
    method: Annotated[str, Choice(METHODS)] = "auto"
    """one-pass: all in memory; distribute: buckets of key ranges, each sorted in memory; merge:
    sorted runs, then merged. auto: the first that fits."""
    in_core: Annotated[str, Choice(IN_CORE)] = "radix"
    """Sorting in memory. radix: keys scattered by ranges, each range sorted; merge: sorted in
    pieces as they are read, then merged."""
    preset: Annotated[str | None, Text("NAME")] = None
    """Transfer sizes that the JouleSort paper found best on one of its systems: 1B, 2, 3B-3E,
    4C-4G."""
    input_transfer: Annotated[str | None, SIZE] = None
    """Bytes per read of the input."""
    output_transfer: Annotated[str | None, SIZE] = None
    """Bytes per write of the output."""
    temp_transfer: Annotated[str | None, SIZE] = None
    """Bytes per transfer of temporary files."""
    temp_stripe: Annotated[str | None, SIZE] = None
    """Unit in which temporary data is striped over the folders of --temp. Default: each transfer
    goes to one folder."""
    threads: Annotated[int, THREADS] = 0
    """Number of threads that sort; 0 for one per core."""
    buffered: bool = False
    """Use the page cache instead of direct I/O."""
    io: Annotated[str, Choice(IO)] = "auto"
    """Use io_uring, or threads with one blocking transfer each. auto: io_uring if the system allows
    it."""
    overwrite: bool = False
    """Overwrite the existing output in place, so that its blocks on the device are reused. An
    interrupted sort leaves it broken. Default: write a new file, then replace OUT."""
    partial_last: Annotated[str, Choice(PARTIAL)] = "refuse"
    """Handling of a partial record at the end of a file: report an error, append it to the output,
    or leave it out."""
    seed: Annotated[int, SEED] = 0
    """Random seed of the sampling."""


@dataclass(frozen=True, kw_only=True)
class SortConfig:
    """Settings in a file."""

    GROUP: ClassVar = "Settings"
    config: Annotated[Path | None, FILE] = None
    """Settings in TOML (`gordon schema sort`), as `gordon sort tune` writes them. Options take
    precedence."""


@dataclass(frozen=True, kw_only=True)
class Generated:
    """Records of the sort benchmark."""

    records: Annotated[int, Named("--records", ("-n",)), Amount(1)]
    """Number of records: 1e8, 100M, 250k."""
    outputs: Annotated[Sequence[Path], Named("--output", ("-o", "--out")), Each("PATH")]
    """Output: a file, a block device (its data are lost), a named pipe or - for stdout; several for
    a stripe."""
    stripe: Annotated[str | None, SIZE] = None
    """Stripe the records over the outputs in units of SIZE, as `gordon sort --stripe` reads
    them."""
    ascii: Annotated[bool, Named("--ascii", ("-a",))] = False
    """Generate lines of printable characters."""
    skewed: Annotated[bool, Named("--skewed", ("-s",))] = False
    """Generate skewed keys, many of which share their first bytes."""
    start: Annotated[int, Named("--start", ("-b",)), Amount(0, 128)] = 0
    """Number of the first record."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """How sorted records are checked."""

    records: Annotated[int | None, Named("--records", ("-n",)), Amount(1)] = None
    """Check only the first N records of each file, for a block device that holds more than the
    records."""
    checksum: Annotated[str | None, Text("HEX")] = None
    """Checksum that `generate` or gensort -c printed for the unsorted records; the sorted records
    must have the same."""
    summary: Annotated[Path | None, Text("PATH")] = None
    """Write a summary of these records, as valsort -o does."""
    summaries: bool = False
    """FILES hold concatenated summaries."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """A search of the best settings."""

    out: Annotated[Path, Named("-o", ("--output", "--out")), FILE] = "tuned.toml"
    """File of settings to write, for `gordon sort --config FILE`."""
    budget_s: Annotated[float, Named("--budget"), Seconds(0.001)] = 600.0
    """Time limit of the search: 90s, 10m, 1h. Default: 10m."""
    records: Annotated[int | None, Amount(1)] = None
    """Number of records of the generated file. Default: 4 times --memory, else the number for which
    60 sorts fit into the budget."""
    source: Annotated[Path | None, Named("--input"), FILE] = None
    """Sort this file of benchmark records instead."""
    memory: Annotated[str | None, SIZE] = None
    """Memory for records and buffers, written to the settings. Default: a quarter of the file, not
    written."""
    temp: Annotated[Sequence[Path], Words("DIR,DIR...")] = ()
    """Folders of temporary files. The search also tries fewer of them."""
    folder: Annotated[Path, DIR] = "."
    """Folder on the device of input and output. The files made there are removed afterwards."""
    objective: Annotated[str, Choice(("time", "energy"))] = "time"
    """Quantity to minimise; energy needs --meter."""
    meter: Annotated[str | None, Text("NAME")] = None
    """Meter of energy (`gordon meter list`)."""
    may_overwrite: Annotated[bool, Named("--overwrite")] = False
    """Allow settings that overwrite an existing output in place. An interrupted sort then leaves it
    broken."""
    seed: Annotated[int, SEED] = 0
    """Random seed of the order of trials."""
    export: Annotated[str | None, Text("SOCKET")] = None
    """Socket of the device, served by `gordon block serve --timing real`, that holds all folders.
    Its statistics of collection, queue and busy dies steer the search."""
    plot: Annotated[str | None, PATH] = None
    """Draw cost against each setting, as PNG, SVG or PDF."""


@dataclass(frozen=True, kw_only=True)
class FlashTuning:
    """Settings from a simulated device, in place of a search."""

    GROUP: ClassVar = "With --flash"
    flash: Annotated[Device | None, PRESET] = None
    """Do not sort: derive transfer sizes from a simulated device (`gordon flash presets`) as a
    starting point. Modelled."""
    set: Annotated[Settings, SETTING] = ()
    """With --flash: override a value of the device. capacity=32GiB makes the simulation faster."""
    precondition: Annotated[float, Share("FRACTION")] = 0.8
    """With --flash: fraction of the capacity in use, in the steady state of random overwrites."""


@dataclass(frozen=True, kw_only=True)
class Extrapolated:
    """The sort that is modelled on other systems."""

    measured: Annotated[Path | None, Named("--from"), FILE] = None
    """JSON of a sort of your own, from `gordon sort --json` or `gordon joulesort --json`: its bytes
    and core-seconds are modelled on the systems."""
    home: Annotated[str | None, Named("--on"), Text("SYSTEM")] = None
    """System on which the sort ran, if its file does not name one."""


@dataclass(frozen=True, kw_only=True)
class SortSystems:
    """Systems under a sort: what is changed of them, and a picture."""

    set: Annotated[Settings, SETTING] = ()
    """Override a value: system.3B.cpu=core2-duo, drive.micron.write=200MB, board.desktop.base=9W,
    records=1000000000. Measured rows keep their own size."""
    plot: Annotated[str | None, PATH] = None
    """Draw time against power, and the plateaus of records/J, as PNG, SVG or PDF."""


@dataclass(frozen=True, kw_only=True)
class Rewriting:
    """Sorts that overwrite their output, or delete it first."""

    export: Annotated[str, Text("SOCKET")]
    """Socket of the device served by `gordon block serve --socket SOCKET --timing real`."""
    folder: Annotated[Path, DIR] = "."
    """Folder on the file system of that device. The files made there are removed afterwards."""
    records: Annotated[int, Amount(1)] = 2_000_000
    """Number of records of the generated file. Default: 2M."""
    transfers: Annotated[Sequence[str], Named("--transfer"), Words("SIZE,SIZE...")] = (
        "1MiB",
        "8MiB",
    )
    """Transfer size of input and output. Default: 1MiB,8MiB."""
    rounds: Annotated[int, COUNT] = 3
    """Number of rounds; each sorts once per transfer size and way."""
    seed: Annotated[int, SEED] = 0
    """Random seed of the order within a round."""
