"""Builds the supply, performance and risk sections of a review."""

from collections.abc import Sequence
from decimal import Decimal

from perfledger_cost_models.billing.bill_against_list import (
    PaidPrice,
    unsure_models,
    unsure_sentences,
)
from perfledger_cost_models.billing.focus import Bill
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.cost_model import (
    ALLOCATED_SHARE,
    PLAN_YEARS,
    CostModel,
    InputBasis,
)
from perfledger_cost_models.procurement.decision import Band, PurchaseDecision, evaluate_at_modes
from perfledger_cost_models.procurement.owned_supply import SupplyYears
from perfledger_cost_models.projection.validation import ProjectionCheck
from perfledger_cost_models.review.demand_and_spend import BILL_REMEDY, NO_BILL, hours_by_mode
from perfledger_cost_models.review.document import (
    MeasuredUnitCost,
    PerformanceSection,
    ReviewRisk,
    SupplySection,
    UnknownFigure,
)
from perfledger_cost_models.review.measured_changes import (
    MeasuredSpeed,
    ProjectedSpeed,
    QuarterRecords,
)
from perfledger_cost_models.review.queue_waits import RecordedWaits
from perfledger_cost_models.scheduling.policy_comparison import PolicyComparison
from perfledger_cost_models.tco.input_phrases import input_figure
from perfledger_cost_models.tco.unit_cost import usd_per_million_units

# What the model assumes for all inputs.
STANDING_RISKS = (
    "prices do not change for three years; the first page says which price moves would matter",
    "a commitment of one year is renewed twice, at the same size and price",
    "hours beyond the supply are bought on demand and are always available",
    "commitments of any size and owned devices are used in the same share of their hours",
    "moving work to another provider or accelerator, egress and storage cost nothing",
    "inputs are independent of each other; prices include tax only where overrides add it",
)


def supply_of(
    model: CostModel,
    holdings: tuple[SupplyYears, ...],
    bill: Bill | None,
    *,
    paid: Sequence[PaidPrice],
    waits: RecordedWaits | None,
    policies: PolicyComparison | None,
) -> SupplySection:
    """Return the supply, the need that it carries, and its use according to the bill.

    `paid` are the prices of the bill (`compared_prices`), which say where a mode is in doubt.
    """
    likely = evaluate_at_modes(model)
    years = PLAN_YEARS
    hours = {year: to_decimal(likely[f"hours_{year}"][0]) for year in years}
    needed = {year: to_decimal(likely[f"need_{year}"][0]) for year in years}
    no_bill = UnknownFigure(name="hours by purchase mode", reason=NO_BILL, remedy=BILL_REMEDY)
    return SupplySection(
        entries=holdings,
        coverage=tuple(
            (year, hours[year], hours[year] - needed[year], needed[year]) for year in years
        ),
        by_mode=no_bill if bill is None else hours_by_mode(bill, unsure_models(paid)),
        mode_doubts=tuple(unsure_sentences(paid)),
        unused_usd=no_bill if bill is None else bill.unused_usd,
        waits=waits
        or UnknownFigure(
            name="queue waits against their objective",
            reason="the plan names no job log",
            remedy="jobs in its [usage]: a log of this quarter, as perfledger plan simulate reads",
        ),
        policies=policies
        or UnknownFigure(
            name="waits and utilization under other scheduling policies",
            reason="the plan names no job log, or no nodes and policies to replay it with",
            remedy="jobs and replay in its [usage], such as "
            'replay = { nodes = 4, devices = 8, policies = ["fifo", "easy"] }',
        ),
    )


def performance_of(
    records: QuarterRecords | UnknownFigure,
    decision: PurchaseDecision,
    ratios: tuple[tuple[str, str, Decimal], ...],
    model: CostModel,
    *,
    check: ProjectionCheck | None = None,
) -> PerformanceSection:
    """Return the measured work, and its cost on each option with the measured accelerator."""
    projection: tuple[ProjectedSpeed, ...] | UnknownFigure = UnknownFigure(
        name="projection to other hardware, and its error against MLPerf",
        reason="no check of the quarter measured and counted work on a device with known peaks",
        remedy="perfledger check on a GPU or TPU, whose bundles count operations and bytes",
    )
    if isinstance(records, QuarterRecords) and records.projections:
        projection = records.projections
    if isinstance(records, UnknownFigure):
        evidence: tuple[MeasuredUnitCost, ...] | UnknownFigure = UnknownFigure(
            name="measured cost of a unit of work", reason=records.reason, remedy=records.remedy
        )
    else:
        evidence = tuple(
            MeasuredUnitCost(speed=speed, usd=_unit_usd(speed, decision, model))
            for speed in records.speeds
        )
    return PerformanceSection(
        evidence=evidence, ratios=ratios, projection=projection, projection_check=check
    )


def _unit_usd(
    speed: MeasuredSpeed, decision: PurchaseDecision, model: CostModel
) -> tuple[tuple[str, Band], ...]:
    """Return USD per million units on each option with the measured accelerator.

    The interval combines the ends of the throughput with the ends of the hourly cost.
    """
    slow, typical, fast = speed.units_per_second
    return tuple(
        (
            each.option.name,
            (
                usd_per_million_units(each.hour_band[0], fast),
                usd_per_million_units(each.hour_band[1], typical),
                usd_per_million_units(each.hour_band[2], slow),
            ),
        )
        for each in decision.outcomes
        if each.hour_band is not None
        and each.option.accelerator == speed.accelerator == model.accelerator
    )


def risks_of(
    model: CostModel, holdings: Sequence[SupplyYears], *, are_hours_configured: bool = False
) -> tuple[ReviewRisk, ...]:
    """Return the assumed inputs, the supply that cannot be counted, and the model's assumptions."""
    assumed = [
        ReviewRisk(
            name=f"{each.label}: {input_figure(each.mode, each.unit)}", basis=InputBasis.ASSUMED
        )
        for each in model.inputs
        if each.basis is InputBasis.ASSUMED
    ]
    uncounted = [
        ReviewRisk(
            name=f"{one.name}: its {one.devices} devices are not counted: {one.omission_reason}",
            basis=InputBasis.ASSUMED,
        )
        for one in holdings
        if one.equivalents is None
    ]
    is_divided = any(each.name == ALLOCATED_SHARE for each in model.inputs)
    undivided = ReviewRisk(
        name="the configuration's allocated hours are taken as paid hours: the allocated share is "
        "unknown",
        basis=InputBasis.ASSUMED,
    )
    return (
        *assumed,
        *uncounted,
        *([undivided] if are_hours_configured and not is_divided else []),
        *(ReviewRisk(name=words, basis=InputBasis.ASSUMED) for words in STANDING_RISKS),
    )
