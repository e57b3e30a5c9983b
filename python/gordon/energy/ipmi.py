"""The power reading of a server's management controller (DCMI), by `ipmitool`."""

import re
import shutil
import subprocess

from gordon import threads
from gordon.energy.meter import Candidate, Channel, Meter
from gordon.errors import GordonError

NAME, MEASURES = "ipmi", "the whole machine, at its power supplies"
COMMAND = ("ipmitool", "dcmi", "power", "reading")
_READING = re.compile(r"Instantaneous power reading:\s*(\d+)\s*Watts")
LONGEST_S = 20


class Ipmi(Meter):
    """Whole watts, as the controller reports them."""

    name, measures, kind, how = NAME, MEASURES, "power", "measured"
    step = "1 W"
    quick = False  # a call takes a tenth of a second or several

    def __init__(self) -> None:
        super().__init__()
        self.channels = [Channel("dcmi", "machine")]

    def read(self) -> list[float | None]:
        try:
            done = subprocess.run(  # noqa: S603 - nothing in it is given by anyone
                COMMAND,
                capture_output=True,
                text=True,
                check=False,
                timeout=LONGEST_S,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise GordonError(
                f"ipmitool: no answer within {LONGEST_S} s", kind="no-answer"
            ) from None
        except OSError as error:
            raise GordonError(f"ipmitool: {error.strerror}", threads.refused(error)) from None
        reading = _READING.search(done.stdout)
        if done.returncode != 0 or reading is None:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise GordonError(
                f"ipmitool dcmi power reading: {lines[0] if lines else 'no reading'}",
                "run as root with the modules ipmi_si and ipmi_devintf loaded; not every "
                "controller supports DCMI",
            )
        watts = float(reading[1])
        if watts == 0 and "deactivated" in done.stdout:
            raise GordonError("ipmitool: power readings are deactivated on the controller")
        return self.of_controller(watts)


def find() -> list[Candidate]:
    """Reads the meter once, since an installed ipmitool does not imply a controller."""
    if shutil.which(COMMAND[0]) is None:
        hint = "sudo apt install ipmitool, on a server with a management controller"
        return [Candidate(NAME, MEASURES, why="there is no program ipmitool", hint=hint)]
    meter = Ipmi()
    try:
        meter.read()
    except GordonError as error:
        return [Candidate(NAME, MEASURES, why=error.message, hint=error.hint)]
    return [Candidate(NAME, MEASURES, meter)]
