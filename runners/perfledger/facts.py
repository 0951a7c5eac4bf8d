"""The interpreter, its frameworks and their devices become a flat JSON object."""

import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from perfledger.failure import text_of
from perfledger.jax_clock import jax_facts, load_jax
from perfledger.records import Framework
from perfledger.torch_clock import load_torch, torch_facts

Load = Callable[[], Any]
Question = Callable[[Any], Mapping[str, object]]

ASKED: Mapping[Framework, tuple[Load, Question]] = {
    Framework.TORCH: (load_torch, torch_facts),
    Framework.JAX: (load_jax, jax_facts),
}
VERSIONED = ("torch", "jax", "jaxlib", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the interpreter says of itself; `device` is what the frameworks say of theirs."""

    python: str
    frameworks: Mapping[str, str]
    device: Mapping[str, object]


def facts(frameworks: Iterable[Framework]) -> Facts:
    """Return what is known once the user's code is imported; `frameworks` are those in use.

    Those are imported for it: their workloads may do so only later.
    """
    device: dict[str, object] = {}
    for framework in sorted(set(frameworks) & set(ASKED)):
        device |= _ask(*ASKED[framework])
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in VERSIONED}
    return Facts(
        python=platform.python_version(),
        frameworks={name: str(version) for name, version in found.items() if version},
        device=device,
    )


def _ask(load: Load, question: Question) -> Mapping[str, object]:
    try:
        return question(load())
    except Exception as error:  # a door: each workload will say it again, in its own name
        return {"error": f"{type(error).__name__}: {text_of(error)}"}
