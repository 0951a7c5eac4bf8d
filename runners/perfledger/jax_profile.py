"""A JAX step becomes an xplane file written by jax.profiler."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfledger.clock import Clock
from perfledger.meter import Traced, shortest
from perfledger.workload import Step

TOOL = "jax.profiler"
ACTIVE = 5  # steps; the profiler's own start falls into the first
# As torch_profile's: of a few windows one is mostly undisturbed.
WINDOWS = 5
ENOUGH_SECONDS = 5.0


def trace(
    jax: Any,  # noqa: ANN401 - JAX is fenced in, see jax_clock
    next_step: Callable[[], Step],
    clock: Clock,
    *,
    folder: Path,
) -> Traced:
    """Profile steps into an .xplane.pb below `folder`; each step is an annotated "step".

    What an earlier profile left in `folder` goes: a workload may be profiled a second time.
    Python's own calls are left out: they would be most of the file and of the overhead. Of up to
    WINDOWS passes the one with the shortest steps is kept, and the next shortest as the same code
    again.
    """
    windows: list[tuple[float, Path]] = []
    spent = 0.0
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(WINDOWS):
        window = folder / str(number)
        times = _window(jax.profiler, next_step(), clock, window)
        windows = shortest([*windows, (sum(times[1:]) / len(times[1:]), window)])
        spent += sum(times)
        if spent > ENOUGH_SECONDS:
            break
    kept = [window for _, window in windows]
    for window in folder.iterdir():
        if window not in kept:
            shutil.rmtree(window)
    files = [_file(window) for window in kept]
    return Traced(
        tool=TOOL,
        trace=files[0],
        steps=ACTIVE - 1,
        step_seconds=windows[0][0],
        again=files[1] if len(files) > 1 else None,
    )


def _window(
    profiler: Any,  # noqa: ANN401 - see trace
    step: Step,
    clock: Clock,
    folder: Path,
) -> list[float]:
    """Profile one pass into a folder of its own; return what each of its steps took."""
    folder.mkdir(parents=True)
    times: list[float] = []
    _start(profiler, folder)
    try:
        for number in range(ACTIVE):
            with profiler.StepTraceAnnotation("step", step_num=number):
                times.append(clock.time(step))
    finally:
        profiler.stop_trace()
    return times


def _file(window: Path) -> Path:
    files = sorted(window.glob("plugins/profile/*/*.xplane.pb"))
    if not files:
        msg = f"jax.profiler wrote no .xplane.pb below {window}"
        raise FileNotFoundError(msg)
    return files[-1]


def _start(profiler: Any, folder: Path) -> None:  # noqa: ANN401 - see trace
    if not hasattr(profiler, "ProfileOptions"):  # before JAX 0.5
        profiler.start_trace(str(folder))
        return
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    profiler.start_trace(str(folder), profiler_options=options)
