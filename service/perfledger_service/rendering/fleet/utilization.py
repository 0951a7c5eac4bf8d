"""Presents device utilization by owner, with the evidence in words."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from perfledger import rounding
from perfledger.time_units import HOURS_PER_DAY, SECONDS_PER_HOUR
from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.idle_periods import IdleJob
from perfledger_cost_models.telemetry.mig_candidates import MigCandidate
from perfledger_cost_models.telemetry.misleading_gpu_util import MisleadingUtilization
from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.telemetry.utilization import OwnerUtilization
from perfledger_cost_models.telemetry.utilization_report import UtilizationGain, UtilizationReport
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Block,
    Column,
    Document,
    TextStyle,
    display,
    fact,
    figure,
    heading,
    name,
    notes,
    record_facts,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean

_MAX_FILES = 50
_MAX_MODEL = 40
_MAX_JOB = 60
MAX_ROWS = 20
MAX_EVIDENCE = 8
SIGNALS = {
    Signal.GPU_UTIL: "GPU-util",
    Signal.SM_ACTIVE: "SM-active",
    Signal.TENSOR_ACTIVE: "tensor-active",
    Signal.MEMORY: "memory",
    Signal.ENGINE_ACTIVE: "engine-active",
}
_ALL = tuple(map(str, Signal))
_SHOWN_FIELDS = ("owner", "device_hours", "p50", "p95", "idle_share", "signals")


def utilization_document(view: UtilizationReport) -> Document:
    """Return utilization by owner, the hours that a target would free, and the evidence."""
    names = [use.owner for use in view.by_owner]
    return Document(
        name="perfledger-utilization",
        version=2,
        facts={
            "files": view.files,
            "kinds": view.kinds,
            "start": _moment(view.start),
            "end": _moment(view.end),
            "devices": view.devices,
            "group_by": view.level,
            "signal": view.signal,
            "total": _use_record(view),
            "target": _gain_record(view.gain),
            "hours_of_week": view.week,
            "samples_left_out": view.left_out,
            "notes": view.notes,
        },
        row_facts=("group_by", "signal"),
        blocks=(
            title(_title(view), names=view.files),
            *sentences(utilization_sentences(view)),
            table(_columns(view), view.by_owner, key="owners", most=MAX_ROWS),
            heading(f"At {number_format.whole_share(view.gain.target)} utilization"),
            *sentences(gain_sentences(view)),
            *_evidence_blocks(view),
            *notes(_notes(view), names=names),
        ),
    )


def utilization_sentences(view: UtilizationReport) -> tuple[str, ...]:
    """Return the used share of the known hours, and the range if unknown hours are counted."""
    use = view.total
    hours = f"{amount(use.device_hours)} known device-hours"
    first = f"{_mean(use)} of {hours} were in use by {SIGNALS[view.signal]}."
    if not use.missing_hours or use.range is None:
        return (first,)
    ends = number_format.interval(*use.range, number_format.share)
    missing = amount(use.missing_hours)
    rest = f"{missing} more are unknown: utilization is {ends} if they were all idle or all busy."
    return first, rest


def gain_sentences(view: UtilizationReport) -> tuple[str, ...]:
    """Return the hours that the target would free, and how much of them the evidence supports."""
    gain = view.gain
    target = number_format.whole_share(gain.target)
    if not gain.freed_hours:
        return (f"Utilization is at or above the target of {target}: nothing to free.",)
    least = "at least " if view.total.is_upper_bound else ""
    freed = amount(gain.freed_hours)
    words = f"The same work at {target} takes {least}{freed} fewer device-hours{_price(gain)}"
    if gain.yearly_hours is not None:
        words += f"; in a year like this {least}{amount(gain.yearly_hours)}"
    return f"{words}.", _evidence(gain)


def amount(value: float) -> str:
    """Return hours or devices with four digits and separators: "19,040", "0.5"."""
    return rounding.digits(value)


def _title(view: UtilizationReport) -> str:
    hours = (view.end - view.start) / SECONDS_PER_HOUR
    length = (
        f"{amount(hours)} h"
        if hours < HOURS_PER_DAY
        else f"{rounding.decimals(hours / HOURS_PER_DAY, 1)} days"
    )
    names = clean(", ".join(view.files), limit=_MAX_FILES)
    return f"{names}: {amount(view.devices)} {_devices(view.devices)}, {length}"


def _devices(count: float) -> str:
    return "device" if count == 1 else "devices"


def _columns(view: UtilizationReport) -> tuple[Column[OwnerUtilization], ...]:
    def signal(heading: str, which: Signal) -> Column[OwnerUtilization]:
        return display(heading, lambda use: _share(use.signals.get(which)))

    return (
        name("owner", view.level, lambda use: use.owner),
        figure("device_hours", "hours", lambda use: use.device_hours, amount),
        display("in use", _mean, style=TextStyle.STRONG),
        *record_facts(OwnerUtilization, lambda use: use, without=_SHOWN_FIELDS),
        figure("p50", "P50", lambda use: use.p50, number_format.whole_share),
        figure("p95", "P95", lambda use: use.p95, number_format.whole_share),
        figure("idle_share", "idle", lambda use: use.idle_share, number_format.whole_share),
        signal("SM", Signal.SM_ACTIVE),
        signal("tensor", Signal.TENSOR_ACTIVE),
        signal("memory", Signal.MEMORY),
        display("", lambda use: {None: "", True: "bursty", False: "steady"}[use.is_bursty]),
        fact("is_bursty", lambda use: use.is_bursty),
        fact("idle_hours", lambda use: _idle_hours(view, use.owner)),
        fact("range_low", lambda use: use.range and use.range[0]),
        fact("range_high", lambda use: use.range and use.range[1]),
        fact("signals", lambda use: {each: use.signals.get(each) for each in Signal}, parts=_ALL),
    )


def _evidence_blocks(view: UtilizationReport) -> Iterator[Block]:
    """Yield the jobs that are idle, only look busy, or would fit on a MIG slice."""
    if view.idle:
        yield heading("Allocated without work")
    yield table(_idle_columns(), view.idle, key="idle_jobs", most=MAX_EVIDENCE, in_csv=False)
    if view.misleading:
        yield heading("Look busy but are not")
    yield table(
        _misleading_columns(),
        view.misleading,
        key="misleading_gpu_util",
        most=MAX_EVIDENCE,
        in_csv=False,
    )
    if view.candidates:
        yield heading("Would fit on a MIG slice")
    yield table(
        _candidate_columns(), view.candidates, key="mig_candidates", most=MAX_EVIDENCE, in_csv=False
    )


def _price(gain: UtilizationGain) -> str:
    if gain.rate is None or gain.freed_usd is None or gain.freed_usd_ends is None:
        return ""
    rate = gain.rate
    if rate.is_committed:
        return f"; they are paid for anyway at {rate.label}: capacity, no cash"
    amount, ends = number_format.yearly_usd(gain.freed_usd, *gain.freed_usd_ends)
    between = f" ({ends})" if rate.low != rate.high else ""
    dated = number_format.day(rate.as_of)
    return f"; these cost {amount}{between} at {rate.label} ({clean(rate.source)}, {dated})"


def _evidence(gain: UtilizationGain) -> str:
    evidence = [
        f"{amount(hours)} h {who}"
        for hours, who in (
            (gain.idle_hours, "allocated to jobs without work"),
            (gain.free_hours, "not allocated"),
        )
        if hours
    ]
    if not evidence:
        return "No idle periods are known: only denser packing or smaller devices can reach it."
    reached = (
        "nothing is left"
        if gain.reached is None
        else f"{number_format.share(gain.reached)} is reached"
    )
    return f"Without {' and '.join(evidence)}, {reached}."


def _idle_line(job: IdleJob) -> str:
    highest = number_format.share(job.highest)
    activity = f"{SIGNALS[job.signal]} at most {highest} in {job.samples:,} samples"
    sure = f"at least {amount(job.least_hours)}"
    memory = (
        "" if job.memory is None else f"; {number_format.whole_share(job.memory)} of memory in use"
    )
    allocated = f"{amount(job.device_hours)} h on {amount(job.devices)} {_devices(job.devices)}"
    longest = number_format.interval(job.start, job.end, _minute)
    return f"{_who(job.owner)}: {allocated} ({sure}), {activity}{memory}; longest {longest}"


def _misleading_line(job: MisleadingUtilization) -> str:
    tensor = (
        "" if job.tensor_active is None else f", tensor {number_format.share(job.tensor_active)}"
    )
    signal = Signal.ENGINE_ACTIVE if job.sm_active is None else Signal.SM_ACTIVE
    return (
        f"{_who(job.owner)}: GPU-util {number_format.share(job.gpu_util)}, {SIGNALS[signal]} "
        f"{number_format.share(job.active)}{tensor} over {amount(job.device_hours)} h"
    )


def _candidate_line(candidate: MigCandidate) -> str:
    model = clean(candidate.model, limit=_MAX_MODEL)
    return (
        f"{_who(candidate.owner)}: {candidate.part.name} of {model}; "
        f"{SIGNALS[candidate.signal]} P99 {number_format.share(candidate.activity)}, memory at "
        f"most {number_format.share(candidate.memory)}; leaves {amount(candidate.freed_hours)} h "
        f"of {amount(candidate.device_hours)}"
    )


def _notes(view: UtilizationReport) -> Iterator[str]:
    yield (
        "In use, P50, P95: of device-time, by the signal above. Idle: share of it at 2 % or less. "
        "GPU-util counts a device as used while any kernel runs, SM-active its multiprocessors."
    )
    if any(use.burstiness is not None for use in view.by_owner):
        yield (
            "Bursty: hourly levels vary by more than half their mean (Goh and Barabasi's B is "
            "-1/3 or more). Share devices among bursty owners; give steady ones smaller devices."
        )
    if view.idle:
        yield (
            "Allocated without work: for an hour or longer; the lower bounds have 95 % confidence, "
            "given the number of samples."
        )
    if view.candidates:
        yield "A kernel that briefly fills the whole device takes longer on a MIG slice."
    if view.total.is_upper_bound:
        yield "Slurm records maxima only: utilization is at most what is shown (<)."
    if view.gain.rate is not None:
        yield (
            "Freed hours save cash only if they are paid by the hour; otherwise they are free "
            "for other work."
        )
        yield from (f"{view.gain.rate.label}: {caveat}." for caveat in view.gain.rate.caveats)
    if view.left_out:
        samples = "1 sample is" if view.left_out == 1 else f"{view.left_out:,} samples are"
        yield f"{samples} not a share from 0 to 1 and count as unknown."
    yield from (f"{note[:1].upper()}{note[1:]}." for note in view.notes)


def _use_record(view: UtilizationReport) -> Mapping[str, object]:
    use = view.total
    return asdict(use) | {
        "range": use.range,
        "is_bursty": use.is_bursty,
        "idle_hours": view.gain.idle_hours,
    }


def _gain_record(gain: UtilizationGain) -> Mapping[str, object]:
    rate = gain.rate
    return asdict(gain) | {
        "freed_hours_a_year": gain.yearly_hours,
        "freed_usd": gain.freed_usd,
        "freed_usd_ends": gain.freed_usd_ends,
        "rate": None if rate is None else rate.label,
        "rate_as_of": None if rate is None else rate.as_of,
        "rate_source": None if rate is None else rate.source,
    }


def _idle_hours(view: UtilizationReport, owner: str) -> float:
    return sum(job.device_hours for job in view.idle if job.owner.at(view.level) == owner)


def _who(owner: DeviceOwner) -> str:
    return clean(owner.at(OwnerLevel.JOB), limit=_MAX_JOB)


def _mean(use: OwnerUtilization) -> str:
    if use.mean is None:
        return number_format.NOT_KNOWN
    return f"{'<' if use.is_upper_bound else ''}{number_format.share(use.mean)}"


def _share(value: float | None) -> str:
    return "" if value is None else number_format.whole_share(value)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _minute(seconds: float) -> str:
    return number_format.moment(datetime.fromtimestamp(seconds, UTC)).removesuffix(" UTC")


def _idle_columns() -> tuple[Column[IdleJob], ...]:
    return (
        words("", "", _idle_line),
        *record_facts(IdleJob, lambda job: job, without=("start", "end")),
        fact("start", lambda job: _moment(job.start)),
        fact("end", lambda job: _moment(job.end)),
    )


def _misleading_columns() -> tuple[Column[MisleadingUtilization], ...]:
    return (
        words("", "", _misleading_line),
        *record_facts(MisleadingUtilization, lambda job: job),
        fact("hours_apart", lambda job: job.hours_apart),
    )


def _candidate_columns() -> tuple[Column[MigCandidate], ...]:
    return (
        words("", "", _candidate_line),
        *record_facts(MigCandidate, lambda job: job),
        fact("freed_hours", lambda job: job.freed_hours),
    )
