"""A bundle and its verdicts in, what its changes cost a year and what the policies say out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from perfledger.bundle import Bundle, Pricing
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine, Side
from perfledger_baselines.judge import judge_bundle
from perfledger_baselines.verdict import Outcome, Verdict
from perfledger_cost_models.accelerator import accelerator_of
from perfledger_cost_models.approval import approved
from perfledger_cost_models.boundary import Growth
from perfledger_cost_models.change import price_changes
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.part import MeasuredChange
from perfledger_cost_models.policy import Approval, PolicyRuling, Ruling, rule_on
from perfledger_cost_models.sheet import PriceSheet
from perfledger_service.cost_views import PricedView
from perfledger_service.errors import UsageError
from perfledger_service.report import Conclusion, ExitCode
from perfledger_service.usecases.price_books import current_sheet
from perfledger_service.usecases.translating import translated

OVER_LIMIT = "Costs more than a policy allows"
APPROVAL = "Its cost asks for approval"
APPROVED = ", its cost is approved"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a check ends."""

    conclusion: Conclusion
    exit_code: ExitCode
    title: str


def measured_changes(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[MeasuredChange, ...]:
    """Return what the step times did, with the memory that workloads took more of on a device."""
    machines = bundle.machines()
    changes: list[MeasuredChange] = []
    for verdict in verdicts:
        if verdict.metric.name != STEP_TIME.name or verdict.estimate is None:
            continue
        machine = machines[verdict.workload, Side.HEAD]
        model = device_model(machine)
        changes.append(
            MeasuredChange(
                workload=verdict.workload,
                change=(verdict.estimate.low, verdict.estimate.change, verdict.estimate.high),
                measured_on=accelerator_of(model, machine.memory_bytes) or model,
                memory=_growth(verdict.workload, machine, verdicts),
            )
        )
    return tuple(changes)


def price(
    changes: Sequence[MeasuredChange],
    pricing: Pricing,
    *,
    today: date,
    sheet: PriceSheet | None = None,
    unmeasured: Sequence[str] = (),
    approvals: Sequence[Approval] = (),
) -> PricedView:
    """Price changes, by default on the packaged sheet, and rule on them by every policy.

    `approvals` are what was said of the commit, oldest first.
    """
    priced = price_changes(changes, pricing=pricing, sheet=sheet or current_sheet(), today=today)
    rulings = tuple(
        approved(rule_on(policy, total, unmeasured=unmeasured), policy, approvals)
        for policy, total in zip(pricing.policies, priced.by_policy, strict=True)
    )
    return PricedView(priced, rulings)


def price_bundle(bundle: Bundle, *, pricing: Pricing, today: date, sheet: PriceSheet) -> PricedView:
    """Price what a bundle's changes cost."""
    with translated():
        verdicts = judge_bundle(bundle)
        return price(
            measured_changes(bundle, verdicts),
            pricing,
            today=today,
            sheet=sheet,
            unmeasured=unmeasured_workloads(bundle, verdicts),
        )


def price_ratio(
    workload: str,
    ratios: tuple[float, float, float],
    *,
    pricing: Pricing,
    today: date,
    sheet: PriceSheet,
) -> PricedView:
    """Price a ratio of step times head / base that somebody tells: low, middle and high.

    Raises UsageError for ratios that are no interval.
    """
    try:
        low, middle, high = (float(to_decimal(ratio) - 1) for ratio in ratios)
        change = MeasuredChange(workload=workload, change=(low, middle, high))
    except (ValueError, ArithmeticError) as error:
        msg = f"ratios {ratios}: give 0 <= low <= ratio <= high, such as 1.10 1.12 1.14"
        raise UsageError(msg) from error
    return price((change,), pricing, today=today, sheet=sheet)


def unmeasured_workloads(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return the workloads of whose step time nothing is known that should be."""
    failed = (failure.workload for failure in bundle.failures)
    silent = (
        verdict.workload
        for verdict in verdicts
        if verdict.metric.name == STEP_TIME.name and verdict.estimate is None
    )
    return tuple(
        dict.fromkeys(name for name in (*failed, *silent) if name not in bundle.new_workloads)
    )


def ended(ending: Ending, rulings: Sequence[PolicyRuling]) -> Ending:
    """Return how a check ends after the policies: they add reasons to stop it, they take none."""
    found = {ruling.ruling for ruling in rulings}
    if Ruling.FAILS in found:
        is_worse = ending.exit_code in {ExitCode.OK, ExitCode.UNCERTAIN}
        code = ExitCode.REGRESSION if is_worse else ending.exit_code
        return Ending(Conclusion.FAILURE, code, OVER_LIMIT if is_worse else ending.title)
    is_open = ending.conclusion in {Conclusion.SUCCESS, Conclusion.NEUTRAL}
    if Ruling.ASKS in found and is_open:
        return Ending(Conclusion.ACTION_REQUIRED, ExitCode.UNCERTAIN, APPROVAL)
    if Ruling.APPROVED in found and is_open:
        return Ending(ending.conclusion, ending.exit_code, f"{ending.title}{APPROVED}")
    return ending


def device_model(machine: Machine) -> str:
    """Return the device's own name, or the CPU's where no accelerator was measured."""
    return machine.cpu_model if machine.device is Device.CPU else machine.model


def _growth(workload: str, machine: Machine, verdicts: Sequence[Verdict]) -> Growth | None:
    """Return how a device's peak memory grew; a CPU's is the process's and fits no device."""
    if machine.device is Device.CPU:
        return None
    for verdict in verdicts:
        is_it = (verdict.workload, verdict.metric.name) == (workload, PEAK_MEMORY.name)
        if is_it and verdict.outcome is Outcome.REGRESSED and verdict.estimate is not None:
            estimate = verdict.estimate
            low, middle, high = (
                estimate.base * (1 + end) for end in (estimate.low, estimate.change, estimate.high)
            )
            return Growth(estimate.base, (low, middle, high))
    return None
