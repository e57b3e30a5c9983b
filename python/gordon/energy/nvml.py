"""NVIDIA GPUs by their library, NVML: joules if the GPU counts them (since Volta), else watts."""

import ctypes

from gordon.energy.meter import Candidate, Channel, Kind, Meter
from gordon.errors import GordonError

NAME, MEASURES = "nvml", "GPUs"
LIBRARY = "libnvidia-ml.so.1"
MILLI = 1e-3


class Nvml(Meter):
    """A meter of all GPUs of the machine."""

    name, measures, how = NAME, MEASURES, "measured"

    def __init__(self, library: str) -> None:
        super().__init__()
        self._nvml = ctypes.CDLL(library)
        self._ask("nvmlInit_v2")
        count = ctypes.c_uint()
        self._ask("nvmlDeviceGetCount_v2", ctypes.byref(count))
        if not count.value:
            raise GordonError("NVML finds no GPU", kind="no-meter")
        self._gpus = [self._gpu(index) for index in range(count.value)]
        self.channels = [Channel(f"{n} {self._title(g)}", "gpu") for n, g in enumerate(self._gpus)]
        self.kind: Kind = "energy" if all(map(self._counts, self._gpus)) else "power"
        self.step = "1 mJ" if self.kind == "energy" else "1 mW"
        # Yang, Adamek, Armour, "Part-time Power Measurements" (arXiv:2312.02741): 20 to 100 ms.
        self.update_s = 0.1
        if self.kind == "power":
            self.warn("these GPUs report power only, and sample it only part of the time")

    def read(self) -> list[float | None]:
        return [self._joules(g) if self.kind == "energy" else self._watts(g) for g in self._gpus]

    def _joules(self, gpu: ctypes.c_void_p) -> float:
        millijoules = ctypes.c_ulonglong()
        self._ask("nvmlDeviceGetTotalEnergyConsumption", gpu, ctypes.byref(millijoules))
        return millijoules.value * MILLI

    def _watts(self, gpu: ctypes.c_void_p) -> float:
        milliwatts = ctypes.c_uint()
        self._ask("nvmlDeviceGetPowerUsage", gpu, ctypes.byref(milliwatts))
        return milliwatts.value * MILLI

    def _counts(self, gpu: ctypes.c_void_p) -> bool:
        try:
            self._joules(gpu)
        except GordonError:
            return False
        return True

    def _gpu(self, index: int) -> ctypes.c_void_p:
        gpu = ctypes.c_void_p()
        self._ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(gpu))
        return gpu

    def _title(self, gpu: ctypes.c_void_p) -> str:
        name = ctypes.create_string_buffer(96)
        self._ask("nvmlDeviceGetName", gpu, name, ctypes.c_uint(len(name)))
        return name.value.decode(errors="replace")

    def _ask(self, function: str, *arguments: object) -> None:
        try:
            status = getattr(self._nvml, function)(*arguments)
        except AttributeError:
            raise GordonError(
                f"NVML has no function {function}", "a newer driver", kind="no-meter"
            ) from None
        if status != 0:
            raise GordonError(
                f"NVML: {function} failed with status {status}",
                "`nvidia-smi` for the state of the driver",
                kind="no-meter",
            )


def find(library: str = LIBRARY) -> list[Candidate]:
    """The meter of the GPUs, if the driver's library can be loaded."""
    try:
        meter = Nvml(library)
        # A GPU may report neither joules nor watts.
        meter.read()
        return [Candidate(NAME, MEASURES, meter)]
    except GordonError as error:
        return [Candidate(NAME, MEASURES, why=error.message)]
    except OSError:
        return [Candidate(NAME, MEASURES, why=f"cannot load {library}: no NVIDIA driver")]
