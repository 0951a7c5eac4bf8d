"""Saves and restores process state, so that one process can run a workload twice and compare."""

import gc
import os
import random
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

# Module, getter and setter of a state. No module is imported for it.
RANDOM = (("numpy.random", "get_state", "set_state"), ("torch", "get_rng_state", "set_rng_state"))
# The same for settings, which are written only if they changed, because setters have side effects.
SWITCHES = (
    ("torch", "is_grad_enabled", "set_grad_enabled"),
    ("torch", "get_default_dtype", "set_default_dtype"),
    ("torch", "get_num_threads", "set_num_threads"),
)

GIT_FOLDER = "GIT_DIR"

Read = Callable[[], object]
Write = Callable[..., object]


@contextmanager
def preserved_state(modules: Mapping[str, object] = sys.modules) -> Generator[None, None, None]:
    """Restore the working folder, the environment, random states and torch's settings at the end.

    A failure to restore one, such as a deleted folder, does not affect the others; its error is
    raised at the end.
    """
    folder, environment, is_collecting = os.getcwd(), dict(os.environ), gc.isenabled()  # noqa: PTH109
    with ExitStack() as stack:
        stack.callback(_settings(modules))
        stack.callback(gc.enable if is_collecting else gc.disable)
        stack.callback(_restore_environment, environment)
        stack.callback(os.chdir, folder)
        yield


@contextmanager
def hidden_history() -> Generator[ExitStack]:
    """Let git find no repository, until the given stack is closed.

    pytest-benchmark asks git for the commit whenever it is loaded. Several processes of git then
    run before the tests, and the tests seem to depend on their commit.
    """
    before = os.environ.get(GIT_FOLDER)

    def show() -> None:
        os.environ.pop(GIT_FOLDER, None)
        if before is not None:
            os.environ[GIT_FOLDER] = before

    with ExitStack() as stack:
        os.environ[GIT_FOLDER] = os.devnull
        stack.callback(show)
        yield stack


def _restore_environment(before: Mapping[str, str]) -> None:
    for name in set(os.environ) - set(before):
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _settings(modules: Mapping[str, object]) -> Callable[[], None]:
    """Return a function that restores the current settings of the loaded modules."""
    states: list[tuple[Write, object]] = [(random.setstate, random.getstate())]
    states += [(write, read()) for read, write in _pairs(modules, RANDOM)]
    switches = [(read, write, read()) for read, write in _pairs(modules, SWITCHES)]
    cuda = getattr(modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():  # reading its state would initialise it
        states.append((cuda.set_rng_state_all, cuda.get_rng_state_all()))

    def restore() -> None:
        for write, value in states:
            write(value)
        for read, write, value in switches:
            if read() != value:
                write(value)

    return restore


def _pairs(
    modules: Mapping[str, object], table: Iterable[tuple[str, str, str]]
) -> Iterator[tuple[Read, Write]]:
    for name, getter, setter in table:
        module = modules.get(name)
        read, write = getattr(module, getter, None), getattr(module, setter, None)
        if read is not None and write is not None:
            yield read, write
