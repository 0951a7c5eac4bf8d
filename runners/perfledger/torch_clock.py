"""torch's own account of a step: CUDA events, the allocator's peak, counted FLOPs, device facts."""

import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from perfledger import memory, torch_profile
from perfledger.clock import Clock, HostClock
from perfledger.failure import UnmeasurableError
from perfledger.meter import Traced
from perfledger.records import Device, Why
from perfledger.torch_work import torch_work
from perfledger.work import Work
from perfledger.workload import Step


def load_torch() -> Any:  # noqa: ANN401 - torch is fenced in here, and may not be installed
    """Import the user's torch."""
    return importlib.import_module("torch")


class TorchClock:
    """A pair of CUDA events around each step, read after the device has finished.

    The events lie on the current stream: work that a step leaves on another stream without joining
    it is waited for, and not counted.
    """

    def __init__(self, torch: Any) -> None:  # noqa: ANN401 - see load_torch
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self._synchronize = torch.cuda.synchronize

    def time(self, step: Callable[[], object]) -> float:
        """Run `step` once and return how long the device took, in seconds."""
        self._start.record()
        step()
        self._end.record()
        self._synchronize()
        return float(self._start.elapsed_time(self._end)) / 1e3


class TorchMeter:
    """torch on the CPU or on CUDA."""

    def __init__(self, torch: Any, device: Device) -> None:  # noqa: ANN401 - see load_torch
        self._torch = torch
        self._is_cuda = device is Device.CUDA
        self.clock: Clock = TorchClock(torch) if self._is_cuda else HostClock()

    def placed(self) -> AbstractContextManager[object]:
        """Return a context that does nothing: torch's tensors are placed by the workload."""
        return nullcontext()

    def reset_peak(self) -> None:
        """Begin a new high-water mark: of the CUDA allocator's tensors, or of resident memory."""
        if self._is_cuda:
            self._torch.cuda.empty_cache()  # what an earlier workload left in the pool
            for index in range(self._torch.cuda.device_count()):
                self._torch.cuda.reset_peak_memory_stats(index)
        else:
            memory.reset_peak()

    def peak_bytes(self) -> float | None:
        """Return the most memory held since `reset_peak`, in tensors on CUDA, else resident."""
        if self._is_cuda:
            return float(self._torch.cuda.max_memory_allocated()) or None
        return float(memory.peak_bytes())

    def work(self, set_up: Callable[[], Step]) -> Work:
        """Return what torch counts of a step, on tensors without data where that works."""
        return torch_work(self._torch, importlib.import_module, set_up)

    def devices(self) -> int:
        """Return how many CUDA devices hold, or held since `reset_peak`, any tensor."""
        if not self._is_cuda:
            return 1
        cuda = self._torch.cuda
        peaks = [int(cuda.max_memory_allocated(index)) for index in range(cuda.device_count())]
        return max(1, sum(peak > 0 for peak in peaks))

    def trace(self, next_step: Callable[[], Step], folder: Path, name: str) -> Traced | None:
        """Profile a few steps with torch.profiler into a Chrome trace."""
        return torch_profile.trace(
            self._torch,
            next_step,
            self.clock,
            path=folder / f"{name}.kineto.json.gz",
            has_cuda=self._is_cuda,
        )


def torch_device(wanted: str, torch: Any) -> Device:  # noqa: ANN401 - see load_torch
    """Return the device for `wanted` ("auto", "cpu", "cuda" or "tpu").

    Raises UnmeasurableError when there is no such device.
    """
    has_cuda = bool(torch.cuda.is_available())
    match wanted:
        case "auto":
            return Device.CUDA if has_cuda else Device.CPU
        case "cpu":
            return Device.CPU
        case "cuda" if has_cuda:
            return Device.CUDA
        case "cuda":
            detail = (
                f"torch {torch.__version__} finds no CUDA device here: run it on a machine with "
                "one, install a CUDA build of torch, or measure with --device cpu"
            )
        case _:
            detail = f"perfledger has no clock for torch on {wanted!r}: use cpu or cuda"
    raise UnmeasurableError(Why.NO_DEVICE, detail)


def torch_facts(torch: Any) -> Mapping[str, object]:  # noqa: ANN401 - see load_torch
    """Return what torch says of its first CUDA device; nothing without one."""
    if not torch.cuda.is_available():
        return {}
    device = torch.cuda.get_device_properties(0)
    uuid = getattr(device, "uuid", None)  # since torch 2.4
    return {
        "kind": str(Device.CUDA),
        "name": str(device.name),
        "uuid": f"GPU-{uuid}" if uuid else "",  # as NVML writes it
        "count": int(torch.cuda.device_count()),
        "memory_bytes": int(device.total_memory),
        "capability": f"{device.major}.{device.minor}",
        "cuda": str(torch.version.cuda or ""),
    }
