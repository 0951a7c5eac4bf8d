"""What a workload may change of its process for the next one, taken before and put back after."""

import gc
import os
import random
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from types import ModuleType

# Module, what reads a setting, what writes it back. No module is imported for it.
SETTINGS = (
    ("numpy.random", "get_state", "set_state"),
    ("torch", "get_rng_state", "set_rng_state"),
    ("torch", "is_grad_enabled", "set_grad_enabled"),
    ("torch", "get_default_dtype", "set_default_dtype"),
    ("torch", "get_num_threads", "set_num_threads"),
)


@contextmanager
def kept_state(
    modules: Mapping[str, ModuleType] = sys.modules,
) -> Generator[None, None, None]:
    """Put the current folder, the environment, random states and torch's switches back."""
    folder, environment, is_collecting = os.getcwd(), dict(os.environ), gc.isenabled()  # noqa: PTH109
    restore_settings = _settings(modules)
    try:
        yield
    finally:
        os.chdir(folder)
        _restore_environment(environment)
        (gc.enable if is_collecting else gc.disable)()
        restore_settings()


def _restore_environment(before: Mapping[str, str]) -> None:
    for name in set(os.environ) - set(before):
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _settings(modules: Mapping[str, ModuleType]) -> Callable[[], None]:
    """Return what puts the settings of the loaded modules back as they are now."""
    kept: list[tuple[Callable[..., object], object]] = [(random.setstate, random.getstate())]
    for name, getter, setter in SETTINGS:
        module = modules.get(name)
        read, write = getattr(module, getter, None), getattr(module, setter, None)
        if read is not None and write is not None:
            kept.append((write, read()))
    cuda = getattr(modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():  # asking for its state would initialise it
        kept.append((cuda.set_rng_state_all, cuda.get_rng_state_all()))

    def restore() -> None:
        for write, value in kept:
            write(value)

    return restore
