"""A torch step becomes a Chrome trace written by torch.profiler."""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from perfledger import memory
from perfledger.clock import Clock
from perfledger.meter import Traced, shortest
from perfledger.workload import Step

TOOL = "torch.profiler"
WAIT, WARMUP, ACTIVE = 1, 2, 5  # steps; the profiler's own start falls into the first active one
# What else a machine does comes in bursts of a second: of a few windows one is mostly undisturbed.
WINDOWS = 5
# The profiler's own memory keeps the heap from settling: in the first windows of a process a step
# gives pages back and is given new ones, 4,000 of them and 7 of 37 ms in the example's GPT without
# its fused attention, and without a profiler none. After six windows it is over for some three,
# and again after four more. A step that always asks for pages never settles: then the shortest
# windows are what there is.
MOST_WINDOWS = 20
SETTLED_FAULTS = 100  # pages a step: a tenth of a millisecond
ENOUGH_SECONDS = 5.0  # of steps; an accelerator that takes longer has nobody beside it


def trace(
    torch: Any,  # noqa: ANN401 - torch is fenced in, see torch_clock
    next_step: Callable[[], Step],
    clock: Clock,
    *,
    path: Path,
    has_cuda: bool,
    page_faults: Callable[[], int] = memory.page_faults,
) -> Traced:
    """Profile steps into `path`; each active step is a ProfilerStep#N annotation.

    Shapes are recorded, stacks and memory are not: they cost more than they explain. The device is
    waited for inside each step, so that a step's annotation holds all of its work. Of the passes on
    a settled heap the one with the shortest steps is kept, and the next shortest as the same code
    again; others only where there is none of those.
    """
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU]
    if has_cuda:
        activities.append(profiler.ProfilerActivity.CUDA)
    calm: list[tuple[float, Any]] = []
    other: list[tuple[float, Any]] = []
    spent, settled = 0.0, 0
    for _ in range(MOST_WINDOWS):
        profile, times, faults = _window(profiler, next_step(), clock, activities, page_faults)
        kept = times[-(ACTIVE - 1) :]
        window = (sum(kept) / len(kept), profile)
        if has_cuda or faults <= SETTLED_FAULTS:  # the heap is not where a device computes
            settled += 1
            calm = shortest([*calm, window])
        else:
            other = shortest([*other, window])
        spent += sum(times)
        if settled == WINDOWS or spent > ENOUGH_SECONDS:
            break
    windows = calm or other  # one of each would differ by the heap, and not by chance
    paths = (path, path.with_name(f"again-{path.name}"))
    for (_, profile), to in zip(windows, paths, strict=False):
        profile.export_chrome_trace(str(to))
    return Traced(
        tool=TOOL,
        trace=path,
        steps=ACTIVE - 1,
        step_seconds=windows[0][0],
        again=paths[1] if len(windows) > 1 else None,
    )


def _window(
    profiler: Any,  # noqa: ANN401 - see trace
    step: Step,
    clock: Clock,
    activities: list[Any],
    page_faults: Callable[[], int],
) -> tuple[Any, list[float], float]:
    """Return one profiled pass, the seconds of each step, and the new pages of a kept one."""
    schedule = profiler.schedule(wait=WAIT, warmup=WARMUP, active=ACTIVE, repeat=1)
    times: list[float] = []
    faults: list[int] = []
    with profiler.profile(activities=activities, schedule=schedule, record_shapes=True) as profile:
        for _ in range(WAIT + WARMUP + ACTIVE):
            before = page_faults()
            times.append(clock.time(step))
            faults.append(page_faults() - before)
            profile.step()
    return profile, times, fmean(faults[-(ACTIVE - 1) :])
