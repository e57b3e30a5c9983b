"""A bar on stderr, where that is a terminal, while the core works."""

from types import TracebackType

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bar

from gordon.cli.terminal import messages


class Progress:
    """What is done, and how much of it."""

    columns: tuple[type[ProgressColumn], ...] = (MofNCompleteColumn,)

    def __init__(self, what: str) -> None:
        console = messages()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            *(column() for column in self.columns),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=None)

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._bar.stop()

    def about(self, what: str, done: int) -> None:
        """So much is done, of nobody knows how much, and what it is about."""
        self._bar.update(self._task, description=what, completed=done)

    def tick(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total or None)


class Moved(Progress):
    """What is done are bytes."""

    columns = (DownloadColumn, TransferSpeedColumn)
