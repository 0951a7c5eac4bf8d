"""Measures torch steps: CUDA events, the allocator's peak, counted work, device facts."""

import importlib
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from perfledger.failure_reason import UnmeasurableError
from perfledger.meters import process_memory, torch_profile
from perfledger.meters.clock import Clock, HostClock
from perfledger.meters.compilation_log import (
    GRAPH_BREAKS,
    MessageRecorder,
    graph_break_rows,
    recompilation_rows,
    recorded_messages,
)
from perfledger.meters.compile_watch import CompileReader, torch_metrics, watched_torch
from perfledger.meters.device import USUAL_EFFORT, ProfiledPass, TraceEffort
from perfledger.meters.torch_lines import record_lines
from perfledger.meters.torch_work import count_torch_work
from perfledger.records import Device, FailureReason
from perfledger.step_work import StepWork
from perfledger.workload import Step


def load_torch() -> Any:  # noqa: ANN401 - torch is fenced in here, and may not be installed
    """Import the user's torch."""
    return importlib.import_module("torch")


class TorchClock:
    """A clock of CUDA events around each step, read after the device has finished.

    The events are on the current stream: the clock waits for work on another stream that the step
    does not join, but does not count it.
    """

    def __init__(self, torch: Any) -> None:  # noqa: ANN401 - see load_torch
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self._synchronize = torch.cuda.synchronize

    def time(self, step: Callable[[], object]) -> float:
        """Run `step` once and return the device's time in seconds."""
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
        self._graph_breaks = MessageRecorder()

    def device_context(self) -> AbstractContextManager[object]:
        """Return a context that does nothing, because workloads place torch tensors themselves."""
        return nullcontext()

    def reset_peak(self) -> None:
        """Reset the high-water mark of the CUDA allocator or of resident memory."""
        if self._is_cuda:
            self._torch.cuda.empty_cache()  # frees the pool of an earlier workload
            for index in range(self._torch.cuda.device_count()):
                self._torch.cuda.reset_peak_memory_stats(index)
        else:
            process_memory.reset_peak()

    def peak_bytes(self) -> float | None:
        """Return the peak memory since `reset_peak`: of tensors on CUDA, else resident memory."""
        if self._is_cuda:
            return float(self._torch.cuda.max_memory_allocated()) or None
        return float(process_memory.peak_bytes())

    def in_use_bytes(self) -> float | None:
        """Return the memory in use: of tensors on CUDA, else resident memory."""
        if self._is_cuda:
            return float(self._torch.cuda.memory_allocated())
        return process_memory.in_use_bytes()

    def work(self, set_up: Callable[[], Step]) -> StepWork:
        """Return torch's counts of a step, on fake tensors where possible."""
        return count_torch_work(self._torch, importlib.import_module, set_up)

    def devices(self) -> int:
        """Return how many CUDA devices have held a tensor since `reset_peak`."""
        return max(1, len(self.device_places()))

    def device_places(self) -> tuple[int, ...]:
        """Return which CUDA devices have held a tensor since `reset_peak`."""
        if not self._is_cuda:
            return ()
        cuda = self._torch.cuda
        peaks = [int(cuda.max_memory_allocated(index)) for index in range(cuda.device_count())]
        return tuple(index for index, peak in enumerate(peaks) if peak > 0)

    def trace(
        self,
        next_step: Callable[[], Step],
        folder: Path,
        name: str,
        *,
        effort: TraceEffort = USUAL_EFFORT,
    ) -> ProfiledPass | None:
        """Profile a few steps with torch.profiler into Chrome traces."""
        return torch_profile.trace(
            self._torch,
            next_step,
            self.clock,
            path=folder / f"{name}.kineto.json.gz",
            has_cuda=self._is_cuda,
            effort=effort,
        )

    def compile_watch(self) -> AbstractContextManager[CompileReader]:
        """Return a context that yields a function that returns torch.compile's work since then."""
        return watched_torch()

    @contextmanager
    def compilation_log(self) -> Generator[None]:
        """Record what torch.compile logs of its graph breaks, for `lines`."""
        with recorded_messages(GRAPH_BREAKS) as self._graph_breaks:
            yield

    def lines(self, step: Step, root: Path, path: Path) -> Path | None:
        """Write which lines below `root` call the operators of one step and hold its memory.

        Also written is what torch.compile has logged so far.
        """
        return record_lines(
            self._torch,
            importlib.import_module,
            step,
            root=root,
            path=path,
            device=str(Device.CUDA if self._is_cuda else Device.CPU),
            compilations=[
                *graph_break_rows(self._graph_breaks.messages, root=root),
                *recompilation_rows(torch_metrics(), root=root),
            ],
        )


def torch_device(name: str, torch: Any) -> Device:  # noqa: ANN401 - see load_torch
    """Return the device called `name` ("auto", "cpu", "cuda" or "tpu").

    Raises UnmeasurableError if the device is missing.
    """
    has_cuda = bool(torch.cuda.is_available())
    match name:
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
            detail = f"perfledger has no clock for torch on {name!r}: use cpu or cuda"
    raise UnmeasurableError(FailureReason.NO_DEVICE, detail)


def torch_facts(torch: Any) -> Mapping[str, object]:  # noqa: ANN401 - see load_torch
    """Return torch's facts about its first CUDA device, empty without one."""
    if not torch.cuda.is_available():
        return {}
    device = torch.cuda.get_device_properties(0)
    count = int(torch.cuda.device_count())
    uuid, *more_uuids = (_uuid(torch.cuda.get_device_properties(index)) for index in range(count))
    return {
        "kind": str(Device.CUDA),
        "name": str(device.name),
        "uuid": uuid,
        "more_uuids": more_uuids if all(more_uuids) else (),
        "count": count,
        "memory_bytes": int(device.total_memory),
        "capability": f"{device.major}.{device.minor}",
        "cuda": str(torch.version.cuda or ""),
    }


def _uuid(properties: Any) -> str:  # noqa: ANN401 - see load_torch
    """Return a device's id as NVML writes it, "" before torch 2.4."""
    uuid = getattr(properties, "uuid", None)
    return f"GPU-{uuid}" if uuid else ""
