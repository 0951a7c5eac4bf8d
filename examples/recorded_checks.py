"""Makes checks of other commits and machines from recorded ones.

The samples are those of `recorded/`: two checks of this folder's example repository on a CPU. A
check made from them resamples their turns, and scales their times to another machine and to the
effect of a commit. Such checks show what the pages look like; they measure nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from random import Random
from statistics import median

from demo_repository import EXAMPLES

from perfledger.bundle import Bundle, Plan
from perfledger.kernel_times import KernelTimes, WorkloadKernels
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.profile import Profile
from perfledger.records import CoreTimes, Device, Machine, Revision, Run, Side
from perfledger.step_evidence import StepEvidence
from perfledger_runners.bundles.files import read_bundle

RECORDED = EXAMPLES / "recorded"
PAIRS = 6
# Spread of a machine's speed from one check to the next, and of a kernel's time, relative.
DRIFT, KERNEL_NOISE = 0.004, 0.005
NOTE = "Made from a check recorded on a CPU: its times were scaled, to show what the pages contain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMachine:
    """A machine of the generated history: its speed, and its share of the recorded noise."""

    machine: Machine
    speed: float = 1.0  # as a multiple of the recorded machine's
    noise: float = 1.0  # exponent of a sample over its workload's typical value
    margin: float = 0.10
    floor: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCommits:
    """What a generated check compares: commits, their effects by (workload, metric), and when."""

    base: Revision
    head: Revision
    base_levels: Mapping[tuple[str, str], float]
    head_levels: Mapping[tuple[str, str], float]
    measured_at: datetime
    pull_request: int | None = None
    machine_classes: tuple[str, ...] = ()


def recorded_check(name: str) -> Bundle:
    """Return a check of `recorded/`."""
    return read_bundle((RECORDED / f"{name}.json.gz").read_bytes())


def made_check(
    recorded: Bundle, shown_machine: ShownMachine, commits: CheckedCommits, *, seed: str
) -> Bundle:
    """Return a check of these commits on this machine, with samples of the recorded check."""
    random = Random(seed)
    is_cpu = shown_machine.machine.device is Device.CPU
    drift = math.exp(random.gauss(0, DRIFT))
    runs: list[Run] = []
    for spec in recorded.workloads:
        typical = _typical(recorded, spec.id)
        for pair, recorded_pair in enumerate(_pairs(recorded, spec.id, random)):
            levels = {Side.BASE: commits.base_levels, Side.HEAD: commits.head_levels}
            picks = [random.random() for _ in range(_turns(recorded_pair))]
            for position, side in enumerate(Side if pair % 2 == 0 else reversed(Side)):
                run = _scaled(
                    recorded_pair[side],
                    shown_machine,
                    levels[side],
                    typical=typical,
                    picks=picks,
                    drift=drift,
                )
                runs.append(
                    replace(
                        run,
                        side=side,
                        pair=pair,
                        position=position,
                        process=2 * pair + position,
                        started_at=commits.measured_at.isoformat(),
                    )
                )
    metrics = recorded.metrics if is_cpu else (STEP_TIME, PEAK_MEMORY)
    return replace(
        recorded,
        id=sha256(seed.encode()).hexdigest()[:32],
        created_at=commits.measured_at.isoformat(),
        base=commits.base,
        head=commits.head,
        machine=shown_machine.machine,
        plan=Plan(
            seed=1,
            order=tuple(str(tuple(Side)[pair % 2]) for pair in range(PAIRS)),
            looks=(4, 5, 6),
            margin=shown_machine.margin,
            floor=shown_machine.floor,
            machine_classes=commits.machine_classes,
        ),
        metrics=metrics,
        runs=tuple(runs),
        profiles=(),
        repeats=(),
        pull_request=commits.pull_request,
        settings={
            **recorded.settings,
            "margin": shown_machine.margin,
            "floor": shown_machine.floor,
        },
        host_findings=recorded.host_findings if is_cpu else (),
        notes=(NOTE,),
    )


def with_kernels(
    bundle: Bundle,
    profile: Profile,
    shown_machine: ShownMachine,
    commits: CheckedCommits,
    *,
    seed: str,
) -> Bundle:
    """Return a check with the kernels of a workload, their times scaled from a recorded profile.

    What a commit changes in the step, it changes in the longest operation.
    """
    random = Random(f"{seed}/kernels")
    seconds: dict[str, float] = {}
    calls: dict[str, float] = {}
    for one in profile.operations:
        seconds[one.name] = seconds.get(one.name, 0.0) + one.seconds
        calls[one.name] = calls.get(one.name, 0.0) + one.count
    longest = max(seconds, key=lambda name: seconds[name])
    times: dict[Side, dict[str, tuple[float, ...]]] = {}
    for side, levels in ((Side.BASE, commits.base_levels), (Side.HEAD, commits.head_levels)):
        change = levels.get((profile.workload, STEP_TIME.name), 1.0) - 1
        typical = dict(seconds)
        typical[longest] = max(typical[longest] + change * profile.step_seconds, 0.0)
        times[side] = {
            name: tuple(
                one / shown_machine.speed * math.exp(random.gauss(0, KERNEL_NOISE))
                for _ in range(PAIRS)
            )
            for name, one in typical.items()
        }
    base, head = times[Side.BASE], times[Side.HEAD]
    windows = WorkloadKernels(
        workload=profile.workload,
        pairs=tuple(range(PAIRS)),
        base_steps=tuple((sum(pair),) for pair in zip(*base.values(), strict=True)),
        head_steps=tuple((sum(pair),) for pair in zip(*head.values(), strict=True)),
        kernels=tuple(
            KernelTimes(
                family=name,
                name=name,
                base_count=calls[name],
                head_count=calls[name],
                base=tuple((one,) for one in base[name]),
                head=tuple((one,) for one in head[name]),
                base_undisturbed=base[name],
                head_undisturbed=head[name],
            )
            for name in seconds
        ),
    )
    return replace(bundle, kernels=(windows,))


def moved_check(recorded: Bundle, commits: CheckedCommits, *, seed: str) -> Bundle:
    """Return a recorded check, unchanged and with its profiles, as a check of other commits."""
    return replace(
        recorded,
        id=sha256(seed.encode()).hexdigest()[:32],
        created_at=commits.measured_at.isoformat(),
        base=commits.base,
        head=commits.head,
        plan=replace(recorded.plan, machine_classes=commits.machine_classes),
        pull_request=commits.pull_request,
    )


def reverted_check(recorded: Bundle) -> Bundle:
    """Return a recorded check as that of a change that undoes it: base is head, and head base."""
    other = {Side.BASE: Side.HEAD, Side.HEAD: Side.BASE}
    return replace(
        recorded,
        base=recorded.head,
        head=recorded.base,
        runs=tuple(
            replace(run, side=other[run.side], position=1 - run.position, process=run.process ^ 1)
            for run in recorded.runs
        ),
        profiles=tuple(replace(one, side=other[one.side]) for one in recorded.profiles),
        repeats=tuple(replace(one, side=other[one.side]) for one in recorded.repeats),
        work=tuple(replace(one, side=other[one.side]) for one in recorded.work),
    )


def _pairs(recorded: Bundle, workload: str, random: Random) -> list[dict[Side, Run]]:
    """Return recorded pairs in another order, some with their sides exchanged."""
    by_pair: dict[int, dict[Side, Run]] = {}
    for run in recorded.runs:
        if run.workload == workload:
            by_pair.setdefault(run.pair, {})[run.side] = run
    pairs = [pair for pair in by_pair.values() if len(pair) == len(Side)]
    chosen = random.choices(pairs, k=PAIRS)
    sides = tuple(Side)
    return [
        pair
        if random.random() < 1 / 2
        else {side: pair[other] for side, other in zip(sides, reversed(sides), strict=True)}
        for pair in chosen
    ]


def _typical(recorded: Bundle, workload: str) -> dict[str, float]:
    """Return the median of each metric over a workload's processes."""
    runs = [run for run in recorded.runs if run.workload == workload]
    return {
        name: median(median(run.samples[name]) for run in runs)
        for name in (STEP_TIME.name, PEAK_MEMORY.name)
    }


def _turns(pair: Mapping[Side, Run]) -> int:
    return min(len(run.samples[STEP_TIME.name]) for run in pair.values())


def _scaled(
    run: Run,
    shown_machine: ShownMachine,
    levels: Mapping[tuple[str, str], float],
    *,
    typical: Mapping[str, float],
    picks: list[float],
    drift: float,
) -> Run:
    """Return a run with resampled turns and scaled numbers."""
    is_cpu = shown_machine.machine.device is Device.CPU
    turns = [int(pick * len(picks)) for pick in picks]
    steps, peaks = run.samples[STEP_TIME.name], run.samples[PEAK_MEMORY.name]
    time_level = levels.get((run.workload, STEP_TIME.name), 1.0) * drift / shown_machine.speed
    memory_level = levels.get((run.workload, PEAK_MEMORY.name), 1.0)
    step, peak = typical[STEP_TIME.name], typical[PEAK_MEMORY.name]
    samples = {
        STEP_TIME.name: tuple(
            step * (steps[turn] / step) ** shown_machine.noise * time_level for turn in turns
        ),
        PEAK_MEMORY.name: tuple(
            peak * (one / peak) ** shown_machine.noise * memory_level for one in peaks
        ),
    }
    if is_cpu:
        others = {name: value for name, value in run.samples.items() if name not in samples}
        samples |= {
            name: tuple(values[turn] * time_level for turn in turns)
            if len(values) >= len(steps)
            else values
            for name, values in others.items()
        }
    return replace(
        run,
        samples=samples,
        device=shown_machine.machine.device,
        turns=(1,) * len(turns) if is_cpu else (),
        core_times=CoreTimes(),
        evidence=run.evidence if is_cpu else StepEvidence(result=run.evidence.result),
        warmups_s=tuple(one * time_level for one in run.warmups_s),
    )
