"""The interpreter, its frameworks and their devices become a flat JSON object."""

import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from perfledger.failure import text_of
from perfledger.jax_clock import jax_facts, load_jax
from perfledger.records import Framework
from perfledger.torch_clock import load_torch, torch_facts


def facts(frameworks: Iterable[Framework]) -> Mapping[str, object]:
    """Return what is known once the user's code is imported; `frameworks` are those in use.

    Those are imported for it: their workloads may do so only later.
    """
    device: dict[str, object] = {}
    for framework in sorted(set(frameworks)):
        match framework:
            case Framework.TORCH:
                device |= _ask(load_torch, torch_facts)
            case Framework.JAX:
                device |= _ask(load_jax, jax_facts)
            case Framework.HOST:
                pass
    loaded = {name: sys.modules.get(name) for name in ("torch", "jax", "jaxlib", "numpy")}
    versions = {name: getattr(module, "__version__", None) for name, module in loaded.items()}
    return {
        "python": platform.python_version(),
        "frameworks": {name: str(version) for name, version in versions.items() if version},
        "device": device,
    }


def _ask(
    load: Callable[[], Any], question: Callable[[Any], Mapping[str, object]]
) -> Mapping[str, object]:
    try:
        return question(load())
    except Exception as error:  # a door: each workload will say it again, in its own name
        return {"error": f"{type(error).__name__}: {text_of(error)}"}
