"""Writes the notes that a report adds to those of its bundle."""

import math
from collections.abc import Collection, Sequence
from statistics import fmean

from perfledger.bundle import Bundle
from perfledger.metrics import CPU_ACTIVE, CPU_TIME, STEP_TIME
from perfledger.records import Device, FindingLevel, Framework, Side, WorkloadSpec
from perfledger.rounding import decimals, integer
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.estimation.rank_times import (
    RankSpread,
    one_device_spec,
    rank_spread,
    scaling_efficiency,
)
from perfledger_baselines.judging.explanation import DecidedBy, explain_verdict
from perfledger_baselines.judging.slow_steps import slow_step_warnings
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.judging.work_evidence import gain_warnings, undone_warnings
from perfledger_baselines.judging.work_limits import limits_of
from perfledger_baselines.significance.foreign_waits import LOADED_SHARE
from perfledger_baselines.significance.spread_prior import Priors, SpreadPrior, priors_of_plan
from perfledger_runners.checkouts.source_tree import first_few
from perfledger_runners.machine import device_locks
from perfledger_service.rendering.layout.limit_sentences import (
    exceeded_sentences,
    unknown_sentences,
)
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.usecases.check.slowest_device import slowest_device_words

# The rules that leave a result undecided because of noise.
_NOISE = frozenset({DecidedBy.NOISE, DecidedBy.LOAD, DecidedBy.KERNEL_WINDOWS})

# Relative tolerance: a spread stays equal to itself after a round trip through JSON.
SAME_SPREAD = 1e-9
MAX_ACTIVITY_NOTES = 5  # of workloads


def report_notes(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return notes on limits, doubtful gains, slow steps, noise, devices, readings, and the CPU."""
    limits = limits_of(bundle)
    return (
        *exceeded_sentences(limits),
        *unknown_sentences(limits),
        *gain_warnings(bundle, verdicts),
        *undone_warnings(bundle, verdicts),
        *slow_step_warnings(bundle, verdicts),
        *_noise_advice(bundle, verdicts),
        *_other_device_notes(bundle),
        *_left_out_notes(bundle),
        *_rank_notes(bundle),
        *_noisy_machine_notes(bundle),
        *_lock_notes(bundle),
        *_cpu_activity_notes(bundle, verdicts),
    )


def history_notes(
    bundle: Bundle, tests: Sequence[PairedTest], priors: Priors | None
) -> tuple[str, ...]:
    """Return the note on tests that are judged by other spreads than the runner used.

    `priors` are the service's; None if the bundle's own are used.
    """
    if priors is None:
        return ()
    of_runner = priors_of_plan(bundle.plan)
    noisy_tests = [test.key for test in tests if test.is_noisy]
    other_tests = [
        key
        for key in noisy_tests
        if key in of_runner and not _is_same_spread(of_runner[key], priors.get(key))
    ]
    if not other_tests:
        return ()
    note = (
        f"{len(other_tests)} of {len(noisy_tests)} tests are judged by the history of this "
        "service, not by the spreads that the runner used, which this service does not have: the "
        "runner's own report may differ, and this one counts"
    )
    return (note,)


def _is_same_spread(prior: SpreadPrior, of_service: SpreadPrior | None) -> bool:
    return of_service is not None and (
        prior.values == of_service.values
        and math.isclose(prior.variance, of_service.variance, rel_tol=SAME_SPREAD)
        and math.isclose(prior.degrees, of_service.degrees, rel_tol=SAME_SPREAD)
    )


def _other_device_notes(bundle: Bundle) -> tuple[str, ...]:
    """Return notes on workloads that ran on another kind of device than the machine's."""
    kinds: dict[Device, set[str]] = {}
    for (workload, _), machine in bundle.machines().items():
        if machine.device is not bundle.machine.device:
            kinds.setdefault(machine.device, set()).add(workload)
    return tuple(
        f"measured on the {device}, not on the {bundle.machine.device}: {', '.join(sorted(names))}"
        for device, names in kinds.items()
    )


def _noise_advice(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return how to make the CPU quieter for the workloads left undecided by noise."""
    noisy = {
        each.workload
        for each in verdicts
        if each.outcome is Outcome.UNDECIDED
        and explain_verdict(each, bundle.plan).decided_by in _NOISE
    }
    devices = bundle.machines()
    names = sorted(name for name in noisy if devices[name, Side.HEAD].device is Device.CPU)
    if not names:
        return ()
    waited = _queued_share(bundle, names)
    cause, advice = "", list[str]()
    if waited is not None and waited >= LOADED_SHARE:
        cause = f"; steps waited {integer(100 * waited)} % of their time for a core"
        advice.append("stop other programs, or reserve cores for the check with taskset")
    has_openmp = any(
        spec.id in names and spec.framework is not Framework.JAX for spec in bundle.workloads
    )
    if has_openmp and bundle.machine.cores > 1:
        advice.append(f"set OMP_NUM_THREADS below the {bundle.machine.cores} cores")
    way_out = f": {'; '.join(advice)}" if advice else ""
    return (f"noise left {first_few(names)} undecided{cause}{way_out}",)


def _queued_share(bundle: Bundle, workloads: Collection[str]) -> float | None:
    """Return the share of time that steps waited for a core; None if the kernel reports none."""
    times = [run.core_times for run in bundle.runs if run.workload in workloads]
    elapsed = sum(sum(each.elapsed_s) for each in times)
    queued = sum(sum(each.queued_s) for each in times)
    return queued / elapsed if elapsed else None


def _left_out_notes(bundle: Bundle) -> tuple[str, ...]:
    """Return notes on readings that processes excluded, by reason."""
    workloads: dict[str, set[str]] = {}
    for run in bundle.runs:
        for reason, count in run.left_out.items():
            if count > 0:
                workloads.setdefault(reason, set()).add(run.workload)
    return tuple(
        f"readings left out ({reason}): {first_few(sorted(names))}"
        for reason, names in sorted(workloads.items())
    )


def _rank_notes(bundle: Bundle) -> tuple[str, ...]:
    """Return for each multi-device workload whether a rank is slow, and how it scales."""
    notes: list[str] = []
    for spec in bundle.workloads:
        runs = bundle.runs_of(spec.id, Side.HEAD)
        if spec.devices > 1 and runs:
            spread = rank_spread(runs, cores=bundle.machine.cores)
            parts = [
                *((_spread_words(spread),) if spread else ()),
                *slowest_device_words(runs),
                _scaling_words(bundle, spec),
            ]
            notes.append(f"{spec.id} on head: {'; '.join(parts)}")
    return tuple(notes)


def _spread_words(spread: RankSpread) -> str:
    share, lag = f"{integer(100 * spread.share)} %", f"{decimals(100 * spread.lag, 1)} %"
    behind = (
        f"the slowest in {share} of the steps, in which the slowest is {lag} of the step time "
        "behind"
    )
    if spread.has_straggler:
        return f"rank {spread.slowest} of {spread.ranks} is a straggler, {behind}"
    if not spread.is_behind:
        return (
            f"no rank of {spread.ranks} is a straggler by its times (rank {spread.slowest} is the "
            f"slowest in {share} of the steps)"
        )
    why = _straggler_doubt(spread)
    return (
        f"whether rank {spread.slowest} of {spread.ranks} is a straggler is unknown: it is "
        f"{behind}, but {why}"
    )


def _straggler_doubt(spread: RankSpread) -> str:
    """Return why a slow rank may not be a straggler, and what would settle it."""
    if spread.has_too_few_cores:
        cores = f"{spread.cores} core{'s' * (spread.cores != 1)}"
        return f"{spread.ranks} ranks have {cores}; measure where each has its own"
    processes = f"{spread.processes} process{'es' * (spread.processes != 1)}"
    return f"chance alone may do that in {processes}; more pairs would tell"


def _scaling_words(bundle: Bundle, spec: WorkloadSpec) -> str:
    single = one_device_spec(spec, bundle.workloads)
    if single is None:
        return 'scaling unknown without the same on one device: params={"devices": [1, …]}'
    runs, runs_of_one = (bundle.runs_of(each.id, Side.HEAD) for each in (spec, single))
    efficiency = scaling_efficiency(spec, single, runs, runs_of_one)
    if efficiency is None:
        return f"scaling against {single.id} unknown: that needs its runs, and `unit`"
    return (
        f"scaling efficiency {integer(100 * efficiency)} %: the {spec.unit} per second and "
        "device, of "
        "one device's alone"
    )


def _noisy_machine_notes(bundle: Bundle) -> tuple[str, ...]:
    """Return the note on settings of the machine that add noise."""
    noisy = [each for each in bundle.host_findings if each.level is FindingLevel.NOISY]
    if not noisy:
        return ()
    settings = "; ".join(f"{each.name}: {each.detail}" for each in noisy)
    return (f"this machine adds noise ({settings}): perfledger bench doctor says what helps",)


def _lock_notes(bundle: Bundle) -> tuple[str, ...]:
    """Return the note on locks that could not be taken, unless the settings want none."""
    return tuple(
        f"{each.detail}, so another check may have measured at the same time: {each.advice}"
        for each in bundle.host_findings
        if each.name == device_locks.NAME and each.level is FindingLevel.UNKNOWN and each.advice
    )


def _cpu_activity_notes(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return for each changed or doubtful workload whether wall time, CPU time or use changed."""
    outcomes = {(each.workload, each.metric.name): each.outcome for each in verdicts}
    loud = {each.workload for each in verdicts if each.outcome is not Outcome.UNCHANGED}
    notes: list[str] = []
    for spec in bundle.workloads:
        base, head = (_cpu_active(bundle, spec.id, side) for side in (Side.BASE, Side.HEAD))
        step_time = outcomes.get((spec.id, STEP_TIME.name))
        if spec.id not in loud or base is None or head is None or step_time is None:
            continue
        cpu_time = outcomes.get((spec.id, CPU_TIME.name))
        words = f"step time {step_time}" + (f", CPU time {cpu_time}" if cpu_time else "")
        notes.append(
            f"{spec.id}: {words}; it kept {integer(100 * base)} % of its cores busy on base "
            f"and {integer(100 * head)} % on head, which is not judged because other load changes "
            "it, too"
        )
    more = len(notes) - MAX_ACTIVITY_NOTES
    rest = (
        f"how busy the steps of {quantity(more, 'more workload')} kept the cores is in the bundle"
    )
    return (*notes[:MAX_ACTIVITY_NOTES], *([rest] if more > 0 else []))


def _cpu_active(bundle: Bundle, workload: str, side: Side) -> float | None:
    """Return the mean share of all cores that a side's processes used; None if not read."""
    shares = [
        share
        for run in bundle.runs_of(workload, side)
        for share in run.samples.get(CPU_ACTIVE.name, ())
    ]
    return fmean(shares) if shares else None
