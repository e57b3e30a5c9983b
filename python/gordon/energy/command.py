"""Any program as a meter: `command:CMD` prints one sample in watts per line.

A line is a number, with or without `W`; empty lines and lines that begin with `#` are ignored. The
time of a sample is the arrival of its line.
"""

import os
import re
import signal
import subprocess
from contextlib import suppress

from gordon import threads
from gordon.energy.meter import Channel, EndedError, Meter, drawn
from gordon.errors import GordonError

PREFIX = "command:"
_WATTS = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(?:W|watts?)?", re.IGNORECASE)


class Command(Meter):
    """A shell command, in a process group of its own."""

    measures, kind, how = "power at the wall, as a command prints it", "power", "measured"
    quick = False
    paced = False

    def __init__(self, command: str) -> None:
        super().__init__()
        if not command.strip():
            raise GordonError(
                "command: the command is missing", "command:'ssh pc wattsup ttyUSB0'", "bad-meter"
            )
        self.name = PREFIX + command
        self.channels = [Channel("watts", "wall")]
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def read(self) -> list[float | None]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(  # noqa: S602 - the person's own command
                    self._command,
                    shell=True,
                    stdout=subprocess.PIPE,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                what = f"{self.name}: cannot run it: {error.strerror}"
                raise EndedError(what, threads.refused(error)) from None
            if self._closed:
                self.close()
        out = self._process.stdout
        for line in iter(out.readline, b"") if out is not None else ():
            text = line.decode(errors="replace").strip()
            if not text or text.startswith("#"):
                continue
            match = _WATTS.fullmatch(text)
            if match is None:
                raise GordonError(
                    f"{self.name}: `{text[:60]}` is not a number of watts",
                    "a program that prints one number per line",
                    kind="bad-watts",
                )
            return [drawn(float(match[1]), f"{self.name}: `{text[:60]}`")]
        status = self._process.wait()
        raise EndedError(
            f"{self.name}: the meter's command ended with exit status {status}; there are no "
            "samples after that",
            kind="ended",
        )

    def close(self) -> None:
        self._closed = True
        process = self._process
        if process is not None and process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)  # its own group, which it leads
