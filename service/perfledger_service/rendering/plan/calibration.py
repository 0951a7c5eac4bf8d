"""Presents how close a replay is to the schedule recorded in its log."""

from collections.abc import Callable, Iterable, Iterator

from perfledger import rounding
from perfledger_cost_models.capacity.log_queue import LogQueuePlan
from perfledger_cost_models.scheduling.calibration import (
    MAX_ERROR,
    MAX_UNPLACEABLE,
    MIN_WAITING_JOBS,
    ReplayCalibration,
    is_near,
)
from perfledger_cost_models.scheduling.day_bootstrap import BootstrapInterval
from perfledger_cost_models.scheduling.policy_comparison import PolicyComparison
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    NO_FIGURE,
    Column,
    Table,
    display,
    table,
    words,
)
from perfledger_service.rendering.layout.number_format import quantity

NO_RECORD = "Not calibrated: the log shows no waits to compare the replay with."


def recorded_devices_sentence(plan: LogQueuePlan | PolicyComparison, *, has_waits: bool) -> str:
    """Return how many devices the log was recorded on, "" if as many as in the replay."""
    peak, stated, recorded = plan.peak_devices or 0, plan.stated_devices, plan.recorded_devices
    if stated is not None and recorded > stated:
        return (
            f"The log's header states {quantity(stated, 'device')}, but on average more are in use:"
            f" its share in use is relative to {recorded:,}. Check its sizes and times."
        )
    if stated not in {None, plan.devices}:
        fact = f"The log's header states {quantity(recorded, 'device')}, not"
    elif stated is None and peak > plan.devices:
        fact = f"The log shows {quantity(peak, 'device')} in use at one moment, more than"
    else:
        return ""
    is_other_share = has_waits and recorded != plan.devices
    share = f": its share in use is relative to {recorded:,}" if is_other_share else ""
    over = ""
    if stated is not None and peak > stated:
        over = f" At one moment its jobs hold {peak:,}, so some of its sizes or times are wrong."
    return f"{fact} the {plan.devices:,} of the replay{share}.{over}"


def cut_sentence(count: int) -> str:
    """Return that the waits of some jobs are unknown, and what would show them."""
    jobs = quantity(count, "job")
    object_, wait = ("it", "its wait is") if count == 1 else ("them", "their waits are")
    return (
        f"{jobs} may have run before the log shows {object_}: {wait} unknown. Either sacct "
        "--truncate cut the runs (export without it), or a job was requeued and kept its Submit "
        "(its earlier runs are in the log; the wait of a later run is not)."
    )


def peak_words(peak: int | None, devices: int, per_node: int | None) -> str:
    """Return the most devices in use, from which the devices of a replay follow."""
    words = f"{peak or 0:,} in use at most at one moment of the log"
    if peak == devices or per_node is None:
        return words
    return f"{words}, rounded up to {'a node' if devices == per_node else 'nodes'} of {per_node}"


def calibration_sentence(calibration: ReplayCalibration | None) -> str:
    """Return whether a replay is calibrated, and how it differs from the record."""
    if calibration is None or calibration.wait_mean is None:
        return NO_RECORD
    if calibration.waiting_jobs < MIN_WAITING_JOBS:
        return (
            f"Not calibrated: only {quantity(calibration.waiting_jobs, 'job')} of the log waited, "
            f"and the waits of fewer than {MIN_WAITING_JOBS} may be chance."
        )
    limit = number_format.margin(MAX_ERROR)
    if calibration.is_calibrated:
        return f"Calibrated: the replay with {calibration.policy} is within {limit} of the record."
    return f"Not calibrated within {limit}: {'; '.join(_reasons(calibration))}."


def has_too_short_waits(calibration: ReplayCalibration) -> bool:
    """Return whether a replay's mean wait is shorter than recorded by more than MAX_ERROR."""
    wait = calibration.wait_mean
    return wait is not None and wait.middle < 1 - MAX_ERROR


def missing_waits_sentences(
    choices: str, policy: str, devices: str, calibration: ReplayCalibration
) -> str:
    """Return that the best fit lacks the recorded waits, where they may come from, and what to do.

    `choices` are those that it is the best of; the policy and the devices are its own.
    """
    wait = calibration.wait_mean
    ratio = "" if wait is None else ratio_text(wait)
    return (
        f"No usual {choices} has the recorded waits: {policy} on {devices} has {ratio} times their "
        "mean. "
        "What made jobs wait is not in the log, such as limits of users or partitions, "
        "reservations, and nodes that were down: replay one partition at a time, and give its "
        "devices."
    )


def calibration_ratios(
    calibration: ReplayCalibration,
) -> tuple[tuple[str, BootstrapInterval | None], ...]:
    """Return the ratios with their display names."""
    return (
        ("mean wait", calibration.wait_mean),
        ("P95 wait", calibration.wait_p95),
        ("utilization", calibration.utilization),
        ("makespan", calibration.makespan),
    )


def calibration_facts(calibration: ReplayCalibration | None) -> dict[str, object] | None:
    """Return the ratios for programs; None without a record."""
    if calibration is None:
        return None
    return {
        "policy": calibration.policy,
        "is_calibrated": calibration.is_calibrated,
        "wait_mean_ratio": calibration.wait_mean,
        "wait_p95_ratio": calibration.wait_p95,
        "utilization_ratio": calibration.utilization,
        "makespan_ratio": calibration.makespan,
        "unplaceable_share": calibration.unplaceable,
    }


def _reasons(calibration: ReplayCalibration) -> Iterator[str]:
    if calibration.unplaceable > MAX_UNPLACEABLE:
        share = number_format.share(calibration.unplaceable)
        yield f"{share} of the jobs fit no node of the replay"
    beyond = ", ".join(
        f"{ratio_text(ratio)} times the recorded {name}"
        for name, ratio in calibration_ratios(calibration)
        if ratio is not None and not is_near(ratio)
    )
    if beyond:
        yield f"the replay with {calibration.policy} has {beyond}"


def calibration_table(calibrations: Iterable[ReplayCalibration]) -> tuple[Table, ...]:
    """Return the ratios of replays for people; none without a record."""
    rows = tuple(calibrations)
    if not rows:
        return ()
    names = [name for name, _ in calibration_ratios(rows[0])]
    columns: tuple[Column[ReplayCalibration], ...] = (
        words("", "replay / record", lambda row: row.policy),
        *(display(name, _ratio_of(index)) for index, name in enumerate(names)),
    )
    return (table(columns, rows),)


def interval_ends(interval: BootstrapInterval | None, form: Callable[[float], str]) -> str:
    """Return the ends of an interval, "" without any."""
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return number_format.interval(interval.low, interval.high, form)


def ratio_text(ratio: BootstrapInterval) -> str:
    """Return a ratio with its interval: "0.98 (0.71 to 1.2)"."""
    middle, ends = _times(ratio.middle), interval_ends(ratio, _times)
    return middle if ends in {"", middle} else f"{middle} ({ends})"


def _times(ratio: float) -> str:
    if ratio < 99.5:  # noqa: PLR2004 - from here on, two digits have a power of ten
        return rounding.digits(ratio, 2)
    return rounding.integer(ratio)


def _ratio_of(place: int) -> Callable[[ReplayCalibration], str]:
    def text(row: ReplayCalibration) -> str:
        _, ratio = calibration_ratios(row)[place]
        return NO_FIGURE if ratio is None else ratio_text(ratio)

    return text
