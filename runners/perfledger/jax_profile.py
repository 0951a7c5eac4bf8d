"""A JAX step becomes an xplane file written by jax.profiler."""

from pathlib import Path
from typing import Any

from perfledger.clock import Clock
from perfledger.meter import Traced
from perfledger.workload import Step

TOOL = "jax.profiler"
ACTIVE = 5  # steps; the profiler's own start falls into the first


def trace(
    jax: Any,  # noqa: ANN401 - JAX is fenced in, see jax_clock
    step: Step,
    clock: Clock,
    *,
    folder: Path,
) -> Traced:
    """Profile `step` into an .xplane.pb below `folder`; each step is an annotated "step".

    Python's own calls are left out: they would be most of the file and of the overhead.
    """
    profiler = jax.profiler
    times: list[float] = []
    _start(profiler, folder)
    try:
        for number in range(ACTIVE):
            with profiler.StepTraceAnnotation("step", step_num=number):
                times.append(clock.time(step))
    finally:
        profiler.stop_trace()
    files = sorted(folder.glob("plugins/profile/*/*.xplane.pb"))
    if not files:
        msg = f"jax.profiler wrote no .xplane.pb below {folder}"
        raise FileNotFoundError(msg)
    kept = times[1:]
    return Traced(tool=TOOL, trace=files[-1], steps=len(kept), step_seconds=sum(kept) / len(kept))


def _start(profiler: Any, folder: Path) -> None:  # noqa: ANN401 - see trace
    if not hasattr(profiler, "ProfileOptions"):  # before JAX 0.5
        profiler.start_trace(str(folder))
        return
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    profiler.start_trace(str(folder), profiler_options=options)
