"""A GPU on paper: as much of torch and of NVML as a check asks of them, with clock reasons."""

from collections.abc import Mapping
from pathlib import Path

TORCH = """
import time
from types import SimpleNamespace
__version__ = "0"
version = SimpleNamespace(cuda="12.8")
class Event:
    def __init__(self, *, enable_timing):
        pass
    def record(self):
        self.at_s = time.perf_counter()
    def elapsed_time(self, end):
        return 1e3 * (end.at_s - self.at_s)
def nothing(*arguments):
    pass
cuda = SimpleNamespace(
    Event=Event, empty_cache=nothing, reset_peak_memory_stats=nothing, synchronize=nothing,
    is_initialized=lambda: False, is_available=lambda: True, device_count=lambda: 1,
    max_memory_allocated=lambda index=0: 9,
    memory_allocated=lambda index=0: 9,
    get_device_properties=lambda _: SimpleNamespace(
        name="NVIDIA H100 80GB HBM3", uuid="1", total_memory=80, major=9, minor=0),
)
"""
BENCHMARK = """
import time
import torch
import perfledger
@perfledger.workload(device="cuda")
def steps():
    def step():
        time.sleep(0.002)
    return step
"""
FILES: Mapping[str, str | bytes] = {"benchmarks/b.py": BENCHMARK}
INSTALLED = {
    "torch/__init__.py": TORCH,
    "torch/utils/__init__.py": "",
    "torch/utils/flop_counter.py": "FlopCounterMode = lambda display: None",
}
NVML = """
from types import SimpleNamespace
class NVMLError(Exception):
    pass
class c_nvmlGpmMetricsGet_t:
    pass
ANSWERS = {{
    "nvmlSystemGetDriverVersion": "560.35",
    "nvmlSystemGetCudaDriverVersion": 12060,
    "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
    "nvmlDeviceGetUUID": "GPU-1",
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 * 2**30, used=2**30),
    "nvmlDeviceGetHandleByUUID": "gpu",
    "nvmlDeviceGetHandleByIndex": "gpu",
    "nvmlDeviceGetMaxClockInfo": 1980,
    "nvmlDeviceGetClockInfo": 1200,
    "nvmlDeviceGetCurrentClocksEventReasons": {reasons},
    "nvmlDeviceGetCurrentClocksThrottleReasons": {reasons},
    "nvmlDeviceGetPowerUsage": 512_500,
    "nvmlDeviceGetTemperature": 88,
    "nvmlInit": None,
}}
def __getattr__(name):
    if not name.startswith("nvml"):
        raise AttributeError(name)
    def ask(*arguments):
        if name not in ANSWERS:
            raise NVMLError(name)
        return ANSWERS[name]
    return ask
"""


def prepare(root: Path, beside: Path, *, reasons: int) -> Mapping[str, str]:
    """Install torch and an NVML beside the repository that gives these reasons for its clock."""
    del root
    folder = beside / "packages"
    for name, text in {**INSTALLED, "pynvml.py": NVML.format(reasons=reasons)}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return {"PYTHONPATH": str(folder)}
