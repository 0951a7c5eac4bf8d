"""Profiles torch steps with torch.profiler into Chrome traces."""

import gzip
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
from perfledger.profile import TORCH_PROFILER
from perfledger.workload import Step

WARMUP = 2  # steps
# Level of gzip, 1 to 9. A trace of 2.4 MB, whose steps take .1 s of CPU time, takes .3 s by torch's
# own export, which compresses line by line at the highest level, and .04 s in this way.
COMPRESSION = 1


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
    annotation covers all of its work. Where the steps are warm, the profiler's warm-up has none.
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
        _export(profile, shapes)
        del profile  # and with it the tensors
        spent += sum(times)
        steps = effort.steps or window_steps(min(times))
    windows: list[tuple[float, Any]] = []
    while not windows or (
        len(windows) < effort.windows and spent <= effort.max_seconds and effort.has_time
    ):
        profile, times = _window(
            profiler,
            next_step(),
            clock,
            activities,
            steps,
            has_shapes=False,
            is_warm=effort.is_warm,
        )
        kept_times = times[-steps:]
        windows.append((sum(kept_times) / len(kept_times), profile))
        spent += sum(times)
    windows = median_first(windows)
    paths = (path, *(path.with_name(f"{n}-{path.name}") for n in range(1, len(windows))))
    for (_, profile), to in zip(windows, paths, strict=True):
        _export(profile, to)
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
    is_warm: bool = False,
) -> tuple[Any, list[float]]:
    """Profile `steps` steps after a first one; return the profile and the seconds of each step.

    The profiler's warm-up is of empty steps if the steps are warm.
    """
    schedule = profiler.schedule(wait=0, warmup=WARMUP, active=1 + steps, repeat=1)
    times: list[float] = []
    with profiler.profile(
        activities=activities, schedule=schedule, record_shapes=has_shapes
    ) as profile:
        for number in range(WARMUP + 1 + steps):
            if number >= WARMUP or not is_warm:
                times.append(clock.time(step))
            profile.step()
    return profile, times


def _export(profile: Any, path: Path) -> None:  # noqa: ANN401 - see trace
    """Write a profile's Chrome trace, compressed by gzip at a fast level; `path` ends in .gz."""
    json_file = path.with_suffix("")
    profile.export_chrome_trace(str(json_file))
    with json_file.open("rb") as trace_file, gzip.open(path, "wb", COMPRESSION) as compressed:
        shutil.copyfileobj(trace_file, compressed, 2**20)
    json_file.unlink()
