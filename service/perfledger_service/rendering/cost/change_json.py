"""Converts prices of changes, queues and policies into JSON values, null where unknown."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

from perfledger_cost_models.change.cost_policy import PolicyEvaluation
from perfledger_cost_models.quote import ChangePrice, HourlyRate, Interval, QueueEffect, SummedPrice

Json = Mapping[str, object]


def change_price_document(price: ChangePrice) -> Json:
    """Return what one workload's change costs a year on one entry of the fleet."""
    low, mode, high = price.device_hours_per_year
    return {
        "workload": price.workload,
        "rate": None if price.rate is None else rate_document(price.rate),
        "device_hours_per_year": number(mode),
        "device_hours_low": number(low),
        "device_hours_high": number(high),
        "hours_source": price.hours_source,
        "usd_per_year": money(price.usd),
        "low": money(price.low),
        "high": money(price.high),
        "is_detectable": price.is_detectable,
        "absorbed_hours": _interval(price.absorbed_hours),
        "moves_to": None if price.moves_to is None else rate_document(price.moves_to),
        "note": price.note,
    }


def joint_price_document(price: SummedPrice | None) -> Json | None:
    """Return what changes cost together; null where there is nothing to add up."""
    if price is None:
        return None
    return {
        "usd_per_year": money(price.usd),
        "low": money(price.low),
        "high": money(price.high),
        "is_detectable": price.is_detectable,
        "workloads": list(price.workloads),
        "missing": list(price.missing),
        "left_out": list(price.left_out),
    }


def queue_documents(queues: Sequence[QueueEffect]) -> list[Json]:
    """Return what becomes of the queues for devices that are paid for anyway."""
    return [
        {
            "where": queue.where,
            "absorbed_hours": _interval(queue.absorbed_hours),
            "busy_share": number(queue.busy_share),
            "busy_share_after": _interval(queue.busy_share_after),
            "wait_seconds": number(queue.wait_s),
            "extra_wait_seconds": _interval(queue.extra_wait_s),
            "extra_wait_hours": _interval(queue.extra_wait_hours),
            "note": queue.note,
        }
        for queue in queues
    ]


def policy_evaluation_documents(rulings: Sequence[PolicyEvaluation]) -> list[Json]:
    """Return what each policy says."""
    return [
        {
            "team": ruling.team,
            "outcome": str(ruling.outcome),
            "limit_usd_per_year": money(ruling.limit_usd),
            "price": joint_price_document(ruling.price),
            "unpriced": list(ruling.unpriced),
            "approvers": list(ruling.approvers),
            "approval": None if ruling.approval is None else _approval(ruling),
        }
        for ruling in rulings
    ]


def rate_document(rate: HourlyRate) -> Json:
    """Return a rate with its date and source."""
    return {
        "option": rate.option,
        "label": rate.label,
        "accelerator": rate.accelerator,
        "usd_per_device_hour": money(rate.usd_per_device_hour),
        "low": money(rate.low),
        "high": money(rate.high),
        "as_of": rate.as_of.isoformat(),
        "is_read_date": rate.is_read_date,
        "source": rate.source,
        "provenance": rate.layer,
        "assumed": list(rate.assumed),
        "warnings": list(rate.warnings),
    }


def number(value: float | None) -> float | None:
    """Return a finite number, else null."""
    return value if value is not None and math.isfinite(value) else None


def money(value: Decimal | None) -> str | None:
    """Return an amount as a decimal string, never rounded; null where it is not known."""
    return f"{value:f}" if value is not None and value.is_finite() else None


def _approval(ruling: PolicyEvaluation) -> Json:
    approval = ruling.approval
    assert approval is not None  # noqa: S101 - looked for before
    return {
        "login": approval.login,
        "usd_per_year": money(approval.usd_per_year),
        "covers_unpriced": approval.covers_unpriced,
        "reason": approval.reason,
        "said_at": approval.approved_at.isoformat(),
        "until": approval.until.isoformat(),
        "objection": ruling.objection,
    }


def _interval(ends: Interval | None) -> list[float | None] | None:
    return None if ends is None else [number(end) for end in ends]
