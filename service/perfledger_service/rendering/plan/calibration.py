"""Presents how near a replay is to the schedule that its log recorded."""

from collections.abc import Callable, Iterable, Iterator

from perfledger_cost_models.scheduling.calibration import (
    MAX_ERROR,
    MAX_UNPLACEABLE,
    ReplayCalibration,
    is_near,
)
from perfledger_cost_models.scheduling.day_bootstrap import BootstrapInterval
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    NO_FIGURE,
    Column,
    Table,
    display,
    table,
    words,
)

NO_RECORD = "Not calibrated: the log records no waits to hold the replay against."


def calibration_sentence(calibration: ReplayCalibration | None) -> str:
    """Return whether a replay is calibrated, and in what it differs from the record."""
    if calibration is None or calibration.wait_mean is None:
        return NO_RECORD
    limit = number_format.margin(MAX_ERROR)
    if calibration.is_calibrated:
        return f"Calibrated: the replay with {calibration.policy} is within {limit} of the record."
    return f"Not calibrated within {limit}: {' and '.join(_reasons(calibration))}."


def calibration_ratios(
    calibration: ReplayCalibration,
) -> tuple[tuple[str, BootstrapInterval | None], ...]:
    """Return the ratios by the names that people read."""
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
    beyond = " and ".join(
        f"the {name} is {ratio_text(ratio)} times the recorded"
        for name, ratio in calibration_ratios(calibration)
        if ratio is not None and not is_near(ratio)
    )
    if beyond:
        yield f"in the replay with {calibration.policy}, {beyond}"


def calibration_table(calibrations: Iterable[ReplayCalibration]) -> tuple[Table, ...]:
    """Return the ratios of replays for people; none without a record."""
    rows = tuple(calibrations)
    if not rows:
        return ()
    names = [name for name, _ in calibration_ratios(rows[0])]
    columns: tuple[Column[ReplayCalibration], ...] = (
        words("", "replay / record", lambda row: row.policy),
        *(display(name, _ratio_of(place)) for place, name in enumerate(names)),
    )
    return (table(columns, rows),)


def ratio_text(ratio: BootstrapInterval) -> str:
    """Return a ratio with its interval: "0.98 (0.71-1.2)"."""
    if ratio.low is None or ratio.high is None:
        return f"{ratio.middle:.2g}"
    return f"{ratio.middle:.2g} ({ratio.low:.2g}-{ratio.high:.2g})"


def _ratio_of(place: int) -> Callable[[ReplayCalibration], str]:
    def text(row: ReplayCalibration) -> str:
        _, ratio = calibration_ratios(row)[place]
        return NO_FIGURE if ratio is None else ratio_text(ratio)

    return text
