"""A model, a bill and a quarter's checks into what a review says of supply, evidence and risk."""

from collections.abc import Sequence
from decimal import Decimal

from perfledger_cost_models.decision import Band, Decision, at_modes
from perfledger_cost_models.focus import Bill
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.policy_gain import PolicyComparison
from perfledger_cost_models.procurement import YEARS, Basis, Input, Model
from perfledger_cost_models.projection import ProjectionCheck
from perfledger_cost_models.recorded_waits import RecordedWaits
from perfledger_cost_models.review import Evidence, Performance, Risk, Supply, Unknown
from perfledger_cost_models.review_facts import HOW_BILL, NO_BILL, hours_by_mode
from perfledger_cost_models.review_records import MeasuredSpeed, ProjectedSpeed, Records
from perfledger_cost_models.supply import Held
from perfledger_cost_models.unit_cost import usd_per_million_units

# What the model takes for granted whatever its inputs are.
ALWAYS = (
    "prices stay as they are for three years; the first page says what moves would matter",
    "a commitment of one year is renewed twice, at its size and price",
    "hours beyond what is held are bought on demand, and are to be had whenever they are needed",
    "what is held, committed to or owned does useful work in the same share of its hours",
    "moving work to another provider or accelerator costs nothing; neither do egress and storage",
    "inputs are independent of each other; tax is in the prices only where overrides put it there",
)

# Units of inputs that are shares of one.
SHARES = frozenset({"share", "fraction"})


def supply_of(
    model: Model,
    holdings: tuple[Held, ...],
    bill: Bill | None,
    waits: RecordedWaits | None = None,
    policies: PolicyComparison | None = None,
) -> Supply:
    """Return what is there, what it carries, and what the bill says of its use."""
    likely = at_modes(model)
    years = range(1, YEARS + 1)
    hours = {year: to_decimal(likely[f"hours_{year}"][0]) for year in years}
    needed = {year: to_decimal(likely[f"need_{year}"][0]) for year in years}
    no_bill = Unknown(what="use by purchase mode", why=NO_BILL, how=HOW_BILL)
    return Supply(
        held=holdings,
        coverage=tuple(
            (year, hours[year], hours[year] - needed[year], needed[year]) for year in years
        ),
        by_mode=no_bill if bill is None else hours_by_mode(bill),
        unused_usd=no_bill if bill is None else bill.unused_usd,
        waits=waits
        or Unknown(
            what="queue waits against their objective",
            why="the plan names no job log",
            how="jobs in its [usage]: what perfledger cost simulate reads, of this quarter",
        ),
        policies=policies
        or Unknown(
            what="waits and utilization under other scheduling policies",
            why="the plan names no job log, or not the nodes and policies to replay it under",
            how="jobs and replay in its [usage], such as "
            'replay = { nodes = 4, devices = 8, policies = ["fifo", "easy"] }',
        ),
    )


def performance_of(
    records: Records | Unknown,
    decision: Decision,
    ratios: tuple[tuple[str, str, Decimal], ...],
    model: Model,
    *,
    check: ProjectionCheck | None = None,
) -> Performance:
    """Return what was measured, and what it costs on each way with the accelerator measured."""
    projection: tuple[ProjectedSpeed, ...] | Unknown = Unknown(
        what="projection to hardware that was not measured, and its error against MLPerf",
        why="no check of the quarter measured work on a device whose peaks are known, and counted "
        "what it asks for",
        how="perfledger check on a GPU or TPU, whose bundles count operations and bytes",
    )
    if isinstance(records, Records) and records.projected:
        projection = records.projected
    if isinstance(records, Unknown):
        evidence: tuple[Evidence, ...] | Unknown = Unknown(
            what="measured cost of a unit of work", why=records.why, how=records.how
        )
    else:
        evidence = tuple(
            Evidence(speed=speed, usd=_unit_usd(speed, decision, model)) for speed in records.speeds
        )
    return Performance(
        evidence=evidence,
        ratios=ratios,
        projection=projection,
        projection_check=check,
    )


def _unit_usd(
    speed: MeasuredSpeed, decision: Decision, model: Model
) -> tuple[tuple[str, Band], ...]:
    """Return USD per million units on each way with the accelerator that was measured.

    The interval takes throughput and hour at their ends together.
    """
    slow, typical, fast = speed.units_per_second
    return tuple(
        (
            each.way.name,
            (
                usd_per_million_units(each.hour_band[0], fast),
                usd_per_million_units(each.hour_band[1], typical),
                usd_per_million_units(each.hour_band[2], slow),
            ),
        )
        for each in decision.outcomes
        if each.hour_band is not None
        and each.way.accelerator == speed.accelerator == model.accelerator
    )


def risks_of(model: Model, holdings: Sequence[Held]) -> tuple[Risk, ...]:
    """Return what is assumed: inputs, supply that cannot be counted, and the model's own."""
    assumed = [
        Risk(what=f"{each.words}: {_figure(each)}", basis=Basis.ASSUMED)
        for each in model.inputs
        if each.basis is Basis.ASSUMED
    ]
    uncounted = [
        Risk(
            what=f"{one.name}: {one.devices} devices carry none of the need: {one.why_not}",
            basis=Basis.ASSUMED,
        )
        for one in holdings
        if one.equivalents is None
    ]
    return (*assumed, *uncounted, *(Risk(what=words, basis=Basis.ASSUMED) for words in ALWAYS))


def _figure(one: Input) -> str:
    """Return an input's most likely value with four digits and its unit; a share in percent."""
    if one.unit in SHARES:
        return f"{float(one.mode) * 100:.4g} %"
    return f"{float(f'{one.mode:.4g}'):,.10g} {one.unit}"
