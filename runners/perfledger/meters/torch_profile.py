"""Profiles torch steps with torch.profiler into a Chrome trace."""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from perfledger.meters import process_memory
from perfledger.meters.clock import Clock
from perfledger.meters.device_meter import ProfiledPass, median_first
from perfledger.workload import Step

TOOL = "torch.profiler"
WARMUP, ACTIVE = 2, 5  # steps; the first active one includes the profiler's start
# Other load comes in bursts and lengthens some windows: the error of a difference is learnt from
# how far the windows differ.
WINDOWS = 8
# The profiler's memory keeps the heap from settling: in the first windows of a process a step
# returns pages and faults new ones, 4,000 of them and 7 of 37 ms in the example's GPT without fused
# attention, and none without a profiler. After six windows it stops for some three, and again after
# four more. A step that always faults pages never settles: then the shortest windows are used.
MOST_WINDOWS = 24
MAX_SETTLED_FAULTS = 100  # pages per step: a tenth of a millisecond
MAX_PROFILED_SECONDS = 5.0  # of steps; longer steps are less disturbed


def trace(
    torch: Any,  # noqa: ANN401 - torch is fenced in, see torch_clock
    next_step: Callable[[], Step],
    clock: Clock,
    *,
    path: Path,
    has_cuda: bool,
    page_faults: Callable[[], int] = process_memory.page_faults,
) -> ProfiledPass:
    """Profile windows of steps into `path` and files beside it; a step is a ProfilerStep#N.

    Shapes are recorded; stacks and memory are not, because they cost more than they explain. Each
    step waits for the device, so that its annotation covers all of its work. Windows on a settled
    heap are kept; others are used only if there is none of those.
    """
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU]
    if has_cuda:
        activities.append(profiler.ProfilerActivity.CUDA)
    calm: list[tuple[float, Any]] = []
    disturbed: list[tuple[float, Any]] = []
    spent, settled_windows = 0.0, 0
    for _ in range(MOST_WINDOWS):
        profile, times, faults = _window(profiler, next_step(), clock, activities, page_faults)
        kept_times = times[-(ACTIVE - 1) :]
        window = (sum(kept_times) / len(kept_times), profile)
        if has_cuda or faults <= MAX_SETTLED_FAULTS:  # the host's heap does not matter on CUDA
            settled_windows += 1
            calm.append(window)
        else:
            disturbed.append(window)
        spent += sum(times)
        if settled_windows == WINDOWS or spent > MAX_PROFILED_SECONDS:
            break
    windows = median_first(calm or disturbed[-WINDOWS:])  # some of each would differ by the heap
    paths = (path, *(path.with_name(f"{n}-{path.name}") for n in range(1, len(windows))))
    for (_, profile), to in zip(windows, paths, strict=True):
        profile.export_chrome_trace(str(to))
    return ProfiledPass(
        tool=TOOL,
        trace=path,
        steps=ACTIVE - 1,
        step_seconds=windows[0][0],
        repeats=paths[1:],
    )


def _window(
    profiler: Any,  # noqa: ANN401 - see trace
    step: Step,
    clock: Clock,
    activities: list[Any],
    page_faults: Callable[[], int],
) -> tuple[Any, list[float], float]:
    """Return one profiled pass, the seconds of each step, and the page faults per kept step."""
    schedule = profiler.schedule(wait=0, warmup=WARMUP, active=ACTIVE, repeat=1)
    times: list[float] = []
    faults: list[int] = []
    with profiler.profile(activities=activities, schedule=schedule, record_shapes=True) as profile:
        for _ in range(WARMUP + ACTIVE):
            before = page_faults()
            times.append(clock.time(step))
            faults.append(page_faults() - before)
            profile.step()
    return profile, times, fmean(faults[-(ACTIVE - 1) :])
