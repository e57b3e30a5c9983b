"""The parameters of a disk, inferred from response times: probe the disk, then fit.

    from gordon.disk import fit
    fit.probe("/dev/sdb", "probes.parquet")      # reads only, some minutes
    found = fit.fit("probes.parquet")
    found.report["goodness"]["demerit_of_mean"], found.toml

`docs/design/disk-fit.md` describes the method and the parameters that it cannot infer.
"""

import json
from os import fspath

from gordon import __version__, _core, fields
from gordon.disk import device as devices
from gordon.disk.fit.asking import Prober, Probes, Progress, Recorded, Recorder, answered
from gordon.disk.fit.extract import Found, extract
from gordon.disk.fit.model import Model, goodness, model
from gordon.disk.fit.report import FitReport
from gordon.disk.fit.toml import text
from gordon.errors import GordonError
from gordon.options import Path, Settings
from gordon.presets import Device
from gordon.reports.storage import TargetDescription
from gordon.untyped import Config

__all__ = ["Fit", "fit", "probe"]


class _Simulated:
    """A simulated disk as the unknown one."""

    sector = 512

    def __init__(self, config: Config) -> None:
        self._prober = _core.DiskProber(json.dumps(config))

    def capacity(self) -> int:
        return self._prober.capacity()

    def probe(self, probes: Probes) -> list[tuple[int, int]]:
        return self._prober.probe(probes)


class _Real:
    """A block device, or a file, past the page cache."""

    def __init__(self, path: Path, write: bool) -> None:
        self._path, self._write = fspath(path), write
        self.about: TargetDescription = json.loads(_core.io_target(self._path))
        self.sector = int(self.about["sector_bytes"])

    def capacity(self) -> int:
        return int(self.about["capacity_bytes"])

    def probe(self, probes: Probes) -> list[tuple[int, int]]:
        ops, offsets, lengths, thinks = probes
        return _core.io_probe(self._path, bytes(ops), offsets, lengths, thinks, self._write)


def probe(
    target: Path | None,
    log: Path,
    *,
    device: Device | None = None,
    diskspecs: Path | None = None,
    set: Settings = (),
    lateness: str = "0ns",
    seed: int = 1,
    write: bool = False,
    progress: Progress | None = None,
) -> Found:
    """Probes a block device, a file, or a simulated disk with timed requests, and writes the log.

    `target` is the block device or file, or None for a simulated disk, which is `device` or
    `diskspecs` with `set`. Only `write` writes to the target, and destroys its data.
    `lateness` is the mean delay until the host of a simulated disk sees a completion, as text
    (`30us`). `progress` is called with the current step and the number of answered probes. Raises
    GordonError.
    """
    about: Config = {"gordon": __version__, "seed": seed, "write": write}
    prober: Prober
    if target is None:
        made = devices.made(devices.DEFAULT if device is None else device, diskspecs, set)
        prober = _Simulated({"device": made, "lateness": lateness, "seed": seed})
        name = devices.name(devices.DEFAULT if device is None else device, diskspecs)
        about |= {"target": name, "simulated": True, "lateness": lateness}
    else:
        real = prober = _Real(target, write)
        about |= {"target": fspath(target), "simulated": False, "storage": real.about}
    recorder = Recorder(prober)
    about |= {"capacity_bytes": prober.capacity(), "sector_bytes": prober.sector}
    found = answered(extract(prober.capacity() // prober.sector, seed, write), recorder, progress)
    recorder.write(log, about | {"probes": recorder.count})
    return found


class Fit(fields.FitResult):
    """A disk fitted to a log of probes."""

    def __init__(self, report: FitReport, model: Model) -> None:
        super().__init__(report)
        self.model = model

    @property
    def config(self) -> Config:
        """The fitted disk, as `gordon.disk.replay` takes it."""
        return self.model.config

    @property
    def toml(self) -> str:
        """The fitted disk as a TOML file."""
        return text(self.config, self["probed"], self["goodness"])

    def says(self) -> str:
        probed, found = self["probed"], self["parameters"]
        return f"{probed['target']}, {found['rpm']:,} rpm, {found['sectors']:,} sectors"


def fit(log: Path, *, like: Device = devices.DEFAULT, progress: Progress | None = None) -> Fit:
    """Fits a disk to a log of probes.

    Parameters that cannot be inferred from times (queue, power) are those of the disk `like`.
    `progress` is called with the current step and the number of probes read. Raises GordonError.
    """
    recorded = Recorded(log)
    about = recorded.about
    found = answered(
        extract(recorded.capacity() // recorded.sector, int(about["seed"]), bool(about["write"])),
        recorded,
        progress,
    )
    if devices.kind(like) != devices.DISK:
        raise GordonError(
            f"--like {like}: this drive has no command queue to copy",
            "a disk of `gordon disk presets` with a queue, such as sata-7200-1tb",
            kind="drive-without-queue",
        )
    name = devices.name(like, None)
    origin = f"{about['target']}" + (" (simulated)" if about.get("simulated") else "")
    fitted = model(found, devices.load(like), name, origin, recorded.sector)
    return Fit(
        {
            "probed": about,
            "parameters": fitted.parameters,
            "goodness": goodness(found, fitted.config, recorded.sector),
            "provenance": {"gordon": __version__, "log": fspath(log), "like": name},
        },
        fitted,
    )


def __dir__() -> list[str]:
    return __all__
