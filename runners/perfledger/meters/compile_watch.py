"""Reads what torch.compile and jax.jit compile, and for how long, while a workload is measured.

Both record their times anyway: reading them slows nothing, and happens outside the timing.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any

from perfledger.compile_record import (
    MAX_NAME,
    MAX_PROGRAMS,
    CompiledProgram,
    CompilePhase,
    CompileRecord,
)

CompileReader = Callable[[], CompileRecord | None]  # None: unknown

DYNAMO = "torch._dynamo.utils"  # in sys.modules once anything was compiled
# Keys of its compilation_time_metrics: a frame with everything inside it, a backward pass compiled
# when first needed, the backend of a frame, and Inductor, its usual backend.
FRAME, BACKWARD = "_compile.compile_inner", "backward._backward_impl"
FRAME_BACKEND, INDUCTOR = "OutputGraph.call_user_compiler", "compile_fx_inner"

JAX_PHASES: Mapping[str, CompilePhase] = {
    "/jax/core/compile/jaxpr_trace_duration": CompilePhase.TRACING,
    "/jax/core/compile/jaxpr_to_mlir_module_duration": CompilePhase.LOWERING,
    "/jax/core/compile/backend_compile_duration": CompilePhase.BACKEND,
}

Foreign = Any  # a module of torch or JAX, or a CompilationMetrics of torch


@contextmanager
def watched_torch() -> Generator[CompileReader]:
    """Yield a function that returns what torch.compile has compiled since then.

    `torch.compiler.reset` forgets the times, but not those that were read before it: read before
    each set-up.
    """
    lists = [(key, times, len(times)) for key, times in _torch_times().items()]
    before = torch_metrics()

    def read() -> CompileRecord | None:
        if DYNAMO not in sys.modules:
            return CompileRecord()
        list_ids = {id(times) for _, times, _ in lists}
        lists.extend(
            (key, times, 0) for key, times in _torch_times().items() if id(times) not in list_ids
        )
        times: defaultdict[str, list[float]] = defaultdict(list)
        for key, every, start in lists:
            times[key] += every[start:]
        if FRAME_BACKEND not in times and times.get(FRAME):
            return None  # a version of torch with other names
        new = [one for one in torch_metrics() if all(one is not each for each in before)]
        return torch_record(times, new)

    yield read


def torch_record(
    times_s: Mapping[str, Sequence[float]], metrics: Iterable[Foreign]
) -> CompileRecord:
    """Return a record from torch's times by key and its metrics of each compilation.

    Torch keeps the metrics of the last 64 compilations; if some are lost, no programs are listed.
    """
    frame_s, backward_s, backend_s, inductor_s = (
        sum(times_s.get(key, ())) for key in (FRAME, BACKWARD, FRAME_BACKEND, INDUCTOR)
    )
    phases = {
        CompilePhase.TRACING: frame_s - backend_s,
        CompilePhase.LOWERING: backend_s + backward_s - inductor_s,
        CompilePhase.BACKEND: inductor_s,
    }
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    for one in metrics:
        compilation = str(getattr(one, "compile_id", None))
        if getattr(one, "co_name", None):  # a backward pass has only its forward pass's number
            names[compilation] = str(one.co_name)
            counts[names[compilation]] += 1
        name = names.get(compilation, "")
        seconds[name] += (getattr(one, "duration_us", None) or 0) / 1e6
    is_whole = sum(counts.values()) == len(times_s.get(FRAME, ()))
    return CompileRecord(
        phases_s={str(phase): max(0.0, spent) for phase, spent in phases.items() if spent},
        programs=_programs(counts, seconds) if is_whole else (),
    )


def torch_metrics() -> list[Foreign]:
    """Return torch's metrics of its last compilations (since torch 2.2)."""
    metrics: list[Foreign] = getattr(
        sys.modules.get(DYNAMO), "get_compilation_metrics", list[Foreign]
    )()
    return metrics


@contextmanager
def watched_jax(monitoring: Foreign) -> Generator[CompileReader]:
    """Yield a function that returns what JAX compiled since; `monitoring` is jax.monitoring."""
    watch = JaxCompilations()
    monitoring.register_event_duration_secs_listener(watch.heard)
    try:
        yield watch.record
    finally:
        watch.is_open = False
        with suppress(Exception):  # older versions keep every listener
            monitoring.unregister_event_duration_listener(watch.heard)


class JaxCompilations:
    """A listener to JAX's compilations, each of which is reported when it ends."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self.is_open = True
        self._phases_s: defaultdict[str, float] = defaultdict(float)
        self._counts: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._ended: list[tuple[float, float]] = []  # middle and duration, outermost only

    def heard(self, event: str, duration_s: float, **facts: object) -> None:
        """Add a duration without those that it contains: they were reported before it."""
        phase = JAX_PHASES.get(event)
        if phase is None or not self.is_open:
            return
        now = self._clock()
        inner_s = 0.0
        while self._ended and self._ended[-1][0] >= now - duration_s:
            inner_s += self._ended.pop()[1]
        self._ended.append((now - duration_s / 2, duration_s))
        own_s = max(0.0, duration_s - inner_s)
        self._phases_s[str(phase)] += own_s
        name = _function_name(str(facts.get("fun_name", "")))
        self._seconds[name] += own_s
        if phase is CompilePhase.BACKEND:
            self._counts[name] += 1

    def record(self) -> CompileRecord:
        """Return the record until now."""
        return CompileRecord(
            phases_s=dict(self._phases_s), programs=_programs(self._counts, self._seconds)
        )


def _programs(
    counts: Mapping[str, int], seconds: Mapping[str, float]
) -> tuple[CompiledProgram, ...]:
    """Return the programs that have a name, those that took longest first."""
    named = [name for name in counts if name and name.isprintable()]
    ranked = sorted(named, key=lambda name: -seconds.get(name, 0.0))
    return tuple(
        CompiledProgram(name=name[:MAX_NAME], count=counts[name], seconds=seconds.get(name, 0.0))
        for name in ranked[:MAX_PROGRAMS]
    )


def _function_name(program: str) -> str:
    """Return the function of a program that JAX calls "jit(f)" or "jit_f"."""
    if program.startswith("jit(") and program.endswith(")"):
        return program[len("jit(") : -1]
    return program.removeprefix("jit_")


def _torch_times() -> Mapping[str, list[float]]:
    times: Mapping[str, list[float]] = getattr(
        sys.modules.get(DYNAMO), "compilation_time_metrics", dict[str, list[float]]()
    )
    return times
