"""Turns prices of changes, queues and policies into records for JSON."""

from collections.abc import Iterable, Mapping

from perfledger_cost_models.change_price.cost_policy import Approval, PolicyEvaluation
from perfledger_cost_models.quote import ChangePrice, HourlyRate, QueueEffect, SummedPrice
from perfledger_service.rendering.layout.document import attributes

Record = Mapping[str, object]

# Fields of `rate_record`, in the order of the JSON.
RATE_PARTS = (
    *("option", "label", "accelerator", "usd_per_device_hour", "low", "high", "as_of"),
    *("is_read_date", "source", "provenance", "assumed", "warnings"),
)


def change_price_record(price: ChangePrice) -> Record:
    """Return the yearly cost of one workload's change on one fleet entry."""
    low, mode, high = price.device_hours_per_year
    return {
        "workload": price.workload,
        "rate": rate_record(price.rate),
        "device_hours_per_year": mode,
        "device_hours_low": low,
        "device_hours_high": high,
        "hours_source": price.hours_source,
        "usd_per_year": price.usd,
        **attributes(price, "low", "high", "is_detectable"),
        **attributes(price, "extra_hours", "absorbed_hours", "renewal_devices"),
        "moves_to": rate_record(price.moves_to),
        "projected_from": price.projected_from,
        "note": price.note,
    }


def summed_price_record(price: SummedPrice | None) -> Record | None:
    """Return the total cost of all changes; None without any."""
    if price is None:
        return None
    names = ("low", "high", "is_detectable", "workloads", "missing", "left_out")
    return {"usd_per_year": price.usd, **attributes(price, *names)}


def queue_records(queues: Iterable[QueueEffect]) -> list[Record]:
    """Return the effect on the queues for devices that are paid for anyway."""
    return [
        {
            **attributes(queue, "where", "absorbed_hours", "busy_share", "busy_share_after"),
            "wait_seconds": queue.wait_s,
            "extra_wait_seconds": queue.extra_wait_s,
            **attributes(queue, "extra_wait_hours", "note"),
        }
        for queue in queues
    ]


def policy_evaluation_records(evaluations: Iterable[PolicyEvaluation]) -> list[Record]:
    """Return the result of each policy."""
    return [
        {
            "team": evaluation.team,
            "outcome": evaluation.outcome,
            "limit_usd_per_year": evaluation.limit_usd,
            "price": summed_price_record(evaluation.price),
            "unpriced": evaluation.unpriced,
            "approvers": evaluation.approvers,
            "approval": _approval_record(evaluation.approval, evaluation.objection),
        }
        for evaluation in evaluations
    ]


def rate_record(rate: HourlyRate | None) -> Record | None:
    """Return a rate with its date and source; None without one."""
    if rate is None:
        return None
    return {part: getattr(rate, "layer" if part == "provenance" else part) for part in RATE_PARTS}


def _approval_record(approval: Approval | None, objection: str) -> Record | None:
    if approval is None:
        return None
    return {
        **attributes(approval, "login", "usd_per_year", "covers_unpriced", "reason"),
        "said_at": approval.approved_at,
        "until": approval.until,
        "objection": objection,
    }
