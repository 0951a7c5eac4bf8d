"""Profiles torch steps with torch.profiler into Chrome traces."""

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
from perfledger.profile import TORCH_PROFILER
from perfledger.workload import Step

WARMUP = 2  # steps


def trace(
    torch: Any,  # noqa: ANN401 - torch is fenced in, see torch_clock
    next_step: Callable[[], Step],
    clock: Clock,
    *,
    path: Path,
    has_cuda: bool,
    effort: TraceEffort = USUAL_EFFORT,
) -> ProfiledPass:
    """Profile windows of steps into `path` and files beside it; a step is a ProfilerStep#N.

    Shapes have a separate window: to record them the profiler holds every tensor until its window
    ends (as its documentation warns), so that each step works in fresh memory, which takes 22
    instead of 18 ms in the example's GPT without fused attention. Stacks and memory are not
    recorded, because they cost more than they explain. Each step waits for the device, so that its
    annotation covers all of its work.
    """
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU]
    if has_cuda:
        activities.append(profiler.ProfilerActivity.CUDA)
    has_shapes = effort.has_shapes and effort.has_time
    shapes = path.with_name(f"shapes-{path.name}") if has_shapes else None
    steps, spent = effort.steps or MIN_WINDOW_STEPS, 0.0
    if shapes is not None:
        profile, times = _window(profiler, next_step(), clock, activities, steps, has_shapes=True)
        profile.export_chrome_trace(str(shapes))
        del profile  # and with it the tensors
        spent += sum(times)
        steps = effort.steps or window_steps(min(times))
    windows: list[tuple[float, Any]] = []
    while not windows or (
        len(windows) < effort.windows and spent <= effort.max_seconds and effort.has_time
    ):
        profile, times = _window(profiler, next_step(), clock, activities, steps, has_shapes=False)
        kept_times = times[-steps:]
        windows.append((sum(kept_times) / len(kept_times), profile))
        spent += sum(times)
    windows = median_first(windows)
    paths = (path, *(path.with_name(f"{n}-{path.name}") for n in range(1, len(windows))))
    for (_, profile), to in zip(windows, paths, strict=True):
        profile.export_chrome_trace(str(to))
    return ProfiledPass(
        tool=TORCH_PROFILER,
        trace=path,
        steps=steps,
        step_seconds=windows[0][0],
        repeats=paths[1:],
        shapes=shapes,
    )


def _window(
    profiler: Any,  # noqa: ANN401 - see trace
    step: Step,
    clock: Clock,
    activities: list[Any],
    steps: int,
    *,
    has_shapes: bool,
) -> tuple[Any, list[float]]:
    """Profile `steps` steps after a first one; return the profile and the seconds of each step."""
    schedule = profiler.schedule(wait=0, warmup=WARMUP, active=1 + steps, repeat=1)
    times: list[float] = []
    with profiler.profile(
        activities=activities, schedule=schedule, record_shapes=has_shapes
    ) as profile:
        for _ in range(WARMUP + 1 + steps):
            times.append(clock.time(step))
            profile.step()
    return profile, times
