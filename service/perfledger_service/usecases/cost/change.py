"""Prices a year of a bundle's changes, and evaluates policies on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from perfledger.bundle import Bundle, PricingConfig
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine, Side
from perfledger.rounding import typed
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_cost_models.change_price.approval import apply_approvals
from perfledger_cost_models.change_price.cost_policy import (
    Approval,
    PolicyEvaluation,
    PolicyOutcome,
    evaluate_policy,
)
from perfledger_cost_models.change_price.fleet_entry import MeasuredChange
from perfledger_cost_models.change_price.memory_upgrade import MemoryGrowth
from perfledger_cost_models.change_price.price import price_changes
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_service.errors import UsageError
from perfledger_service.usecases.cost.device_transfers import (
    bound_outside,
    counted_work,
    device_transfers,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import current_sheet
from perfledger_service.values.change_price import ChangePriceView
from perfledger_service.values.report import Conclusion, ExitCode

OVER_LIMIT = "Costs more than a policy allows"
APPROVAL = "Its cost needs approval"
_NAMELESS = "a device without a name"
APPROVED_SUFFIX = ", its cost is approved"
# Step times of the same work differ by less than this factor; more are two units or other work.
MAX_RATIO = 1000


@dataclass(frozen=True, slots=True)
class CheckConclusion:
    """Conclusion of a check."""

    conclusion: Conclusion
    exit_code: ExitCode
    title: str


def measured_changes(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[MeasuredChange, ...]:
    """Return the changes of step time, with the growth of device memory."""
    machines = bundle.machines()
    specs = {spec.id: spec for spec in bundle.workloads}
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
                measured_on=accelerator_of(model, machine.memory_bytes) or model or _NAMELESS,
                memory=_growth(verdict.workload, machine, verdicts),
                bound_outside=bound_outside(bundle, verdict.workload, machine),
                work=counted_work(bundle, specs.get(verdict.workload)),
            )
        )
    return tuple(changes)


def price(
    changes: Sequence[MeasuredChange],
    pricing: PricingConfig,
    *,
    today: date,
    sheet: PriceSheet | None = None,
    registered: Sequence[str] | None = (),
    unmeasured: Sequence[str] = (),
    approvals: Sequence[Approval] = (),
) -> ChangePriceView:
    """Price changes, by default on the current sheet, and evaluate every policy.

    `registered` are all workloads of the repository; None if they are unknown. `approvals` of the
    commit are oldest first.
    """
    change_prices = price_changes(
        changes,
        pricing=pricing,
        sheet=sheet or current_sheet(today=today),
        today=today,
        registered=registered,
        transfers=device_transfers(),
    )
    evaluations = tuple(
        apply_approvals(evaluate_policy(policy, total, unmeasured=unmeasured), policy, approvals)
        for policy, total in zip(pricing.policies, change_prices.by_policy, strict=True)
    )
    return ChangePriceView(change_prices, evaluations)


def price_bundle(
    bundle: Bundle, *, pricing: PricingConfig, today: date, sheet: PriceSheet
) -> ChangePriceView:
    """Price a bundle's changes."""
    with translate_errors():
        verdicts = judge_bundle(bundle)
        return price(
            measured_changes(bundle, verdicts),
            pricing,
            today=today,
            sheet=sheet,
            registered=registered_workloads(bundle),
            unmeasured=unmeasured_workloads(bundle, verdicts),
        )


def price_ratio(
    workload: str,
    ratios: tuple[float, float, float],
    *,
    pricing: PricingConfig,
    today: date,
    sheet: PriceSheet,
    is_whole_entry: bool = True,
    measured_on: str = "",
) -> ChangePriceView:
    """Price a given ratio of step times, head / base: low, middle and high.

    `is_whole_entry` if it is of all hours of a fleet entry; otherwise, an entry with a wildcard
    needs weights, because its other workloads are unknown. Without `measured_on`, the ratio is
    that of each entry's own device. Raises UsageError for ratios that are not an interval, and for
    one beyond MAX_RATIO or 1 / MAX_RATIO.
    """
    try:
        low, middle, high = (float(to_decimal(ratio) - 1) for ratio in ratios)
        change = MeasuredChange(
            workload=workload,
            change=(low, middle, high),
            measured_on=(accelerator_of(measured_on, None) or measured_on) if measured_on else None,
        )
    except (ValueError, ArithmeticError) as error:
        msg = f"ratios {ratios}: give 0 <= low <= ratio <= high, such as 1.10 1.12 1.14"
        raise UsageError(msg) from error
    if not 1 / MAX_RATIO <= ratios[1] <= MAX_RATIO:
        msg = (
            f"the ratio {typed(ratios[1])} of {workload[:100]} says that a step takes more than "
            f"{MAX_RATIO:,} times as long or as short as before: give head / base of the same "
            "work, both in one unit such as seconds"
        )
        raise UsageError(msg)
    registered = () if is_whole_entry else None
    view = price((change,), pricing, today=today, sheet=sheet, registered=registered)
    return replace(view, is_device_assumed=not measured_on)


def registered_workloads(bundle: Bundle) -> tuple[str, ...]:
    """Return all workloads that the head registers, measured or not."""
    return (*(spec.id for spec in bundle.workloads), *bundle.skipped, *bundle.unchosen)


def unmeasured_workloads(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return the workloads whose step time was planned but not measured."""
    failed = (failure.workload for failure in bundle.failures)
    timed = {
        verdict.workload
        for verdict in verdicts
        if verdict.metric.name == STEP_TIME.name and verdict.estimate is not None
    }
    silent = (verdict.workload for verdict in verdicts if verdict.workload not in timed)
    return tuple(
        dict.fromkeys(name for name in (*failed, *silent) if name not in bundle.new_workloads)
    )


def conclude_check(
    ending: CheckConclusion, evaluations: Sequence[PolicyEvaluation]
) -> CheckConclusion:
    """Return a check's conclusion after the policies, which can only make it stricter."""
    outcomes = {evaluation.outcome for evaluation in evaluations}
    if PolicyOutcome.FAILS in outcomes:
        is_worse = ending.exit_code in {ExitCode.OK, ExitCode.UNCERTAIN}
        code = ExitCode.REGRESSION if is_worse else ending.exit_code
        return CheckConclusion(Conclusion.FAILURE, code, OVER_LIMIT if is_worse else ending.title)
    is_open = ending.conclusion in {Conclusion.SUCCESS, Conclusion.NEUTRAL}
    if PolicyOutcome.NEEDS_APPROVAL in outcomes and is_open:
        return CheckConclusion(Conclusion.ACTION_REQUIRED, ExitCode.UNCERTAIN, APPROVAL)
    if PolicyOutcome.APPROVED in outcomes and is_open:
        return CheckConclusion(
            ending.conclusion, ending.exit_code, f"{ending.title}{APPROVED_SUFFIX}"
        )
    return ending


def device_model(machine: Machine) -> str:
    """Return the device's name, or the CPU's without an accelerator."""
    return machine.cpu_model if machine.device is Device.CPU else machine.model


def _growth(workload: str, machine: Machine, verdicts: Sequence[Verdict]) -> MemoryGrowth | None:
    """Return the growth of a device's peak memory; None on a CPU, whose peak is the process's."""
    if machine.device is Device.CPU:
        return None
    for verdict in verdicts:
        is_it = (verdict.workload, verdict.metric.name) == (workload, PEAK_MEMORY.name)
        if is_it and verdict.outcome is Outcome.REGRESSED and verdict.estimate is not None:
            estimate = verdict.estimate
            low, middle, high = (
                estimate.base * (1 + end) for end in (estimate.low, estimate.change, estimate.high)
            )
            return MemoryGrowth(estimate.base, (low, middle, high))
    return None
