"""Detects the framework whose arrays a workload uses."""

import dis
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from perfledger.records import Framework
from perfledger.workload import Workload, WorkloadError

GLOBAL_LOADS = {"LOAD_GLOBAL", "LOAD_NAME"}
# Top-level packages that belong to one framework.
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
    """Return the declared framework, else the one that the function's own code reaches.

    The names that the function uses decide; only if they reach none, its whole module does. Raises
    WorkloadError when both frameworks are reached.
    """
    if workload.framework is not None:
        return workload.framework
    frameworks = reached_frameworks((workload.function,), workload.function.__module__, root=root)
    if len(frameworks) > 1:
        msg = (
            f"workload {workload.key!r} at {workload.source_line} uses torch and jax: set "
            'framework="torch" or framework="jax", whose arrays its step computes on, or '
            'framework="host" for NumPy and plain Python'
        )
        raise WorkloadError(msg)
    return next(iter(frameworks), Framework.HOST)


class Reach(Enum):
    """How far code is followed."""

    ALL = "all that may run"
    IMPORTED = "without imports inside functions"
    NAMED = "without other functions and modules"


@cache  # tests with parameters share their function
def reached_frameworks(
    functions: tuple[object, ...], module: str, *, root: Path
) -> frozenset[Framework]:
    """Return the frameworks that the functions' own code reaches, else their module's.

    One that is not installed is none of them: code that supports several may import it if asked to.
    If several are reached, those count that the functions name themselves; if they name none, those
    that are imported wherever they are reached, and not only if asked to.
    """
    installed = frozenset(kind for name, kind in PACKAGES.items() if _is_installed(name))
    if not installed:
        return frozenset()
    starts = functions
    frameworks = installed & _reachable(starts, root)
    if not frameworks:
        starts = (sys.modules.get(module),)
        frameworks = installed & _reachable(starts, root)
    if len(frameworks) > 1:
        named = installed & _reachable(functions, root, reach=Reach.NAMED)
        return named or installed & _reachable(starts, root, reach=Reach.IMPORTED)
    return frameworks


def _is_installed(name: str) -> bool:
    return name in sys.modules or find_spec(name) is not None


def _reachable(starts: Sequence[object], root: Path, *, reach: Reach = Reach.ALL) -> set[Framework]:
    frameworks: set[Framework] = set()
    visited: dict[int, object] = {}  # keeps the objects: the id of a freed one would be reused
    waiting = [*starts]
    named = {id(each) for each in starts}
    while waiting:
        item = waiting.pop()
        if id(item) in visited:
            continue
        visited[id(item)] = item
        if reach is Reach.IMPORTED and isinstance(item, CodeType):
            waiting += (each for each in item.co_consts if isinstance(each, CodeType))
            continue
        frameworks |= {PACKAGES[name] for name in _packages(item) if name in PACKAGES}
        is_other = isinstance(item, FunctionType | ModuleType) and id(item) not in named
        if not (reach is Reach.NAMED and is_other):
            waiting += _parts(item, root)
    return frameworks


def _packages(item: object) -> Iterator[str]:
    """Yield the top-level packages of an object, its type and its bases."""
    if isinstance(item, ModuleType):
        yield item.__name__.partition(".")[0]
    elif isinstance(item, CodeType):
        yield from _imported_names(item)
    elif isinstance(item, FunctionType | BuiltinFunctionType):
        yield str(item.__module__).partition(".")[0]
    kind: type = item if isinstance(item, type) else type(item)
    for each in type.mro(kind):
        yield str(each.__module__).partition(".")[0]


def _parts(item: object, root: Path) -> Iterator[object]:
    """Yield the parts of an object of the user's own code, nothing for other code.

    Look-ups are static, because attribute access on a foreign object may run its code.
    """
    match item:
        case CodeType():
            yield from (each for each in item.co_consts if isinstance(each, CodeType))
            yield from (sys.modules.get(name) for name in _packages(item))
        case ModuleType() if _is_own(getattr(item, "__file__", None), root):
            yield from tuple(vars(item).values())
        case type() if _is_own(getattr(sys.modules.get(item.__module__), "__file__", None), root):
            yield from (*vars(item).values(), *item.__bases__)
        case FunctionType() if _is_own(item.__code__.co_filename, root):
            yield item.__code__
            yield vars(item).get("__wrapped__")
            yield from (item.__globals__.get(name) for name in _global_names(item.__code__))
            yield from _cells(item)
        case FunctionType() | BuiltinFunctionType() | ModuleType() | type():
            return
        case _:
            yield from _inside(item)


def _inside(item: object) -> Iterator[object]:
    """Yield the content of the standard library's wrappers, and the type of other objects."""
    match item:
        case partial():
            yield item.func
        case _ if type(item) in {staticmethod, classmethod}:
            yield getattr(item, "__func__", None)
        case property():
            yield item.fget
        case _:
            yield type(item)


@cache  # many workloads reach the same code
def _imported_names(code: CodeType) -> frozenset[str]:
    """Return the top-level packages that the code imports when it runs."""
    imports = (line for line in dis.get_instructions(code) if line.opname == "IMPORT_NAME")
    return frozenset(str(line.argval).partition(".")[0] for line in imports)


@cache
def _global_names(code: CodeType) -> frozenset[str]:
    """Return the global names that a function and its inner functions use."""
    loads = (line for line in dis.get_instructions(code) if line.opname in GLOBAL_LOADS)
    inner = (_global_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(str(line.argval) for line in loads).union(*inner)


def _cells(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _is_own(path: object, root: Path) -> bool:
    return isinstance(path, str) and Path(path).resolve().is_relative_to(root)
