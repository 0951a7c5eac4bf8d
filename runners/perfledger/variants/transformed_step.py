"""Holds a step that a variant has transformed, and the error of one that cannot be made."""

import importlib
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import FailureReason
from perfledger.workload import AnyStep, PreparedStep, Step

DEFAULT_COMPILER = "g++"  # Inductor's, unless CXX names another

Foreign = Any  # a module, function or value of torch, JAX or an engine


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function with the inputs that a step calls it with."""

    function: Callable[..., object]
    inputs: tuple[object, ...]

    def __call__(self) -> object:
        """Call the function."""
        return self.function(*self.inputs)


def no_remarks() -> tuple[str, ...]:
    """Return no remarks: no part of the step is left as written."""
    return ()


def close_nothing() -> None:
    """Do nothing, because nothing needs to be closed."""


@dataclass(frozen=True, slots=True)
class TransformedStep:
    """The step of a variant, or as written.

    `verify` is called after the first step and after the last one. It returns sentences on what the
    variant leaves as written, and raises UnmeasurableError if that is all of the step.
    """

    step: AnyStep
    verify: Callable[[], tuple[str, ...]] = no_remarks
    close: Callable[[], object] = close_nothing

    @property
    def run(self) -> Step:
        """Return the step without its preparation."""
        return self.step.run if isinstance(self.step, PreparedStep) else self.step


def unavailable(variant: str, reason: str, advice: str) -> UnmeasurableError:
    """Return the error of a variant that cannot be measured here, with advice."""
    detail = f"variant '{variant}' {reason}: {advice}"
    return UnmeasurableError(FailureReason.NOT_AVAILABLE, detail)


def load_package(variant: str, module: str, *, package: str) -> Foreign:
    """Import a module that the variant needs. Raises UnmeasurableError without its package."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        reason = f"needs {package}"
        reason += " (not installed)" if find_spec(name) is None else f" (cannot import: {error})"
        advice = f"pip install {package}"
        raise unavailable(variant, reason, advice) from error


def require_cxx(variant: str, environment: Mapping[str, str]) -> None:
    """Raise UnmeasurableError without the compiler that Inductor calls."""
    command = environment.get("CXX") or DEFAULT_COMPILER
    if shutil.which(shlex.split(command)[0]) is None:
        advice = "install g++, or set CXX to another compiler"
        raise unavailable(variant, f"needs a C++ compiler, and there is no {command!r}", advice)


def require_module(variant: str, torch: Foreign, call: FunctionCall) -> Foreign:
    """Return the torch module that is called. Raises UnmeasurableError for any other function."""
    if isinstance(call.function, torch.nn.Module):
        return call.function
    reason = f"exports a torch.nn.Module, and the function is {call.function!r:.100}"
    raise unavailable(variant, reason, "return the module and its inputs from the set-up")
