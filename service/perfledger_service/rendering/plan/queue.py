"""Presents the waits of a queue for devices, and the devices that a target needs."""

from collections.abc import Iterator
from dataclasses import asdict

from perfledger import rounding
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.queueing.server_count import QueuePlan
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import Document, sentences
from perfledger_service.rendering.layout.number_format import duration


def queue_document(plan: QueuePlan) -> Document:
    """Return a queue's load and waits; null if it grows without limit."""
    facts = asdict(plan) | {
        "quantiles_s": {
            f"p{rounding.for_programs(share * 100)}": wait_s for share, wait_s in plan.quantiles_s
        }
    }
    return Document(name="perfledger-queue", facts=facts, blocks=sentences(_sentences(plan)))


def _sentences(plan: QueuePlan) -> Iterator[str]:
    arrivals = plan.arrivals
    per_hour = number_format.count(arrivals.arrivals_per_s * SECONDS_PER_HOUR)
    busy = f"{number_format.count(plan.load)} busy of {plan.devices:,}"
    yield f"{per_hour} devices requested an hour, for {duration(arrivals.service_s)} each: {busy}"
    if plan.exact is None:
        yield "The queue grows without limit: demand exceeds capacity."
    else:
        yield from _waits(plan)
    if plan.target is not None and plan.devices_needed is not None:
        share = number_format.margin(plan.target.share)
        target = f"{share} wait at most {duration(plan.target.wait_s)}"
        yield f"{plan.devices_needed:,} devices are enough: {target}."


def _waits(plan: QueuePlan) -> Iterator[str]:
    if plan.exact is not None:
        chance = number_format.share(plan.exact.chance_of_waiting)
        yield (
            f"M/M/c: {chance} of the jobs wait, {duration(plan.exact.wait_s)} on average over all "
            "jobs; the queue holds "
            f"{number_format.count(round(plan.exact.queue_length, 4))} jobs on average"
        )
        yield ", ".join(
            f"P{rounding.typed(share * 100)} {duration(s)}" for share, s in plan.quantiles_s
        )
    if plan.met_share is not None and plan.target is not None:
        yield f"{number_format.share(plan.met_share)} wait at most {duration(plan.target.wait_s)}."
