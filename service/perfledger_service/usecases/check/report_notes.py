"""Writes the notes that a report adds to those of its bundle."""

from collections.abc import Sequence
from statistics import fmean

from perfledger.bundle import Bundle
from perfledger.metrics import CPU_ACTIVE, CPU_TIME, STEP_TIME
from perfledger.records import Device, Side
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.judging.work_evidence import huge_gains


def report_notes(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return notes on huge gains, other devices, readings left out, and how busy the CPU was."""
    return (
        *huge_gains(verdicts),
        *_other_device_notes(bundle),
        *_left_out_notes(bundle),
        *_cpu_activity_notes(bundle, verdicts),
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


def _left_out_notes(bundle: Bundle) -> tuple[str, ...]:
    """Return notes on readings that processes left out, by reason."""
    workloads: dict[str, set[str]] = {}
    for run in bundle.runs:
        for reason, count in run.left_out.items():
            if count > 0:
                workloads.setdefault(reason, set()).add(run.workload)
    return tuple(
        f"readings left out ({reason}): {', '.join(sorted(names))}"
        for reason, names in sorted(workloads.items())
    )


def _cpu_activity_notes(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return for each workload with a change or a doubt which of wall, CPU time and use moved."""
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
            f"{spec.id}: {words}; it kept {base:.0%} of all cores busy on base and {head:.0%} on "
            "head, which other load changes too and is not judged"
        )
    return tuple(notes)


def _cpu_active(bundle: Bundle, workload: str, side: Side) -> float | None:
    """Return the mean share of all cores that a side's processes used; None if not read."""
    shares = [
        share
        for run in bundle.runs
        if run.workload == workload and run.side is side
        for share in run.samples.get(CPU_ACTIVE.name, ())
    ]
    return fmean(shares) if shares else None
