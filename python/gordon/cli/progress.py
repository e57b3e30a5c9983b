"""A progress bar on stderr while the core works, if stderr is a terminal."""

import threading
from types import TracebackType
from typing import TYPE_CHECKING

from gordon.cli.terminal import messages

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


def _has_thread() -> bool:
    """Whether the system grants another thread."""
    thread = threading.Thread(target=lambda: None)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


class Progress:
    """The work that is done, and its amount."""

    columns: tuple[str, ...] = ("MofNCompleteColumn",)

    def __init__(self, what: str) -> None:
        output = messages()
        self._bar: Bar | None = None
        if not output.is_terminal:
            return
        from rich import progress

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            *(getattr(progress, name)() for name in self.columns),
            progress.TimeElapsedColumn(),
            console=output.console,
            transient=True,
        )
        self._task = self._bar.add_task(what, total=None)
        # A thread draws the bar again and again. If the system refuses one, each step draws it.
        self._steps = not _has_thread()
        self._bar.live.auto_refresh = not self._steps

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def about(self, what: str, done: int) -> None:
        """An amount that is done, of an unknown total, and what it is about."""
        if self._bar is not None:
            self._bar.update(self._task, description=what, completed=done, refresh=self._steps)

    def tick(self, done: int, total: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total or None, refresh=self._steps)


class Part(Progress):
    """Progress in steps that say nothing by themselves."""

    columns = ("TaskProgressColumn",)


class Waiting(Progress):
    """Work of another process, whose progress is not known."""

    columns = ()


class Moved(Progress):
    """Progress in bytes."""

    columns = ("DownloadColumn", "TransferSpeedColumn")
