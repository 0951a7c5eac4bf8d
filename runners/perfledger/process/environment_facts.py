"""Reads the facts about the interpreter, its frameworks and their devices."""

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from perfledger.failure_reason import text_of
from perfledger.meters.jax_clock import jax_facts, load_jax
from perfledger.meters.torch_clock import load_torch, torch_facts
from perfledger.process.distributions import loaded_distributions
from perfledger.records import Framework

FrameworkLoader = Callable[[], Any]
DeviceFactReader = Callable[[Any], Mapping[str, object]]

DEVICE_FACT_READERS: Mapping[Framework, tuple[FrameworkLoader, DeviceFactReader]] = {
    Framework.TORCH: (load_torch, torch_facts),
    Framework.JAX: (load_jax, jax_facts),
}
VERSIONED_PACKAGES = ("torch", "jax", "jaxlib", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentFacts:
    """The interpreter, its frameworks with their facts about the device, and what is installed."""

    python: str
    frameworks: Mapping[str, str]
    device: Mapping[str, object]
    distributions: Mapping[str, str]  # in use: name → version


def environment_facts(frameworks: Iterable[Framework]) -> EnvironmentFacts:
    """Return the facts after importing the user's code; `frameworks` are those in use.

    They are imported here, because their workloads may import them only later.
    """
    device: dict[str, object] = {}
    for framework in sorted(set(frameworks) & set(DEVICE_FACT_READERS)):
        device |= _device_facts(*DEVICE_FACT_READERS[framework])
    versions = {
        name: getattr(sys.modules.get(name), "__version__", None) for name in VERSIONED_PACKAGES
    }
    return EnvironmentFacts(
        python=sys.version.split()[0],
        frameworks={name: str(version) for name, version in versions.items() if version},
        device=device,
        distributions=loaded_distributions(sys.modules, sys.path),
    )


def load_frameworks(frameworks: Iterable[Framework]) -> None:
    """Import the frameworks in use, which their workloads may import only later.

    An error is reported by each workload.
    """
    for framework in sorted(set(frameworks) & set(DEVICE_FACT_READERS)):
        load, _ = DEVICE_FACT_READERS[framework]
        with suppress(Exception):
            load()


def _device_facts(load: FrameworkLoader, read_facts: DeviceFactReader) -> Mapping[str, object]:
    try:
        return read_facts(load())
    except Exception as error:  # a boundary: each workload reports the error again
        return {"error": f"{type(error).__name__}: {text_of(error)}"}
