"""A point of the search: settings of a sort that do not change its result."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, TypedDict, cast

from gordon.human import binary
from gordon.untyped import Given

#: Fields of `Point` that are sizes of transfers, in the order in which they are searched.
Transfer = Literal["output_transfer", "temp_transfer", "input_transfer"]
TRANSFERS: tuple[Transfer, ...] = ("output_transfer", "temp_transfer", "input_transfer")


class Settings(TypedDict):
    """The settings of a point."""

    method: str
    in_core: str
    input_transfer: int | None
    output_transfer: int | None
    temp_transfer: int | None
    threads: int
    buffered: bool
    io: str
    overwrite: bool
    folders: int | None
    stripe: int | None


class Chosen(TypedDict):
    """The settings that were chosen."""

    settings: Settings
    #: The settings that differ from the defaults, as text.
    what: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """Settings that are searched. The default values are the defaults of a sort."""

    method: str = "auto"
    in_core: str = "radix"
    input_transfer: int | None = None
    """Transfer sizes in bytes; None: chosen by the memory."""
    output_transfer: int | None = None
    temp_transfer: int | None = None
    threads: int = 0
    buffered: bool = False
    io: str = "auto"
    overwrite: bool = False
    folders: int | None = None
    """Number of the folders of temporary files to use, from the first; None: all."""
    stripe: int | None = None
    """Unit in bytes in which temporary data is striped over them; None: a transfer."""

    def options(self, temp: tuple[str, ...]) -> Given:
        """The point as options of `gordon.sort.run`."""
        found: Given = {
            "method": self.method,
            "in_core": self.in_core,
            "threads": self.threads,
        }
        for name in TRANSFERS:
            size = getattr(self, name)
            if size is not None:
                found[name] = f"{size}B"
        if self.stripe is not None:
            found["temp_stripe"] = f"{self.stripe}B"
        found |= {"buffered": self.buffered, "io": self.io, "overwrite": self.overwrite}
        if temp:
            found["temp"] = temp[: self.folders]
        return found

    def about(self) -> Settings:
        """The point as JSON."""
        return cast(Settings, asdict(self))

    def chosen(self) -> Chosen:
        """The point as the result of a search."""
        return {"settings": self.about(), "what": self.label()}

    def label(self) -> str:
        """The settings that differ from the defaults, as text."""
        words = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            name = field.name.removesuffix("_transfer")
            if field.name in (*TRANSFERS, "stripe"):
                words.append(f"{name} {binary(value)}")
            elif value is True:
                words.append(name)
            elif field.name == "in_core":
                words.append(f"in core {value}")
            elif field.name in ("method", "io"):
                words.append(value)
            else:
                words.append(f"{value} {name}")
        return ", ".join(words) or "defaults"

    def to(self, **changes: Any) -> "Point":
        """The point with other values."""
        return replace(self, **changes)


def toml(point: Point, temp: tuple[str, ...], memory: str | None, head: list[str]) -> str:
    """The file that `gordon sort --config` takes, after a head of comments."""
    lines = [f"# {line}".rstrip() for line in head]
    if memory is not None:
        lines.append(f"memory = {quoted(memory)}")
    if temp:
        lines.append(f"temp = [{', '.join(quoted(one) for one in temp[: point.folders])}]")
    lines.append(f"method = {quoted(point.method)}")
    lines.append(f"in_core = {quoted(point.in_core)}")
    lines.append(f"threads = {point.threads}")
    lines.append(f'mode = "{"buffered" if point.buffered else "direct"}"')
    lines.append(f"io = {quoted(point.io)}")
    lines.append(f"overwrite = {str(point.overwrite).lower()}")
    sizes = [(name, getattr(point, name)) for name in (*sorted(TRANSFERS), "stripe")]
    if any(size is not None for _, size in sizes):
        lines += ["", "[transfers]"]
    for name, size in sizes:
        if size is not None:
            lines.append(f'{name.removesuffix("_transfer")} = "{binary(size).replace(" ", "")}"')
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A basic string of TOML."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in plain) + '"'
