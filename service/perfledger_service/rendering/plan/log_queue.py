"""Presents the waits of a job log and of its replays, and how many devices are enough."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from perfledger import rounding
from perfledger_cost_models.capacity.devices_needed import DevicesNeeded
from perfledger_cost_models.capacity.log_queue import LogQueuePlan
from perfledger_cost_models.capacity.wait_summary import WaitSummary
from perfledger_cost_models.job_logs.csv_rows import DeviceUse
from perfledger_cost_models.job_logs.gaps import gap_sentence
from perfledger_cost_models.queueing.server_count import QueuePlan, WaitTarget
from perfledger_cost_models.scheduling.calibration import ReplayCalibration
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Table,
    display,
    fact,
    figure,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import duration, quantity
from perfledger_service.rendering.plan.calibration import (
    calibration_facts,
    calibration_sentence,
    calibration_table,
    cut_sentence,
    has_too_short_waits,
    interval_ends,
    missing_waits_sentences,
    peak_words,
    recorded_devices_sentence,
)

# Follows a number of devices inferred from the record.
UNFINISHED = ", not counting jobs that the log shows only in part"
_MAX_LOG = 60
_PARTS = ("middle", "low", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """Waits with their source: the record or a replay."""

    source: str
    devices: int | None  # None if the record does not say
    waits: WaitSummary


def log_queue_document(plan: LogQueuePlan) -> Document:
    """Return recorded waits, replayed waits, and how many devices are enough."""
    needed, formula = plan.needed, plan.formula
    return Document(
        name="perfledger-log-queue",
        facts={
            "log": plan.log,
            "jobs": plan.jobs,
            "days": plan.days,
            "widest_job_devices": plan.widest,
            "left_out": dict(plan.left_out),
            "cut_jobs": plan.cut_jobs,
            "gaps": plan.gaps,
            "devices": plan.devices,
            "peak_devices": plan.peak_devices,
            "stated_devices": plan.stated_devices,
            "are_devices_given": plan.are_devices_given,
            "devices_per_node": plan.per_node,
            "policy": plan.policy.name,
            "is_policy_fitted": plan.is_policy_fitted,
            "calibration": calibration_facts(plan.calibration),
            "target": plan.target,
            "needed": needed,
            "needed_in_replay": plan.needed_in_replay,
            "formula": None if formula is None else asdict(formula),
            "no_formula_because": plan.formula_obstacle,
            "device_use": plan.device_use,
        },
        blocks=(
            title(_title(plan), names=[plan.log]),
            table(_columns(plan), queue_rows(plan), key="waits"),
            *_intervals(plan),
            *calibration_table([] if plan.calibration is None else [plan.calibration]),
            *sentences(_sentences(plan)),
            *notes(_notes(plan)),
        ),
    )


def queue_rows(plan: LogQueuePlan) -> tuple[QueueRow, ...]:
    """Return the record, the replay on the plan's devices, and one on others that are enough."""
    rows: list[QueueRow] = []
    if plan.recorded is not None:
        is_replays = plan.stated_devices is None and plan.recorded_devices == plan.devices
        devices = None if is_replays else plan.recorded_devices
        rows.append(QueueRow(source="as recorded", devices=devices, waits=plan.recorded))
    replay = f"replay, {plan.policy.name}"
    rows.append(QueueRow(source=replay, devices=plan.devices, waits=plan.replayed))
    needed = plan.needed
    if (
        needed is not None
        and needed.devices != plan.devices
        and plan.replayed_on_needed is not None
    ):
        rows.append(QueueRow(source=replay, devices=needed.devices, waits=plan.replayed_on_needed))
    return tuple(rows)


def needed_sentence(plan: LogQueuePlan) -> str:
    """Return how many devices are enough for the target, "" without a target."""
    if plan.target is None:
        return ""
    if plan.needed_in_replay is not None:
        return _unknown_need(plan, plan.needed_in_replay, plan.target)
    if plan.needed is None:
        return ""
    target = f"{_target(plan.target)} in the replay with {plan.policy.name}"
    if plan.needed.devices is None:
        return f"No number of devices is enough for the target: {target}."
    words = f"{plan.needed.devices:,} devices{_nodes(plan)} are enough: {target}"
    if plan.lacks_device_time:
        words = f"At least {words.replace('are enough:', 'are needed so that', 1)}"
    if plan.needed.low is None or plan.needed.high is None:
        return f"{words}; the log has too few days, or too many jobs, for an interval."
    return (
        f"{words}; the log and {plan.needed.logs} logs resampled from its days need "
        f"{plan.needed.low:,} to {plan.needed.high:,}."
    )


def _unknown_need(plan: LogQueuePlan, needed: DevicesNeeded, target: WaitTarget) -> str:
    """Return that the record refutes the number of devices of the replay."""
    met = None if plan.recorded is None else plan.recorded.met_share
    share = "" if met is None else number_format.share(met.middle)
    return (
        f"Unknown how many devices are enough: {needed.devices:,} are in the replay with "
        f"{plan.policy.name}, but on {plan.recorded_devices:,} the record has {share} of the jobs "
        f"within {duration(target.wait_s)}."
    )


def formula_sentences(formula: QueuePlan) -> Iterator[str]:
    """Yield the waits by formula, each labelled as such."""
    label = "Formula for random arrivals (M/M/c), not a replay"
    if formula.exact is None:
        yield f"{label}: the queue grows without limit, because demand exceeds capacity."
        return
    quantiles = ", ".join(
        f"P{rounding.typed(share * 100)} {duration(s)}" for share, s in formula.quantiles_s
    )
    yield (
        f"{label}: {duration(formula.exact.wait_s)} on average on "
        f"{quantity(formula.devices, 'device')}, "
        f"{quantiles}."
    )
    if formula.target is not None and formula.devices_needed is not None:
        yield f"{label}: with {formula.devices_needed:,} devices, {_target(formula.target)}."


def _title(plan: LogQueuePlan) -> str:
    name = clean(plan.log, limit=_MAX_LOG)
    size = "one device each" if plan.widest == 1 else f"up to {plan.widest:,} devices each"
    return f"{name}: {quantity(plan.jobs, 'job')} of {rounding.decimals(plan.days, 1)} days, {size}"


def queue_devices_in_use(plan: LogQueuePlan, row: QueueRow) -> float | None:
    """Return the share of devices in use; None if the log shows neither all jobs nor devices."""
    return None if plan.device_use is DeviceUse.UNKNOWN else row.waits.utilization


def _columns(plan: LogQueuePlan) -> tuple[Column[QueueRow], ...]:
    within = None if plan.target is None else f"<= {duration(plan.target.wait_s)}"
    share = number_format.least_share if plan.lacks_device_time else number_format.share
    return (
        words("source", "waits", lambda row: row.source),
        figure("devices", "devices", lambda row: row.devices),
        display("mean", lambda row: duration(row.waits.wait_mean_s.middle)),
        display("P50", lambda row: duration(row.waits.wait_p50_s.middle)),
        display("P95", lambda row: duration(row.waits.wait_p95_s.middle)),
        *([display(within, _met_share)] if within else []),
        figure("utilization", "in use", lambda row: queue_devices_in_use(plan, row), share),
        fact("jobs", lambda row: row.waits.jobs),
        fact("unplaceable", lambda row: row.waits.unplaceable),
        fact("wait_mean_s", lambda row: row.waits.wait_mean_s, parts=_PARTS),
        fact("wait_p50_s", lambda row: row.waits.wait_p50_s, parts=_PARTS),
        fact("wait_p95_s", lambda row: row.waits.wait_p95_s, parts=_PARTS),
        fact("met_share", lambda row: row.waits.met_share, parts=_PARTS),
        fact("wait_curve_s", lambda row: row.waits.wait_curve_s, in_csv=False),
    )


def _intervals(plan: LogQueuePlan) -> tuple[Table, ...]:
    rows = queue_rows(plan)
    if rows[0].waits.wait_mean_s.low is None:
        return ()
    columns: tuple[Column[QueueRow], ...] = (
        words("", "95 % interval", lambda row: row.source),
        figure("", "devices", lambda row: row.devices),
        display("mean", lambda row: interval_ends(row.waits.wait_mean_s, duration)),
        display("P50", lambda row: interval_ends(row.waits.wait_p50_s, duration)),
        display("P95", lambda row: interval_ends(row.waits.wait_p95_s, duration)),
    )
    return (table(columns, rows),)


def _met_share(row: QueueRow) -> str:
    met = row.waits.met_share
    return "" if met is None else number_format.share(met.middle)


def _sentences(plan: LogQueuePlan) -> Iterator[str]:
    if plan.recorded is None:
        yield "The log shows no job's wait."
    else:
        yield _recorded_waits(plan.recorded, plan.target)
    if needed := needed_sentence(plan):
        yield needed
    yield calibration_sentence(plan.calibration)
    if plan.formula is not None:
        yield from formula_sentences(plan.formula)


def _recorded_waits(recorded: WaitSummary, target: WaitTarget | None) -> str:
    met = recorded.met_share
    within = (
        ""
        if met is None or target is None
        else f"; {number_format.share(met.middle)} waited at most {duration(target.wait_s)}"
    )
    return (
        f"As recorded, jobs waited {duration(recorded.wait_mean_s.middle)} on average, 95 % of "
        f"them at most {duration(recorded.wait_p95_s.middle)}{within}."
    )


def _notes(plan: LogQueuePlan) -> Iterator[str]:
    if plan.is_policy_fitted or not plan.are_devices_given:
        yield _replay_choices(plan)
    if recorded := recorded_devices_sentence(plan, has_waits=plan.recorded is not None):
        yield recorded
    if plan.needed is not None and (plan.calibration is None or not plan.calibration.is_calibrated):
        yield _screening(plan.calibration)
    if plan.formula is None:
        yield f"No queueing formula: {plan.formula_obstacle}."
    yield from _missing(plan)
    if plan.replayed.unplaceable:
        count = plan.replayed.unplaceable
        yield (
            f"{count:,} {'job fits' if count == 1 else 'jobs fit'} on no node of the replay: left "
            "out of its waits, and counted as missing the target."
        )


def _screening(calibration: ReplayCalibration | None) -> str:
    bias = ""
    if calibration is not None and has_too_short_waits(calibration):
        bias = ", probably too low"
    return f"Treat the number of devices as a screening result{bias}: the replay is not calibrated."


def _missing(plan: LogQueuePlan) -> Iterator[str]:
    """Yield what the log lacks."""
    if plan.cut_jobs:
        yield cut_sentence(plan.cut_jobs)
    if plan.gaps:
        yield gap_sentence(plan.gaps)
    for reason, count in plan.left_out:
        yield f"{quantity(count, 'row')} of the log left out: {reason}."


def _replay_choices(plan: LogQueuePlan) -> str:
    """Return what the replay inferred from the record."""
    calibration, policy = plan.calibration, plan.policy.name
    if calibration is not None and calibration.wait_mean is None:
        calibration = None
    devices = f"{quantity(plan.devices, 'device')}{_besides(plan)}"
    choices = "policy" if plan.are_devices_given else "policy and size"
    is_far = calibration is not None and not calibration.is_calibrated
    if calibration is not None and is_far and has_too_short_waits(calibration):
        return missing_waits_sentences(choices, policy, devices, calibration)
    limit = ", though not calibrated" if is_far else ""
    if plan.are_devices_given:
        return f"{policy}: of the usual policies, the closest to the recorded schedule{limit}."
    if calibration is None:
        return f"{devices}: {peak_words(plan.peak_devices, plan.devices, plan.per_node)}."
    what = f"{policy} on {devices}" if plan.is_policy_fitted else devices
    closest = f"of the usual policies and sizes, the closest to the recorded schedule{limit}"
    if plan.stated_devices is not None or is_far:
        return f"{what}: {closest}."
    return (
        f"{what}: {closest}. The log does not state how many there were, and other causes of waits "
        "may look like fewer devices: give their number if you know it."
    )


def _besides(plan: LogQueuePlan) -> str:
    return UNFINISHED if plan.lacks_device_time else ""


def _nodes(plan: LogQueuePlan) -> str:
    if plan.per_node is None or plan.needed is None or plan.needed.devices is None:
        return ""
    count = plan.needed.devices // plan.per_node
    return f" ({quantity(count, 'node')} of {plan.per_node})"


def _target(target: WaitTarget) -> str:
    return (
        f"{number_format.margin(target.share)} of the jobs wait at most {duration(target.wait_s)}"
    )
