"""Measures one workload, in turns with the other side if requested."""

import json
import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import median
from time import monotonic, time

from perfledger.failure_reason import detail_of
from perfledger.measuring.clock_bound import ends_by_clock
from perfledger.measuring.compiling_steps import CompilingSteps
from perfledger.measuring.core_use import PREPARED_ON_DEVICE, RANKS, CoreUse, process_cpu_s
from perfledger.measuring.rank_link import ExchangeKind, RankLink
from perfledger.measuring.result_outline import result_outline
from perfledger.measuring.step_results import (
    check_answer,
    limited_answer,
    result_state,
    worst_state,
)
from perfledger.measuring.step_samples import StepSamples, measure
from perfledger.measuring.timed_step import TimedStep
from perfledger.meters.compile_watch import CompileReader
from perfledger.meters.device import DeviceMeter, TraceEffort, window_steps
from perfledger.metrics import CPU_ACTIVE, CPU_TIME, PEAK_MEMORY, STEP_TIME
from perfledger.package_code import MAX_PACKAGES
from perfledger.process.command_context import (
    BoundWorkload,
    CommandContext,
    Fields,
    meter_of,
    set_up_variant,
    trace_folder,
    turn_of,
)
from perfledger.process.programs.cached_reads import CachedReads
from perfledger.process.programs.watch import ProgramWatch
from perfledger.protocol import MessageType
from perfledger.records import Device, MemoryReadings
from perfledger.step_evidence import MAX_ANSWERS, Answer, ResultState, StepEvidence
from perfledger.variants.transformed_step import TransformedStep, no_remarks
from perfledger.workload import AnyStep, Step, Workload

PREPARED_REASON = "its steps need preparations, which a profile would show as part of them"
NO_PROFILER_REASON = "its framework has no profiler here"
# The most steps of a window that times kernels: each step is a sample, and they are consecutive.
MAX_KERNEL_STEPS = 8
# The path of an answer that tells that a result after the checked one was worse.
LATER_RESULT = "a later result"
# Seconds of steps in one process after which no further window begins.
MAX_WINDOW_SECONDS = 0.7


def measure_workload(context: CommandContext, bound: BoundWorkload) -> Fields:
    """Measure a workload; return the fields of its run.

    If windows are profiled after it, the run is sent before them and their fields are returned: a
    profiler that hangs, or ends the process, then loses only the windows.
    """
    channel, name = context.channel, bound.spec.id
    device, meter = meter_of(context, bound)
    started_at = datetime.now(UTC).isoformat()
    with (
        meter.device_context(),
        meter.compile_watch() as compiled,
        context.end.teardowns() as teardowns,
    ):

        def set_up() -> AnyStep:
            results.verify()  # the previous set-up, after its last step
            compiled()  # or a reset of torch's would forget what it compiled
            context.end.close(teardowns)
            transformed = set_up_variant(context, bound, device, meter, teardowns=teardowns)
            results.begin(transformed, teardowns)
            return transformed.step

        peaks = _Peaks(set_up, meter)
        results, last_step = _Results(bound.workload), _LastStepWatch(context, peaks)
        windows: list[Fields] = []

        def run_fields(sampled: StepSamples) -> Fields:
            if context.link is not None:
                sampled = replace(sampled, cores=CoreUse(left_out={RANKS: 1}))
            cores = sampled.cores if device is Device.CPU else _beside_device(sampled)
            # Of several ranks only this one's are known, and memory may grow in another.
            is_one = context.link is None
            record = compiled() if is_one else None
            return {
                "started_at": started_at,
                "samples": _samples(sampled, largest_peak(peaks.first(), context.link), device),
                "warmups_s": sampled.warmups_s,
                "spans_s": sampled.spans_s,
                "left_out": cores.left_out,
                "turns": sampled.turns,
                "core_times": asdict(cores.times),
                "device": device,
                "devices": _devices(context, bound, device, meter),
                # Ranks use the first devices, one each.
                "device_places": meter.device_places() if is_one else (),
                "rank_times_s": sampled.rank_times_s,
                "packages": last_step.packages(is_prepared=sampled.is_prepared),
                "evidence": asdict(
                    evidence_of_ranks(
                        replace(
                            results.evidence(sampled),
                            has_unseen_programs=last_step.has_unseen_programs,  # after `packages`
                        ),
                        context.link,
                    )
                ),
                "memory": asdict(sampled.memory if is_one else MemoryReadings()),
                "compiled": None if record is None else asdict(record),
            }

        def end_run(bench: TimedStep, sampled: StepSamples) -> None:
            context.end.begin(name, steps=bench.calls)
            # The other ranks would have to run their steps too.
            if device is Device.CPU and context.link is None and not bench.is_prepared:
                results.ends_by_clock = ends_by_clock(bench.step, sampled.steps_s)
                channel.leave_if_forked()
            if context.request.has_windows(name):
                channel.send(MessageType.RUN, {"workload": name, **run_fields(sampled)})
                windows.append(record_windows(context, bound, bench, meter))

        sampled = measure(
            peaks.set_up,
            meter.clock,
            effort=context.request.effort_of(name),
            set_ups=bound.workload.set_ups,
            on_sampling=lambda: channel.send(MessageType.SAMPLING, {"workload": name}),
            after_step=_step_end(context, name, compiled),
            turn=turn_of(context, name) if context.request.is_interleaved else None,
            on_result=results.examine,
            before_last=last_step.watch,
            on_sampled=end_run,
            in_use_bytes=meter.in_use_bytes,
        )
    return {"windows": windows[0]} if windows else run_fields(sampled)


def _step_end(
    context: CommandContext, workload: str, compiled: CompileReader
) -> Callable[[], None]:
    """Return what follows each step: it leaves forks, and reports slow steps that compile."""
    if context.link is not None:  # of several ranks only this one's compilations are known
        return context.channel.leave_if_forked
    compiling = CompilingSteps(
        compiled,
        send=lambda steps: context.channel.send(
            MessageType.COMPILING, {"workload": workload, **asdict(steps)}
        ),
    )

    def end_step() -> None:
        context.channel.leave_if_forked()
        compiling.end_step()

    return end_step


def record_windows(
    context: CommandContext,
    bound: BoundWorkload,
    bench: TimedStep,
    meter: DeviceMeter,
) -> Fields:
    """Profile the requested windows of a measured step; return their files, or why there are none.

    An exception under the profiler is such a reason, not a failure.
    """
    if bench.is_prepared:
        return {"reason": PREPARED_REASON}
    effort = TraceEffort(
        windows=context.request.windows,
        max_seconds=MAX_WINDOW_SECONDS,
        has_shapes=False,
        is_warm=True,
        steps=min(
            MAX_KERNEL_STEPS, window_steps(median(bench.readings_s) / bench.steps_per_reading)
        ),
    )
    turn = turn_of(context, bound.spec.id)

    def next_step() -> Step:
        turn()
        return bench.step

    name = secrets.token_hex(8)  # unread files of an earlier child stay
    try:
        traced = meter.trace(next_step, trace_folder(context), name, effort=effort)
    except BaseException as error:  # the run is measured already
        context.channel.leave_if_forked()
        return {"reason": detail_of(error, root=context.root)}
    if traced is None:
        return {"reason": NO_PROFILER_REASON}
    return {"tool": traced.tool, "traces": [*map(str, (traced.trace, *traced.repeats))]}


class _LastStepWatch:
    """A watch over the last step: the programs that it starts, and the files that it reads."""

    def __init__(self, context: CommandContext, peaks: "_Peaks") -> None:
        self._peaks = peaks
        self._recorder = context.recorder
        self._programs = ProgramWatch(
            root=context.root,
            repository=Path(context.request.repository),
            packages=context.request.packages,
            environment=context.request.environment,
        )
        self._reads = CachedReads(
            own_folders=context.recorder.own_folders,
            began=time() - (monotonic() - context.began),
        )

    @property
    def has_unseen_programs(self) -> bool:
        """Return whether programs ran that may have imported installed copies unnoticed."""
        return self._programs.has_unseen_programs

    def watch(self) -> None:
        """Begin, right before the last step.

        The peak memory is recorded first: the samples are evaluated later, in memory of the
        harness's own.
        """
        self._peaks.keep()
        self._programs.watch()
        self._reads.watch()

    def packages(self, *, is_prepared: bool) -> tuple[Fields, ...]:
        """Return copies and files, then the loaded packages, each once, and end the watch.

        What a preparation reads cannot be told from what its step reads.
        """
        # Before the files of loaded modules are read.
        files, copies = self._reads.files(), self._programs.copies()
        named = (*copies, *(() if is_prepared else files))[:MAX_PACKAGES]
        loaded = self._recorder.record(sys.modules)[: MAX_PACKAGES - len(named)]
        packages = {(each.name, each.folder): each for each in (*named, *loaded)}
        return tuple(map(asdict, packages.values()))


class _Results:
    """The examined results of a workload's first and last steps."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self.verify: Callable[[], object] = no_remarks  # verifies that the step is the variant's
        self.ends_by_clock = False
        self._evidence = StepEvidence(tolerance=workload.check_tolerance)
        self._began_cpu_s = process_cpu_s()
        self._states: list[ResultState] = []

    def begin(self, transformed: TransformedStep, teardowns: ExitStack) -> None:
        """Verify this step from now on; its teardown releases it."""
        self.verify = transformed.verify
        teardowns.callback(self._release)

    def examine(self, result: object) -> None:
        """Keep the worst state of the results, and the workload's own check of the first one.

        Only the first is checked: after more steps a training step has another answer. Raises
        UnmeasurableError if the variant was not what ran.
        """
        if not self._states:
            start_s = process_cpu_s() - self._began_cpu_s
            start_cpu_s = start_s if start_s >= 0 else None  # NaN: a child's time is not known
            outline = result_outline(result)
            self._evidence = replace(self._evidence, start_cpu_s=start_cpu_s, outline=outline)
        self.verify()
        check = self._workload.check if self._states == [] else None
        answer = check_answer(check, result) if check is not None else self._evidence.answer
        self._states.append(result_state(result))
        self._evidence = replace(self._evidence, result=worst_state(self._states), answer=answer)

    def evidence(self, sampled: StepSamples) -> StepEvidence:
        """Return the evidence, with how the step was read."""
        return replace(
            self._evidence,
            answer=self._answer(),
            steps_per_reading=sampled.steps_per_reading,
            empty_step_s=sampled.empty_step_s,
            paused_cores=sampled.cores.paused_cores,
            leftover_s=sampled.cores.leftover_s,
            ends_by_clock=self.ends_by_clock,
        )

    def _release(self) -> None:
        self.verify = no_remarks

    def _answer(self) -> Answer:
        """Return the answer of the check, and whether a later result is worse than the checked one.

        The answer is that of a finite result, and says nothing of one that is not.
        """
        answer, worst = self._evidence.answer, worst_state(self._states)
        proven = {ResultState.FINITE, ResultState.PARTLY_EXAMINED, ResultState.UNKNOWN}
        is_worse = worst not in proven
        if not answer or not is_worse or worst is self._states[0]:
            return answer
        first_answers = islice(answer.items(), MAX_ANSWERS - 1)
        return {**dict(first_answers), LATER_RESULT: str(worst)}


class _Peaks:
    """The peak memory of the first set-up; later ones may include memory of earlier ones."""

    def __init__(self, set_up: Callable[[], AnyStep], meter: DeviceMeter) -> None:
        self._set_up, self._meter = set_up, meter
        self._peaks: list[float | None] = []
        self._is_set_up = False

    def set_up(self) -> AnyStep:
        """Record the peak of the previous set-up, if any; set up and return the step."""
        if self._is_set_up:
            self.keep()
        self._is_set_up = True
        return self._set_up()

    def keep(self) -> None:
        """Record the peak of the set-up that ends."""
        self._peaks.append(self._meter.peak_bytes())

    def first(self) -> float | None:
        """Return the first recorded peak in bytes, None if unknown."""
        return self._peaks[0]


def largest_peak(peak_bytes: float | None, link: RankLink | None) -> float | None:
    """Return the peak memory of the rank with the largest; None if any rank's is unknown."""
    if link is None:
        return peak_bytes
    answers = link.exchange(ExchangeKind.FACTS, json.dumps(peak_bytes).encode())
    peaks: list[float | None] = [json.loads(answer) for answer in answers]
    known_peaks = [peak for peak in peaks if peak is not None]
    return max(known_peaks) if len(known_peaks) == len(peaks) else None


def evidence_of_ranks(evidence: StepEvidence, link: RankLink | None) -> StepEvidence:
    """Return the evidence with the worst state and the answers of all ranks.

    The answers of ranks after the first are keyed by their rank's name. Raises UnmeasurableError if
    they are too many.
    """
    if link is None:
        return evidence
    own_facts = [evidence.result, evidence.answer]
    parts = link.exchange(ExchangeKind.FACTS, json.dumps(own_facts).encode())
    facts: list[tuple[str, Answer]] = [json.loads(part) for part in parts]
    answer = {
        f"rank {rank} {path}".strip() if rank else path: value
        for rank, (_, each) in enumerate(facts)
        for path, value in each.items()
    }
    worst = worst_state(ResultState(state) for state, _ in facts)
    return replace(evidence, result=worst, answer=limited_answer(answer))


def _devices(
    context: CommandContext, bound: BoundWorkload, device: Device, meter: DeviceMeter
) -> int:
    """Return the number of devices of a step: one per rank, but ranks on a CPU share it."""
    if context.link is None:
        return meter.devices()
    return 1 if device is Device.CPU else bound.spec.devices


def _beside_device(sampled: StepSamples) -> CoreUse:
    """Return the use of the cores beside a device: only what is left out."""
    return CoreUse(left_out={PREPARED_ON_DEVICE: 1} if sampled.is_prepared else {})


def _samples(
    sampled: StepSamples, peak_bytes: float | None, device: Device
) -> Mapping[str, tuple[float, ...]]:
    cores = sampled.cores if device is Device.CPU else CoreUse()
    readings = {CPU_ACTIVE.name: cores.active, PEAK_MEMORY.name: peak_bytes}
    nonzero = {name: (value,) for name, value in readings.items() if value}
    cpu_time = {CPU_TIME.name: cores.cpu_time_s} if cores.cpu_time_s else {}
    return {STEP_TIME.name: sampled.steps_s, **nonzero, **cpu_time}
