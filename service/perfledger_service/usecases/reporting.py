"""A bundle in, the report out: judged, explained and priced by the pure parts."""

from collections import Counter
from datetime import date

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger_baselines.counted import compared_work
from perfledger_baselines.judge import is_trade, judge_bundle
from perfledger_baselines.prior import Priors
from perfledger_baselines.typical import typical_range
from perfledger_baselines.verdict import Outcome, Verdict
from perfledger_cost_models.accelerator import accelerator_of
from perfledger_cost_models.change import price_of_change
from perfledger_cost_models.quote import ChangePrice, UnitCost
from perfledger_cost_models.rates import standard_rates
from perfledger_cost_models.sheet import packaged_sheet
from perfledger_cost_models.unit_cost import unit_costs
from perfledger_service.report import Conclusion, ExitCode, Report
from perfledger_service.usecases.explaining import explain_bundle
from perfledger_service.usecases.work_rates import work_rates

WARNING = "warning"


def report_on(
    bundle: Bundle, *, today: date, is_local: bool, priors: Priors | None = None
) -> Report:
    """Judge, explain and price what a bundle holds.

    The runner and the service call this with the same bundle and get the same verdicts: judging
    reads nothing but the bundle and `priors`, what earlier checks told of its spreads. By default
    that is what the bundle says that its stopping knew. `today` only dates the warnings about old
    prices.
    """
    verdicts = judge_bundle(bundle, priors=priors)
    conclusion, exit_code = _conclusion(bundle, verdicts)
    title = _title(bundle, verdicts)
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
        change_prices=_change_prices(bundle, verdicts, today=today),
        conclusion=conclusion,
        exit_code=exit_code,
        title=title,
        headline=f"{title}: {_counts(bundle, verdicts)}",
        work=work_rates(bundle, verdicts),
        counted=compared_work(bundle),
        notes=bundle.notes + _elsewhere(bundle),
        is_local=is_local,
    )


def _conclusion(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> tuple[Conclusion, ExitCode]:
    """Return how the check ends: fail closed, a regression before what is uncertain."""
    outcomes = _counting(verdicts)
    if Outcome.REGRESSED in outcomes:
        return Conclusion.FAILURE, ExitCode.REGRESSION
    if Outcome.NOT_MEASURED in outcomes or _measured_nothing(bundle, verdicts):
        return Conclusion.FAILURE, ExitCode.UNCERTAIN
    if Outcome.UNDECIDED in outcomes:
        return Conclusion(bundle.undecided), ExitCode.UNCERTAIN
    return Conclusion.SUCCESS, ExitCode.OK


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
    rates = standard_rates(packaged_sheet(), today=today)
    machines = bundle.machines()
    costs: list[UnitCost] = []
    for spec in bundle.workloads:
        machine = machines.get((spec.id, Side.HEAD), bundle.machine)
        costs.extend(
            unit_costs(
                spec=spec,
                units_per_second=throughput(bundle, spec, devices=machine.count),
                device_model=_device_model(machine),
                device_memory_bytes=machine.memory_bytes,
                declared=bundle.pricing.declared,
                rates=rates,
            )
        )
    return tuple(costs)


def throughput(
    bundle: Bundle, spec: WorkloadSpec, *, devices: int
) -> tuple[float, float, float] | None:
    """Return head's units of work per second of one device: low, typical, high."""
    runs = [run for run in bundle.runs if (run.workload, run.side) == (spec.id, Side.HEAD)]
    step = typical_range(runs, metric=STEP_TIME)
    if step is None:
        return None
    low, typical, high = (seconds * devices for seconds in step)
    return spec.units_per_step / high, spec.units_per_step / typical, spec.units_per_step / low


def _change_prices(
    bundle: Bundle, verdicts: tuple[Verdict, ...], *, today: date
) -> tuple[ChangePrice, ...]:
    prices: list[ChangePrice] = []
    machines = bundle.machines()
    for verdict in verdicts:
        if verdict.metric.name != STEP_TIME.name or verdict.estimate is None:
            continue
        estimate = verdict.estimate
        machine = machines[verdict.workload, Side.HEAD]
        model = _device_model(machine)
        prices.extend(
            price_of_change(
                workload=verdict.workload,
                change=(estimate.low, estimate.change, estimate.high),
                fleet=bundle.pricing.fleet,
                sheet=packaged_sheet(),
                today=today,
                measured_on=accelerator_of(model, machine.memory_bytes) or model,
            )
        )
    return tuple(prices)


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


def _device_model(machine: Machine) -> str:
    """Return the device's own name, or the CPU's where no accelerator was measured."""
    return machine.cpu_model if machine.device is Device.CPU else machine.model
