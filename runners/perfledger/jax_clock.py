"""JAX's own account of a step: `block_until_ready`, device memory, XLA's cost, device facts."""

import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

from perfledger import jax_profile, memory
from perfledger.clock import Clock
from perfledger.failure import UnmeasurableError
from perfledger.jax_work import jax_work
from perfledger.meter import Traced
from perfledger.records import Device, Why
from perfledger.work import Work
from perfledger.workload import Step

PLATFORMS = {Device.CPU: "cpu", Device.CUDA: "gpu", Device.TPU: "tpu"}
DEVICES = {"cpu": Device.CPU, "gpu": Device.CUDA, "cuda": Device.CUDA, "tpu": Device.TPU}
RETURN_ARRAYS = "a JAX step must return its arrays so that perfledger can wait for them"


def load_jax() -> Any:  # noqa: ANN401 - JAX is fenced in here, and may not be installed
    """Import the user's JAX."""
    return importlib.import_module("jax")


class JaxClock:
    """The host's clock, stopped when the arrays that a step returns are ready."""

    def __init__(self, jax: Any) -> None:  # noqa: ANN401 - see load_jax
        self._wait = jax.block_until_ready
        self._leaves = jax.tree_util.tree_leaves
        self.devices = 0  # that the first step's arrays lie on; 0 until then

    def time(self, step: Callable[[], object]) -> float:
        """Run `step` once and return how long it took until its arrays were ready, in seconds.

        Raises TypeError when the first step returns nothing that can be waited for: only the
        dispatch would be timed.
        """
        start = perf_counter()
        result = self._wait(step())
        passed = perf_counter() - start
        if not self.devices:
            leaves = self._leaves(result)
            if not any(map(_is_value, leaves)):
                raise TypeError(RETURN_ARRAYS)
            self.devices = max(map(_devices, leaves))
        return passed


class JaxMeter:
    """JAX on the CPU or on an accelerator."""

    def __init__(self, jax: Any, device: Device) -> None:  # noqa: ANN401 - see load_jax
        self._jax = jax
        self._device = jax.devices(PLATFORMS[device])[0]
        self._is_default = self._device.platform == jax.default_backend()
        self._peak_before = 0.0
        self._clock = JaxClock(jax)

    @property
    def clock(self) -> Clock:
        """The clock that waits for the arrays."""
        return self._clock

    def placed(self) -> AbstractContextManager[object]:
        """Return a context in which new arrays are made on this device."""
        if self._is_default:
            return nullcontext()
        context: AbstractContextManager[object] = self._jax.default_device(self._device)
        return context

    def reset_peak(self) -> None:
        """Begin a new high-water mark, as far as that can be.

        A JAX device's own mark lasts as long as the process: what was the peak so far is kept, and
        a workload that stays below it has an unknown peak.
        """
        memory.reset_peak()
        self._peak_before = self._device_peak() or 0.0

    def peak_bytes(self) -> float | None:
        """Return the most device memory in use since `reset_peak`; on the CPU, resident memory."""
        peak = self._device_peak()
        if peak is None:
            return float(memory.peak_bytes())
        return peak if peak > self._peak_before else None

    def work(self, set_up: Callable[[], Step]) -> Work:
        """Return what XLA counts of the programs that a step would run."""
        return jax_work(self._jax, importlib.import_module("jax.extend.core"), set_up())

    def devices(self) -> int:
        """Return over how many devices the first step's arrays are laid out."""
        return max(1, self._clock.devices)

    def trace(self, next_step: Callable[[], Step], folder: Path, name: str) -> Traced | None:
        """Profile a few steps with jax.profiler into an xplane file."""
        return jax_profile.trace(self._jax, next_step, self.clock, folder=folder / name)

    def _device_peak(self) -> float | None:
        stats: Any = self._device.memory_stats()  # None on the CPU
        peak: Any = stats.get("peak_bytes_in_use") if stats else None
        return None if peak is None else float(peak)


def jax_device(wanted: str, jax: Any) -> Device:  # noqa: ANN401 - see load_jax
    """Return the device for `wanted` ("auto", "cpu", "cuda" or "tpu").

    Raises UnmeasurableError when there is no such device.
    """
    if wanted == "auto":
        backend = str(jax.default_backend())
        if backend in DEVICES:
            return DEVICES[backend]
        detail = f"perfledger has no clock for JAX on {backend!r}: set JAX_PLATFORMS to cpu"
        raise UnmeasurableError(Why.NO_DEVICE, detail)
    device = Device(wanted)
    try:
        jax.devices(PLATFORMS[device])
    except RuntimeError as error:
        detail = (
            f"JAX {jax.__version__} finds no {wanted!r} device here ({error}): run it on a machine "
            "with one, install JAX for it, or measure with --device cpu"
        )
        raise UnmeasurableError(Why.NO_DEVICE, detail) from error
    return device


def jax_facts(jax: Any) -> Mapping[str, object]:  # noqa: ANN401 - see load_jax
    """Return what JAX says of its default devices."""
    devices = jax.devices()
    return {
        "platform": str(devices[0].platform),
        "device_kind": str(devices[0].device_kind),
        "device_count": len(devices),
    }


def _devices(leaf: object) -> int:
    sharding: Any = getattr(leaf, "sharding", None)  # JAX's arrays have one, numpy's do not
    return 1 if sharding is None else len(sharding.device_set)


def _is_value(leaf: object) -> bool:
    # JAX's and numpy's arrays have __array__; a number was waited for when it was made.
    return isinstance(leaf, int | float | complex) or hasattr(leaf, "__array__")
