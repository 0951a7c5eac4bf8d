"""A workload's function becomes the framework whose arrays it computes on."""

import dis
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from perfledger.records import Framework
from perfledger.workload import Workload, WorkloadError

# Top-level packages that only make sense on one framework.
PACKAGES = {
    "torch": Framework.TORCH,
    "torchvision": Framework.TORCH,
    "torchaudio": Framework.TORCH,
    "jax": Framework.JAX,
    "jaxlib": Framework.JAX,
    "flax": Framework.JAX,
    "optax": Framework.JAX,
    "equinox": Framework.JAX,
}


def framework_of(workload: Workload, *, root: Path) -> Framework:
    """Return the declared framework, else the one the function reaches through the user's own code.

    What the function names comes first; only when that is none, all that its module holds counts.
    Raises WorkloadError when both frameworks are found.
    """
    if workload.framework is not None:
        return workload.framework
    found = _reachable(workload.function, root)
    if not found:
        found = _reachable(sys.modules.get(workload.function.__module__), root)
    if len(found) > 1:
        msg = (
            f"workload {workload.key!r} at {workload.place} uses torch and jax: say whose arrays "
            'its step computes on with framework="torch" or framework="jax"'
        )
        raise WorkloadError(msg)
    return found.pop() if found else Framework.HOST


def _reachable(start: object, root: Path) -> set[Framework]:
    found: set[Framework] = set()
    seen: dict[int, object] = {}  # the thing as well: a freed one's id would come back
    waiting = [start]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        found |= {PACKAGES[name] for name in _packages(thing) if name in PACKAGES}
        waiting += _parts(thing, root)
    return found


def _packages(thing: object) -> Iterator[str]:
    """Yield the top-level packages that a thing, its type and its bases belong to."""
    if isinstance(thing, ModuleType):
        yield thing.__name__.partition(".")[0]
    elif isinstance(thing, CodeType):
        for line in dis.get_instructions(thing):
            if line.opname == "IMPORT_NAME":
                yield str(line.argval).partition(".")[0]
    elif isinstance(thing, FunctionType | BuiltinFunctionType):
        yield str(thing.__module__).partition(".")[0]
    kind: type = thing if isinstance(thing, type) else type(thing)
    for each in type.mro(kind):
        yield str(each.__module__).partition(".")[0]


def _parts(thing: object, root: Path) -> Iterator[object]:
    """Yield what a thing of the user's own is made of; nothing for anybody else's.

    Only plain look-ups: asking a stranger's object for an attribute may run its code.
    """
    match thing:
        case CodeType():
            yield from (each for each in thing.co_consts if isinstance(each, CodeType))
            yield from (sys.modules.get(name) for name in _packages(thing))
        case ModuleType() if _is_own(getattr(thing, "__file__", None), root):
            yield from tuple(vars(thing).values())
        case type() if _is_own(getattr(sys.modules.get(thing.__module__), "__file__", None), root):
            yield from (*vars(thing).values(), *thing.__bases__)
        case FunctionType() if _is_own(thing.__code__.co_filename, root):
            yield thing.__code__
            yield vars(thing).get("__wrapped__")
            yield from (thing.__globals__.get(name) for name in _global_names(thing.__code__))
            yield from _cells(thing)
        case FunctionType() | BuiltinFunctionType() | ModuleType() | type():
            return
        case _:
            yield from _inside(thing)


def _inside(thing: object) -> Iterator[object]:
    """Yield what the standard library's wrappers wrap, and the type of anything else."""
    match thing:
        case partial():
            yield thing.func
        case _ if type(thing) in {staticmethod, classmethod}:
            yield getattr(thing, "__func__", None)
        case property():
            yield thing.fget
        case _:
            yield type(thing)


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function, and those inside it, look up in their module."""
    for line in dis.get_instructions(code):
        if line.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            yield str(line.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _cells(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _is_own(path: object, root: Path) -> bool:
    return isinstance(path, str) and Path(path).resolve().is_relative_to(root)
