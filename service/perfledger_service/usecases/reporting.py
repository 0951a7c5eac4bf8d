"""A bundle in, the report out: judged, explained and priced by the pure parts."""

from collections import Counter
from collections.abc import Sequence
from datetime import date

from perfledger.bundle import Bundle
from perfledger.records import Device, Side
from perfledger_baselines.counted import compared_work
from perfledger_baselines.judge import is_trade, judge_bundle
from perfledger_baselines.needed import pairs_needed_in
from perfledger_baselines.pairing import match_runs
from perfledger_baselines.prior import Priors
from perfledger_baselines.turns import difference_in_turns
from perfledger_baselines.verdict import Outcome, Verdict
from perfledger_cost_models.policy import Approval
from perfledger_cost_models.quote import UnitCost
from perfledger_cost_models.rates import standard_rates
from perfledger_cost_models.unit_cost import unit_costs
from perfledger_service.report import Conclusion, ExitCode, Report
from perfledger_service.usecases.elsewhere import projected_elsewhere
from perfledger_service.usecases.explaining import explain_bundle
from perfledger_service.usecases.price_books import current_sheet
from perfledger_service.usecases.pricing import (
    Ending,
    device_model,
    ended,
    measured_changes,
    price,
    unmeasured_workloads,
)
from perfledger_service.usecases.process_steps import process_steps
from perfledger_service.usecases.work_rates import throughput, work_rates

WARNING = "warning"


def report_on(
    bundle: Bundle,
    *,
    today: date,
    is_local: bool,
    priors: Priors | None = None,
    approvals: Sequence[Approval] = (),
) -> Report:
    """Judge, explain and price what a bundle holds.

    The runner and the service call this with the same bundle and get the same verdicts: judging
    reads nothing but the bundle and `priors`, what earlier checks told of its spreads. By default
    that is what the bundle says that its stopping knew. `today` only dates the warnings about old
    prices. `approvals` are what was said of what the head costs, oldest first.
    """
    verdicts = judge_bundle(bundle, priors=priors)
    cost = price(
        measured_changes(bundle, verdicts),
        bundle.pricing,
        today=today,
        unmeasured=unmeasured_workloads(bundle, verdicts),
        approvals=approvals,
    )
    ending = ended(_ending(bundle, verdicts), cost.rulings)
    explanations, advice = explain_bundle(bundle, verdicts)
    return Report(
        bundle_id=bundle.id,
        created_at=bundle.created_at,
        repository=bundle.repository,
        pull_request=bundle.pull_request,
        base=bundle.base,
        head=bundle.head,
        machine=bundle.machine,
        plan=bundle.plan,
        workloads=bundle.workloads,
        verdicts=verdicts,
        failures=bundle.failures,
        new_workloads=bundle.new_workloads,
        skipped=tuple(bundle.skipped.items()),
        explanations=explanations,
        advice=advice,
        unit_costs=_unit_costs(bundle, today=today),
        change_prices=cost.priced.prices,
        total_price=cost.priced.total,
        queues=cost.priced.queues,
        rulings=cost.rulings,
        conclusion=ending.conclusion,
        exit_code=ending.exit_code,
        title=ending.title,
        headline=f"{ending.title}: {_counts(bundle, verdicts)}",
        work=work_rates(bundle, verdicts),
        projections=projected_elsewhere(bundle, today=today),
        pairs_needed=pairs_needed_in(bundle, verdicts),
        steps=process_steps(bundle),
        in_turns=_in_turns(bundle),
        counted=compared_work(bundle),
        notes=bundle.notes + _elsewhere(bundle),
        is_local=is_local,
    )


def _ending(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> Ending:
    """Return how the check ends: fail closed, a regression before what is uncertain."""
    outcomes, title = _counting(verdicts), _title(bundle, verdicts)
    if Outcome.REGRESSED in outcomes:
        return Ending(Conclusion.FAILURE, ExitCode.REGRESSION, title)
    if Outcome.NOT_MEASURED in outcomes or _measured_nothing(bundle, verdicts):
        return Ending(Conclusion.FAILURE, ExitCode.UNCERTAIN, title)
    if Outcome.UNDECIDED in outcomes:
        return Ending(Conclusion(bundle.undecided), ExitCode.UNCERTAIN, title)
    return Ending(Conclusion.SUCCESS, ExitCode.OK, title)


def _counting(verdicts: tuple[Verdict, ...]) -> frozenset[Outcome]:
    """Return the outcomes that decide the check: a trade fails none, a warning holds none up."""
    return frozenset(
        verdict.outcome
        for verdict in verdicts
        if not (verdict.is_warning or is_trade(verdict, verdicts))
    )


def _measured_nothing(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> bool:
    return not (verdicts or bundle.new_workloads or bundle.skipped)


def _title(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> str:
    outcomes = _counting(verdicts)
    if Outcome.REGRESSED in outcomes:
        return "Performance regressed"
    if Outcome.NOT_MEASURED in outcomes or _measured_nothing(bundle, verdicts):
        return "Not measured"
    if Outcome.UNDECIDED in outcomes:
        return "Undecided"
    if any(verdict.is_warning for verdict in verdicts):
        return "No regression, but look at the warning"
    if Outcome.IMPROVED in outcomes:
        return "Performance improved"
    return "Performance unchanged" if verdicts else "Nothing to compare"


def _counts(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> str:
    """Say in how many workloads what was found; a workload counts by its worst verdict."""
    order = (
        str(Outcome.REGRESSED),
        str(Outcome.NOT_MEASURED),
        str(Outcome.UNDECIDED),
        WARNING,
        str(Outcome.IMPROVED),
        str(Outcome.UNCHANGED),
    )
    worst: dict[str, str] = {}
    for verdict in verdicts:
        if is_trade(verdict, verdicts):
            continue
        word = WARNING if verdict.is_warning else str(verdict.outcome)
        worst[verdict.workload] = min(worst.get(verdict.workload, word), word, key=order.index)
    counts = Counter(worst.values())
    parts = [_counted(counts[word], word) for word in order if counts[word]]
    if bundle.new_workloads:
        parts.append(f"{len(bundle.new_workloads)} new")
    if bundle.skipped:
        parts.append(f"{len(bundle.skipped)} skipped")
    total = len(worst) + len(bundle.new_workloads) + len(bundle.skipped)
    return f"{', '.join(parts) or 'none'} of {total} workload{'s' * (total != 1)}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (word == WARNING and number != 1)}"


def _unit_costs(bundle: Bundle, *, today: date) -> tuple[UnitCost, ...]:
    rates = standard_rates(current_sheet(), today=today)
    machines = bundle.machines()
    costs: list[UnitCost] = []
    for spec in bundle.workloads:
        machine = machines.get((spec.id, Side.HEAD), bundle.machine)
        costs.extend(
            unit_costs(
                spec=spec,
                units_per_second=throughput(bundle, spec, devices=machine.count),
                device_model=device_model(machine),
                device_memory_bytes=machine.memory_bytes,
                declared=bundle.pricing.declared,
                rates=rates,
            )
        )
    return tuple(costs)


def _in_turns(bundle: Bundle) -> tuple[str, ...]:
    return tuple(
        workload
        for workload, pairs in match_runs(bundle.runs).items()
        if any(difference_in_turns(*pair) is not None for pair in pairs)
    )


def _elsewhere(bundle: Bundle) -> tuple[str, ...]:
    """Say which workloads did not run on the device that the report names as the machine's."""
    kinds: dict[Device, set[str]] = {}
    for (workload, _), machine in bundle.machines().items():
        if machine.device is not bundle.machine.device:
            kinds.setdefault(machine.device, set()).add(workload)
    return tuple(
        f"measured on the {device}, not on the {bundle.machine.device}: {', '.join(sorted(names))}"
        for device, names in kinds.items()
    )
