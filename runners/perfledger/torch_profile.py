"""A torch step becomes a Chrome trace written by torch.profiler."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfledger.clock import Clock
from perfledger.meter import Traced, shortest
from perfledger.workload import Step

TOOL = "torch.profiler"
WAIT, WARMUP, ACTIVE = 1, 2, 5  # steps; the profiler's own start falls into the first active one
# What else a machine does comes in bursts of a second: of a few windows one is mostly undisturbed.
WINDOWS = 5
ENOUGH_SECONDS = 5.0  # of steps; an accelerator that takes longer has nobody beside it


def trace(
    torch: Any,  # noqa: ANN401 - torch is fenced in, see torch_clock
    next_step: Callable[[], Step],
    clock: Clock,
    *,
    path: Path,
    has_cuda: bool,
) -> Traced:
    """Profile steps into `path`; each active step is a ProfilerStep#N annotation.

    Shapes are recorded, stacks and memory are not: they cost more than they explain. The device is
    waited for inside each step, so that a step's annotation holds all of its work. Of up to WINDOWS
    passes the one with the shortest steps is kept, and the next shortest as the same code again.
    """
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU]
    if has_cuda:
        activities.append(profiler.ProfilerActivity.CUDA)
    windows: list[tuple[float, Any]] = []
    spent = 0.0
    for _ in range(WINDOWS):
        profile, times = _window(profiler, next_step(), clock, activities)
        kept = times[-(ACTIVE - 1) :]
        windows = shortest([*windows, (sum(kept) / len(kept), profile)])
        spent += sum(times)
        if spent > ENOUGH_SECONDS:
            break
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
) -> tuple[Any, list[float]]:
    """Return one profiled pass, and what each of its steps took."""
    schedule = profiler.schedule(wait=WAIT, warmup=WARMUP, active=ACTIVE, repeat=1)
    times: list[float] = []
    with profiler.profile(activities=activities, schedule=schedule, record_shapes=True) as profile:
        for _ in range(WAIT + WARMUP + ACTIVE):
            times.append(clock.time(step))
            profile.step()
    return profile, times
