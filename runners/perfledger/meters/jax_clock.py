"""Measures JAX steps: time until arrays are ready, device memory, XLA's counts, device facts."""

import importlib
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from perfledger.compile_record import CompilationKind
from perfledger.failure_reason import UnmeasurableError
from perfledger.meters import jax_profile, process_memory
from perfledger.meters.clock import Clock
from perfledger.meters.compilation_log import (
    RETRACES,
    MessageRecorder,
    recorded_messages,
    retrace_rows,
    write_record,
)
from perfledger.meters.compile_watch import CompileReader, watched_jax
from perfledger.meters.device import USUAL_EFFORT, ProfiledPass, TraceEffort
from perfledger.meters.jax_work import count_jax_work
from perfledger.records import Device, FailureReason
from perfledger.step_work import StepWork
from perfledger.workload import Step

PLATFORMS = {Device.CPU: "cpu", Device.CUDA: "gpu", Device.TPU: "tpu"}
DEVICES = {"cpu": Device.CPU, "gpu": Device.CUDA, "cuda": Device.CUDA, "tpu": Device.TPU}
EXPLAIN = "jax_explain_cache_misses"
# Steps to watch: a retrace that happens in every step occurs in all of them.
WATCHED_STEPS = 3
RETURN_ARRAYS = (
    "the step returns no arrays to wait for: return the arrays that it computes, or register it "
    'with framework="host" if it computes none, such as one that only traces'
)


def load_jax() -> Any:  # noqa: ANN401 - JAX is fenced in here, and may not be installed
    """Import the user's JAX."""
    return importlib.import_module("jax")


class JaxClock:
    """The host's clock, which stops when the arrays that a step returns are ready."""

    def __init__(self, jax: Any) -> None:  # noqa: ANN401 - see load_jax
        self._wait = jax.block_until_ready
        self._leaves = jax.tree_util.tree_leaves
        self._is_first = True
        self.used = frozenset[Any]()  # the devices that the first step's arrays are on

    def time(self, step: Callable[[], object]) -> float:
        """Run `step` once and return the seconds until its arrays are ready.

        Raises TypeError if the first step returns nothing to wait for, because then only the
        dispatch would be timed.
        """
        start = perf_counter()
        result = self._wait(step())
        passed = perf_counter() - start
        if self._is_first:
            leaves = self._leaves(result)
            if not any(map(_is_value, leaves)):
                raise TypeError(RETURN_ARRAYS)
            self._is_first = False
            self.used = frozenset[Any]().union(*map(_devices, leaves))
        return passed


class JaxMeter:
    """JAX on the CPU or on an accelerator."""

    def __init__(self, jax: Any, device: Device) -> None:  # noqa: ANN401 - see load_jax
        self._jax = jax
        self._device = jax.local_devices(backend=PLATFORMS[device])[0]
        self._is_default = self._device.platform == jax.default_backend()
        self._peak_before = 0.0
        self._start = MessageRecorder()
        self._log = ExitStack()
        self._arrays = JaxClock(jax)
        self.clock: Clock = self._arrays

    def device_context(self) -> AbstractContextManager[object]:
        """Return a context in which new arrays are created on this device."""
        if self._is_default:
            return nullcontext()
        context: AbstractContextManager[object] = self._jax.default_device(self._device)
        return context

    def reset_peak(self) -> None:
        """Reset the high-water mark, as far as possible.

        A JAX device's own mark lasts as long as the process: the peak of a workload that stays
        below an earlier peak is unknown.
        """
        process_memory.reset_peak()
        self._peak_before = self._device_bytes("peak_bytes_in_use") or 0.0

    def peak_bytes(self) -> float | None:
        """Return the peak device memory since `reset_peak`; on the CPU, resident memory."""
        peak = self._device_bytes("peak_bytes_in_use")
        if peak is None:
            return float(process_memory.peak_bytes())
        return peak if peak > self._peak_before else None

    def in_use_bytes(self) -> float | None:
        """Return the device memory in use; on the CPU, resident memory."""
        in_use = self._device_bytes("bytes_in_use")
        return process_memory.in_use_bytes() if in_use is None else in_use

    def work(self, set_up: Callable[[], Step]) -> StepWork:
        """Return XLA's counts of the programs that a step would run."""
        return count_jax_work(self._jax, importlib.import_module("jax.extend.core"), set_up())

    def devices(self) -> int:
        """Return the number of devices that the first step's arrays are on."""
        return max(1, len(self.device_places()))

    def device_places(self) -> tuple[int, ...]:
        """Return the places of the devices that the first step's arrays are on."""
        devices = enumerate(self._jax.devices(self._device.platform))
        return tuple(place for place, device in devices if device in self._arrays.used)

    def trace(
        self,
        next_step: Callable[[], Step],
        folder: Path,
        name: str,
        *,
        effort: TraceEffort = USUAL_EFFORT,
    ) -> ProfiledPass | None:
        """Profile a few steps with jax.profiler into an xplane file."""
        self._log.close()  # the start is over, and logging explanations takes time
        return jax_profile.trace(
            self._jax, next_step, self.clock, folder=folder / name, effort=effort
        )

    def compile_watch(self) -> AbstractContextManager[CompileReader]:
        """Return a context that yields a function that returns JAX's compilations since then."""
        return watched_jax(importlib.import_module("jax.monitoring"))

    @contextmanager
    def compilation_log(self) -> Generator[None]:
        """Record why functions are traced again until `trace`, for `lines`."""
        with ExitStack() as self._log:
            self._start = self._log.enter_context(self._explained_retraces())
            yield

    def lines(self, step: Step, root: Path, path: Path) -> Path | None:
        """Write which functions are traced again and why; return None if there are none.

        Retraces are those at the start of the process, and in a few steps run now. The lines of
        operations are in XLA's own profile.
        """
        self._log.close()
        with self._explained_retraces() as recorder, suppress(Exception):  # as in a step of torch
            for _ in range(WATCHED_STEPS):
                self._jax.block_until_ready(step())
        rows = [
            *retrace_rows(recorder.messages, root=root),
            *retrace_rows(self._start.messages, root=root, kind=CompilationKind.START_RETRACE),
        ]
        return write_record(path, compilations=rows) if rows else None

    @contextmanager
    def _explained_retraces(self) -> Generator[MessageRecorder]:
        """Record JAX's explanations of functions that it traces again."""
        with recorded_messages(RETRACES) as recorder:
            before = getattr(self._jax.config, EXPLAIN, None)
            if before is None:  # JAX before 0.4.30
                yield recorder
                return
            self._jax.config.update(EXPLAIN, True)
            try:
                yield recorder
            finally:
                self._jax.config.update(EXPLAIN, before)

    def _device_bytes(self, name: str) -> float | None:
        stats: Any = self._device.memory_stats()  # None on the CPU
        value: Any = stats.get(name) if stats else None
        return None if value is None else float(value)


def join_processes(jax: Any, *, coordinator: str, ranks: int, rank: int) -> None:  # noqa: ANN401
    """Make this process one of the ranks of jax.distributed, before it uses any device."""
    jax.distributed.initialize(
        coordinator_address=coordinator, num_processes=ranks, process_id=rank
    )


def jax_device(name: str, jax: Any) -> Device:  # noqa: ANN401 - see load_jax
    """Return the device called `name` ("auto", "cpu", "cuda" or "tpu").

    Raises UnmeasurableError if the device is missing.
    """
    if name == "auto":
        backend = str(jax.default_backend())
        if backend in DEVICES:
            return DEVICES[backend]
        detail = f"perfledger has no clock for JAX on {backend!r}: set JAX_PLATFORMS to cpu"
        raise UnmeasurableError(FailureReason.NO_DEVICE, detail)
    device = Device(name)
    try:
        jax.devices(PLATFORMS[device])
    except RuntimeError as error:
        detail = (
            f"JAX {jax.__version__} finds no {name!r} device here ({error}): run it on a machine "
            "with one, install JAX for it, or measure with --device cpu"
        )
        raise UnmeasurableError(FailureReason.NO_DEVICE, detail) from error
    return device


def jax_facts(jax: Any) -> Mapping[str, object]:  # noqa: ANN401 - see load_jax
    """Return JAX's facts about its default devices."""
    devices = jax.devices()
    return {
        "platform": str(devices[0].platform),
        "device_kind": str(devices[0].device_kind),
        "device_count": len(devices),
    }


def _devices(leaf: object) -> frozenset[Any]:
    sharding: Any = getattr(leaf, "sharding", None)  # JAX's arrays have one, numpy's do not
    return frozenset() if sharding is None else frozenset(sharding.device_set)


def _is_value(leaf: object) -> bool:
    # JAX's and numpy's arrays have __array__; a number is ready as soon as it exists.
    return isinstance(leaf, int | float | complex) or hasattr(leaf, "__array__")
