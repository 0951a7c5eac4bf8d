"""Profiles JAX steps with jax.profiler into an xplane file."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfledger.meters.clock import Clock
from perfledger.meters.device import (
    MIN_WINDOW_STEPS,
    USUAL_EFFORT,
    ProfiledPass,
    TraceEffort,
    median_first,
    window_steps,
)
from perfledger.profile import JAX_PROFILER
from perfledger.workload import Step


def trace(
    jax: Any,  # noqa: ANN401 - JAX is fenced in, see jax_clock
    next_step: Callable[[], Step],
    clock: Clock,
    *,
    folder: Path,
    effort: TraceEffort = USUAL_EFFORT,
) -> ProfiledPass:
    """Profile steps into an .xplane.pb below `folder`; each step is an annotated "step".

    Files of an earlier profile in `folder` are removed. Python calls are not recorded: they would
    be most of the file and of the overhead.
    """
    windows: list[tuple[float, Path]] = []
    spent, steps = 0.0, effort.steps or MIN_WINDOW_STEPS
    shutil.rmtree(folder, ignore_errors=True)
    while not windows or (
        len(windows) < effort.windows and spent <= effort.max_seconds and effort.has_time
    ):
        window = folder / str(len(windows))
        times = _window(jax.profiler, next_step(), clock, window, steps)
        spent += sum(times)
        needed = effort.steps or window_steps(min(times))
        # The first window shows how many steps a window needs.
        if not windows and steps < needed and effort.has_time:
            steps = needed
            shutil.rmtree(window)
            continue
        windows.append((sum(times[1:]) / len(times[1:]), window))
    windows = median_first(windows)
    files = [_file(window) for _, window in windows]
    return ProfiledPass(
        tool=JAX_PROFILER,
        trace=files[0],
        steps=steps,
        step_seconds=windows[0][0],
        repeats=tuple(files[1:]),
    )


def _window(
    profiler: Any,  # noqa: ANN401 - see trace
    step: Step,
    clock: Clock,
    folder: Path,
    steps: int,
) -> list[float]:
    """Profile `steps` steps after a first one, into their own folder; return the times of all."""
    folder.mkdir(parents=True)
    times: list[float] = []
    _start(profiler, folder)
    try:
        for number in range(1 + steps):
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
