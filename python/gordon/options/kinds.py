"""How the value of an option is given as text. A field of a table of options has one of these in
its annotation: `queue_depth: Annotated[int | None, COUNT] = None`. A flag has none.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """The name of an option on the command line, where it is not that of its field, and other
    names."""

    option: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """The group of an option in the help, where it is not that of its table."""

    title: str


@dataclass(frozen=True)
class Text:
    """A text that the command checks."""

    metavar: str


@dataclass(frozen=True)
class Each:
    """A text in each of several uses of the option."""

    metavar: str


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    least: int
    metavar: str = "N"
    most: int | None = None


@dataclass(frozen=True)
class Amount:
    """A whole number from `least` to 2^`bits` - 1, also as 1e8, 100M or 250k."""

    least: int
    bits: int = 64
    metavar: str = "N"


@dataclass(frozen=True)
class Number:
    """A finite number."""

    metavar: str = "X"
    least: float | None = None


@dataclass(frozen=True)
class Seconds:
    """A time as people write it, as a number of seconds that is at least `least`; `m` are
    minutes."""

    least: float = 0.0
    metavar: str = "TIME"


@dataclass(frozen=True)
class Nanoseconds:
    """A time as people write it, as a whole number of nanoseconds."""

    metavar: str = "TIME"


@dataclass(frozen=True)
class Share:
    """A number or a percentage: 0.8 is 80%. From 0 to 1, unless the command checks its range."""

    metavar: str = "SHARE"
    is_checked: bool = False


@dataclass(frozen=True)
class Ratio:
    """A positive fraction: 1/8, 0.125."""

    metavar: str = "FRACTION"


@dataclass(frozen=True)
class Size:
    """A number of bytes as people write it: the text, which is checked."""

    metavar: str = "SIZE"


@dataclass(frozen=True)
class Day:
    """A day, such as 2026-08-03."""

    metavar: str = "DATE"


@dataclass(frozen=True)
class Choice:
    """One of these names, or a class of the user's, `FILE.py:CLASS`."""

    names: tuple[str, ...]
    or_class: bool = False


@dataclass(frozen=True)
class Words:
    """Words with commas between."""

    metavar: str


@dataclass(frozen=True)
class Wholes:
    """Whole numbers from `least` on, with commas between."""

    metavar: str = "N,N..."
    least: int = 1


@dataclass(frozen=True)
class Folder:
    """A folder, as a path of pathlib."""

    metavar: str = "DIR"
    exists: bool = True


@dataclass(frozen=True)
class DeviceNumber:
    """The number of a trace's device, or its major and minor numbers."""

    metavar: str = "N|MAJ,MIN"


_Texts = Text | Each | Size | Choice | Words | Folder
_Numbers = (
    Whole | Amount | Number | Seconds | Nanoseconds | Share | Ratio | Day | Wholes | DeviceNumber
)
Kind = _Texts | _Numbers
#: Kinds that functions take as a number, or as its text.
PLAIN = (Whole, Amount, Number, Seconds, Nanoseconds, Share, Ratio, DeviceNumber)

SIZE = Text("SIZE")
SIZES = Text("SIZES")
TIME = Text("TIME")
FILE = Text("FILE")
PATH = Text("PATH")
DIR = Text("DIR")
PRESET = Text("NAME|FILE")
SETTING = Each("KEY=VALUE")
COUNT = Whole(1)
THREADS = Whole(0)
SEED = Whole(0)
NUMBER = Number()
SHARE = Share()
