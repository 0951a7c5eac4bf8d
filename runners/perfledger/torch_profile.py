"""A torch step becomes a Chrome trace written by torch.profiler."""

from pathlib import Path
from typing import Any

from perfledger.clock import Clock
from perfledger.meter import Traced
from perfledger.workload import Step

TOOL = "torch.profiler"
WAIT, WARMUP, ACTIVE = 1, 2, 5  # steps; the profiler's own start falls into the first active one


def trace(
    torch: Any,  # noqa: ANN401 - torch is fenced in, see torch_clock
    step: Step,
    clock: Clock,
    *,
    path: Path,
    has_cuda: bool,
) -> Traced:
    """Profile `step` into `path`; each active step is a ProfilerStep#N annotation.

    Shapes are recorded, stacks and memory are not: they cost more than they explain. The device is
    waited for inside each step, so that a step's annotation holds all of its work.
    """
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU]
    if has_cuda:
        activities.append(profiler.ProfilerActivity.CUDA)
    schedule = profiler.schedule(wait=WAIT, warmup=WARMUP, active=ACTIVE, repeat=1)
    times: list[float] = []
    with profiler.profile(activities=activities, schedule=schedule, record_shapes=True) as profile:
        for _ in range(WAIT + WARMUP + ACTIVE):
            times.append(clock.time(step))
            profile.step()
    profile.export_chrome_trace(str(path))
    kept = times[-(ACTIVE - 1) :]
    return Traced(tool=TOOL, trace=path, steps=len(kept), step_seconds=sum(kept) / len(kept))
