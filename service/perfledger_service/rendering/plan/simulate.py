"""Presents the effect of scheduling policies on waits and devices.

Untrusted text is shown only as clean text.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from perfledger.rounding import decimals, digits, integer
from perfledger_cost_models.job_logs.csv_rows import DeviceUse
from perfledger_cost_models.job_logs.gaps import gap_sentence
from perfledger_cost_models.scheduling.calibration import FittedReplay
from perfledger_cost_models.scheduling.day_bootstrap import BootstrapInterval
from perfledger_cost_models.scheduling.job_outcomes import PolicySummary
from perfledger_cost_models.scheduling.policy_comparison import PolicyComparison, PolicyGain
from perfledger_cost_models.scheduling.policy_intervals import PolicyIntervals
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    NO_FIGURE,
    Column,
    Document,
    Table,
    display,
    fact,
    facts,
    field_names,
    figure,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import device_hours, duration, quantity
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
from perfledger_service.rendering.plan.log_queue import UNFINISHED

_MAX_NAME = 60
_INTERVAL_PARTS = ("middle", "low", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waits:
    """The figures of a policy, or of the log as recorded, that people compare."""

    policy: str
    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    slowdown: float | None
    in_use: float | None
    idle_hours: float | None


def policies_document(view: PolicyComparison) -> Document:
    """Return policies side by side, with their intervals and summary sentences."""
    rate = view.rate
    return Document(
        name="perfledger-policies",
        version=2,
        facts={
            "log": view.log,
            "jobs": view.jobs,
            "devices": view.devices,
            "peak_devices": view.peak_devices,
            "stated_devices": view.stated_devices,
            "recorded_devices": view.recorded_devices,
            "days": view.days,
            "left_out": dict(view.left_out),
            "cut_jobs": view.cut_jobs,
            "gaps": view.gaps,
            "notes": view.notes,
            "recorded": view.recorded_waiting,
            "usd_per_device_hour": None if rate is None else rate.usd_per_device_hour,
            "rate": None if rate is None else rate.label,
            "rate_as_of": None if rate is None else rate.as_of,
            "inferred_nodes": view.inferred_nodes,
            "is_calibrated": view.is_calibrated,
            "device_use": view.device_use,
            "nearest": _nearest_facts(view.nearest),
        },
        blocks=(
            title(_title(view), names=[view.log]),
            table(_wait_columns(view), _waits(view)),
            *([_spread_table(view)] if view.rows[0].spread.wait_mean_s.low is not None else []),
            table(_columns(view), view.rows, key="policies"),
            *calibration_table(row.calibration for row in view.rows if row.calibration is not None),
            *sentences(calibration_sentences(view)),
            *sentences(gain_sentences(view)),
            *notes(_notes(view)),
        ),
    )


def gain_sentences(view: PolicyComparison) -> tuple[str, ...]:
    """Return a sentence on the gain of each other policy."""
    first = view.rows[0].figures
    return tuple(_gain(row, first.policy, first.wait_mean_s, view) for row in view.rows[1:])


def calibration_sentences(view: PolicyComparison) -> Iterator[str]:
    """Yield whether the reference is calibrated, and what is closer to the record if it is not."""
    yield calibration_sentence(view.rows[0].calibration)
    nearest = view.nearest
    if nearest is None:
        return
    is_near = nearest.calibration.is_calibrated
    if not is_near and has_too_short_waits(nearest.calibration):
        devices = quantity(nearest.nodes * nearest.devices_per_node, "device")
        policy = nearest.policy.name
        yield missing_waits_sentences("policy and size", policy, devices, nearest.calibration)
    else:
        yield (
            f"Closest to the record{'' if is_near else ', though not calibrated'}: --policy "
            f"{nearest.policy.name} --nodes {nearest.nodes} --devices-per-node "
            f"{nearest.devices_per_node}."
        )


def record_sentences(view: PolicyComparison) -> tuple[str, ...]:
    """Return what the log has and the replay lacks: devices in use, and rows with reasons."""
    recorded = recorded_devices_sentence(view, has_waits=view.recorded_waiting is not None)
    unplaceable = view.rows[0].figures.unplaceable
    misfits = f"{unplaceable:,} {_jobs(unplaceable)} on no pool, not even an empty one: left out."
    rows = (
        f"{quantity(count, 'row')} of the log left out: {reason}."
        for reason, count in view.left_out
    )
    sentences = (
        recorded,
        misfits if unplaceable else "",
        cut_sentence(view.cut_jobs) if view.cut_jobs else "",
        gap_sentence(view.gaps) if view.gaps else "",
    )
    return (*filter(None, sentences), *rows)


def review_sentences(view: PolicyComparison) -> Iterator[str]:
    """Yield a review's sentences on a replay; gains are given only if it is calibrated."""
    yield from record_sentences(view)
    yield calibration_sentence(view.rows[0].calibration)
    if view.is_calibrated:
        yield from gain_sentences(view)
        return
    yield "No gain of another policy is given: an uncalibrated replay does not show it."
    if view.nearest is not None:
        yield "For the nodes and the policy closest to the record, run perfledger plan simulate."


def _columns(view: PolicyComparison) -> tuple[Column[PolicyGain], ...]:
    """Return all figures for programs; people see fragmentation and redone work."""
    intervals: tuple[Column[PolicyGain], ...] = tuple(
        fact(f"{key}_interval", _spread_of(key), parts=_INTERVAL_PARTS[1:])
        for key in field_names(PolicyIntervals)
    )
    return (
        words("", "policy", lambda row: row.figures.policy),
        display("unusable", lambda row: _share(row.figures.fragmented)),
        display("95 %", lambda row: interval_ends(row.spread.fragmented, number_format.share)),
        display("redone", lambda row: device_hours(row.figures.wasted_hours)),
        display("95 %", lambda row: interval_ends(row.spread.wasted_hours, device_hours)),
        display("in use, 95 %", lambda row: _use_interval(view, row)),
        *facts(*field_names(PolicySummary), of="figures"),
        *intervals,
        fact("wait_curve_s", lambda row: row.wait_curve_s, in_csv=False),
        fact("calibration", lambda row: calibration_facts(row.calibration), in_csv=False),
        fact("wait_saved_s", lambda row: row.wait_saved_s, parts=_INTERVAL_PARTS),
        fact("hours_gained_a_year", lambda row: row.hours_gained, parts=_INTERVAL_PARTS),
        fact("usd_gained_a_year", lambda row: _usd(row.hours_gained, view), parts=_INTERVAL_PARTS),
    )


def devices_in_use(view: PolicyComparison, share: float | None) -> float | None:
    """Return the share of devices in use; None if the log shows neither all jobs nor devices."""
    return None if view.device_use is DeviceUse.UNKNOWN else share


def _wait_columns(view: PolicyComparison) -> tuple[Column[_Waits], ...]:
    share = number_format.least_share if view.lacks_device_time else number_format.share
    return (
        words("", "policy", lambda row: row.policy),
        figure("", "wait", lambda row: row.wait_mean_s, duration),
        figure("", "P50", lambda row: row.wait_p50_s, duration),
        figure("", "P95", lambda row: row.wait_p95_s, duration),
        figure("", "slowdown", lambda row: row.slowdown, _times),
        figure("", "in use", lambda row: devices_in_use(view, row.in_use), share),
        figure("", "idle", lambda row: row.idle_hours, device_hours),
    )


def _waits(view: PolicyComparison) -> Iterator[_Waits]:
    if (recorded := view.recorded_waiting) is not None:
        yield _Waits(
            policy="(as recorded)",
            wait_mean_s=recorded.wait_mean_s,
            wait_p50_s=recorded.wait_p50_s,
            wait_p95_s=recorded.wait_p95_s,
            slowdown=None,
            in_use=recorded.allocated,
            idle_hours=None,
        )
    for row in view.rows:
        figures = row.figures
        yield _Waits(
            policy=figures.policy,
            wait_mean_s=figures.wait_mean_s,
            wait_p50_s=figures.wait_p50_s,
            wait_p95_s=figures.wait_p95_s,
            slowdown=figures.slowdown_mean,
            in_use=figures.useful,
            idle_hours=figures.wanted_idle_hours,
        )


def _use_interval(view: PolicyComparison, row: PolicyGain) -> str:
    """Return the interval of the share in use, "" if jobs that held devices are missing."""
    interval = None if view.lacks_device_time else row.spread.useful
    return interval_ends(interval, number_format.share)


def _spread_table(view: PolicyComparison) -> Table:
    """Return the ends of the waits' intervals, for people."""
    columns: tuple[Column[PolicyGain], ...] = (
        words("", "95 % interval", lambda row: row.figures.policy),
        display("wait", lambda row: interval_ends(row.spread.wait_mean_s, duration)),
        display("P50", lambda row: interval_ends(row.spread.wait_p50_s, duration)),
        display("P95", lambda row: interval_ends(row.spread.wait_p95_s, duration)),
        display("slowdown", lambda row: interval_ends(row.spread.slowdown_mean, _times)),
    )
    return table(columns, view.rows)


def _spread_of(key: str) -> Callable[[PolicyGain], object]:
    def value(row: PolicyGain) -> object:
        interval: BootstrapInterval | None = getattr(row.spread, key)
        return None if interval is None else {"low": interval.low, "high": interval.high}

    return value


def _nearest_facts(nearest: FittedReplay | None) -> dict[str, object] | None:
    if nearest is None:
        return None
    return {
        "policy": nearest.policy.name,
        "nodes": nearest.nodes,
        "devices_per_node": nearest.devices_per_node,
        "calibration": calibration_facts(nearest.calibration),
    }


def _title(view: PolicyComparison) -> str:
    name = clean(view.log, limit=_MAX_NAME)
    jobs, devices = quantity(view.jobs, "job"), quantity(view.devices, "device")
    return f"{name}: {jobs} of {decimals(view.days, 1)} days on {devices}"


def _gain(row: PolicyGain, base: str, base_wait_s: float, view: PolicyComparison) -> str:
    figures_of = row.figures
    wait, before = duration(figures_of.wait_mean_s), duration(base_wait_s)
    than = f", not {before}" if wait != before else ", as before"
    words = f"With {figures_of.policy} instead of {base}, a job waits {wait} on average{than}"
    gained = row.hours_gained
    if gained is None:
        return f"{words}."
    if not view.is_calibrated:
        return f"{words}. Not calibrated: no gain in device-hours or money."
    if gained.low is None or gained.high is None:
        return f"{words}; the log has too few days to estimate the gain of a year."
    if gained.low <= 0 <= gained.high:
        return (
            f"{words}; the days of the log disagree on whether fewer devices are idle while jobs "
            "wait."
        )
    # All policies do the log's work; a policy only moves it in time.
    kind = "fewer" if gained.middle > 0 else "more"
    hours = sorted((abs(gained.low), abs(gained.high)))
    words += (
        f"; {integer(abs(gained.middle))} {kind} device-hours a year ({integer(hours[0])} to "
        f"{integer(hours[1])}) are idle while a job waits for as many"
    )
    if view.rate is None:
        return f"{words}."
    usd, low, high = (
        Decimal(hour) * view.rate.usd_per_device_hour for hour in (abs(gained.middle), *hours)
    )
    amount, ends = number_format.yearly_usd(usd, low, high)
    return f"{words}; renting as many hours costs {amount} ({ends}) at {view.rate.label}."


def _notes(view: PolicyComparison) -> Iterator[str]:
    yield (
        "Waits: mean over jobs. In use: share of all devices from the first to the last "
        "submission, without redone work. Idle: device-hours that were free while a job waited "
        "for that many. Unusable: share of the free devices that typical jobs do not fit on "
        "(fragmentation). Redone: device-hours repeated after preemption."
    )
    if view.inferred_nodes is not None:
        besides = UNFINISHED if view.lacks_device_time else ""
        yield f"{quantity(view.devices, 'device')}{besides}: {_inferred_by(view)}."
    yield from record_sentences(view)
    yield from view.notes
    if view.rate is not None:
        for caveat in view.rate.caveats:
            yield f"{view.rate.label}: {caveat}."


def _inferred_by(view: PolicyComparison) -> str:
    calibration = view.rows[0].calibration
    if view.inferred_nodes and (calibration is None or calibration.wait_mean is None):
        per_node = view.devices // view.inferred_nodes
        return peak_words(view.peak_devices, view.devices, per_node)
    return "what fits the log's record best"


def _jobs(count: int) -> str:
    return "job fits" if count == 1 else "jobs fit"


def _share(value: float | None) -> str:
    return NO_FIGURE if value is None else number_format.share(value)


def _usd(
    interval: BootstrapInterval | None, view: PolicyComparison
) -> Mapping[str, Decimal | None] | None:
    if interval is None or view.rate is None or not view.is_calibrated:
        return None
    usd = view.rate.usd_per_device_hour
    ends = (interval.middle, interval.low, interval.high)
    return {
        part: None if hours is None else Decimal(hours) * usd
        for part, hours in zip(_INTERVAL_PARTS, ends, strict=True)
    }


def _times(slowdown: float) -> str:
    return digits(slowdown, 3)
