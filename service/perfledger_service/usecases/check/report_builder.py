"""Builds the report of a bundle: verdicts, explanations and prices."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from perfledger.bundle import Bundle
from perfledger.metrics import PEAK_MEMORY
from perfledger.records import Side
from perfledger_baselines.estimation.interleaving import interleaved_difference
from perfledger_baselines.estimation.pairing import RunPairs
from perfledger_baselines.estimation.work_counts import work_comparisons
from perfledger_baselines.judging.judge import is_trade, judgement_of
from perfledger_baselines.judging.variant_ranking import variant_rankings
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.judging.work_limits import LimitOutcome, limits_of
from perfledger_baselines.planning.sample_size import pairs_for_margin
from perfledger_baselines.significance.spread_prior import Priors
from perfledger_cost_models.change_price.cost_policy import Approval
from perfledger_cost_models.quote import UnitCost
from perfledger_cost_models.tco.hourly_rates import standard_rates
from perfledger_cost_models.tco.unit_cost import unit_costs
from perfledger_service.rendering.check.headline import headline
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.layout.variant_sentences import (
    ranking_sentences,
    remark_sentences,
)
from perfledger_service.usecases.check.report_notes import history_notes, report_notes
from perfledger_service.usecases.check.step_count import beginnings, process_steps
from perfledger_service.usecases.cost.change import (
    CheckConclusion,
    conclude_check,
    device_model,
    measured_changes,
    price,
    registered_workloads,
    unmeasured_workloads,
)
from perfledger_service.usecases.cost.price_of_check import cost_of_check
from perfledger_service.usecases.cost.projection import project_bundle
from perfledger_service.usecases.cost.work_rates import throughput, work_rates
from perfledger_service.usecases.inputs.price_books import current_sheet
from perfledger_service.usecases.trace.explain import explain_bundle
from perfledger_service.values.check_options import CheckOptions, TimeBudget
from perfledger_service.values.report import Conclusion, ExitCode, Report


def build_report(
    bundle: Bundle,
    *,
    today: date,
    is_local: bool,
    priors: Priors | None = None,
    approvals: Sequence[Approval] = (),
) -> Report:
    """Judge, explain and price what a bundle holds; only a declared fleet or throughput is priced.

    The runner and the service get the same verdicts from the same bundle: judging reads only the
    bundle and `priors`, the spreads learnt from earlier checks (by default those in the bundle).
    `today` only affects the warnings about old prices. `approvals` of the head's cost are oldest
    first.
    """
    judgement = judgement_of(bundle, priors=priors)
    verdicts = judgement.verdicts
    cost = price(
        measured_changes(bundle, verdicts),
        bundle.pricing,
        today=today,
        registered=registered_workloads(bundle),
        unmeasured=unmeasured_workloads(bundle, verdicts),
        approvals=approvals,
    )
    measured = conclude_verdicts(bundle, verdicts)
    ending = conclude_check(measured, cost.policy_evaluations)
    explanations, advice = explain_bundle(bundle, verdicts)
    failures = bundle.failures + judgement.failures
    rankings = variant_rankings(bundle, failed={each.workload for each in failures})
    is_priced = bool(bundle.pricing.fleet or bundle.pricing.declared)
    report = Report(
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
        tests=judgement.tests,
        kernels=judgement.kernels,
        failures=failures,
        variants=rankings,
        new_workloads=bundle.new_workloads,
        skipped=tuple(bundle.skipped.items()),
        same_code=bundle.same_code,
        limits=limits_of(bundle),
        code_differences=tuple(bundle.code_differences.items()),
        explanations=explanations,
        advice=advice,
        unit_costs=_unit_costs(bundle, today=today) if is_priced else (),
        change_prices=cost.prices.prices if is_priced else (),
        total_price=cost.prices.total,
        queues=cost.prices.queues,
        policy_evaluations=cost.policy_evaluations,
        conclusion=ending.conclusion,
        exit_code=ending.exit_code,
        title=ending.title,
        headline="",
        work=work_rates(bundle, verdicts),
        projections=project_bundle(bundle, today=today) if is_priced else (),
        pairs_needed=pairs_for_margin(judgement),
        steps=process_steps(judgement.runs, beginnings(bundle)),
        interleaved_workloads=_interleaved_workloads(judgement.runs),
        work_counts=work_comparisons(bundle),
        notes=(
            *ranking_sentences(rankings),
            *remark_sentences(bundle),
            *bundle.notes,
            *report_notes(bundle, verdicts),
            *history_notes(bundle, judgement.tests, priors),
        ),
        host_findings=bundle.host_findings,
        is_local=is_local,
        laid_over=bundle.laid_over,
        options=CheckOptions.of_bundle(bundle),
        budget=TimeBudget.of_settings(bundle.settings),
        held_s=bundle.held_s,
        pair_seconds=bundle.pair_seconds,
        check_cost=cost_of_check(bundle, today=today),
    )
    words = headline(report)
    is_by_policy = ending.title != measured.title
    return replace(report, headline=f"{ending.title}: {words}" if is_by_policy else words)


def conclude_verdicts(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> CheckConclusion:
    """Return the check's conclusion: it fails closed, and a regression outranks uncertainty."""
    outcomes, title = _deciding_outcomes(verdicts), _title(bundle, verdicts)
    if Outcome.REGRESSED in outcomes or _is_above_limit(bundle):
        return CheckConclusion(Conclusion.FAILURE, ExitCode.REGRESSION, title)
    if Outcome.NOT_MEASURED in outcomes or _measured_nothing(bundle, verdicts):
        return CheckConclusion(Conclusion.FAILURE, ExitCode.UNCERTAIN, title)
    if Outcome.UNDECIDED in outcomes:
        conclusion = Conclusion(bundle.undecided)
        code = ExitCode.OK if conclusion is Conclusion.NEUTRAL else ExitCode.UNCERTAIN
        return CheckConclusion(conclusion, code, title)
    is_quiet = _is_first_use(bundle, verdicts) or _is_all_same_code(bundle, verdicts)
    if is_quiet or bundle.is_imported:
        return CheckConclusion(Conclusion.NEUTRAL, ExitCode.OK, title)
    if _is_all_new(bundle, verdicts):
        return CheckConclusion(Conclusion.FAILURE, ExitCode.UNCERTAIN, title)
    return CheckConclusion(Conclusion.SUCCESS, ExitCode.OK, title)


def _is_above_limit(bundle: Bundle) -> bool:
    return any(each.outcome is LimitOutcome.EXCEEDED for each in limits_of(bundle))


def _deciding_outcomes(verdicts: tuple[Verdict, ...]) -> frozenset[Outcome]:
    """Return the outcomes that decide the check: trades and warnings do not count."""
    return frozenset(
        verdict.outcome
        for verdict in verdicts
        if not (verdict.is_warning or is_trade(verdict, verdicts))
    )


def _measured_nothing(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> bool:
    return not (verdicts or bundle.new_workloads or bundle.same_code or bundle.is_imported)


def _is_all_same_code(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> bool:
    """Return whether all comparable workloads run the same code, so that nothing was timed."""
    return bool(bundle.same_code) and not verdicts


def _is_all_new(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> bool:
    return bool(bundle.new_workloads) and not verdicts


def _is_first_use(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> bool:
    """Return whether base is known to have neither a configuration nor workloads."""
    is_bare = bundle.base_configuration == "" and not bundle.other_base_workloads
    return is_bare and _is_all_new(bundle, verdicts)


def _title(bundle: Bundle, verdicts: tuple[Verdict, ...]) -> str:
    if _is_above_limit(bundle):
        return "Above a limit on the work of a step"
    if not verdicts:
        return _title_without_verdicts(bundle)
    outcomes = _deciding_outcomes(verdicts)
    if any(verdict.is_warning for verdict in verdicts):
        quiet = "No regression, but look at the warning"
    elif Outcome.IMPROVED in outcomes:
        quiet = f"{_subject(Outcome.IMPROVED, verdicts)} improved"
    else:
        quiet = "Performance unchanged"
    loud = {
        Outcome.REGRESSED: f"{_subject(Outcome.REGRESSED, verdicts)} regressed",
        Outcome.NOT_MEASURED: "Not measured",
        Outcome.UNDECIDED: "Undecided",
    }
    return next((title for outcome, title in loud.items() if outcome in outcomes), quiet)


def _subject(outcome: Outcome, verdicts: tuple[Verdict, ...]) -> str:
    """Return the workloads with this outcome; peak memory alone is not performance."""
    names = {
        verdict.metric.name
        for verdict in verdicts
        if verdict.outcome is outcome and not verdict.is_warning and not is_trade(verdict, verdicts)
    }
    return "Peak memory" if names == {PEAK_MEMORY.name} else "Performance"


def _title_without_verdicts(bundle: Bundle) -> str:
    if bundle.is_imported:
        return f"Imported from {bundle.machine.model}"
    if _is_all_same_code(bundle, ()):
        return "Same code: nothing was measured"
    if not bundle.new_workloads:
        return "Not measured"
    if _is_first_use(bundle, ()):
        number = len(bundle.new_workloads)
        return f"Nothing to compare yet: {quantity(number, 'new workload')}"
    return "Nothing to compare"


def _unit_costs(bundle: Bundle, *, today: date) -> tuple[UnitCost, ...]:
    rates = standard_rates(current_sheet(today=today), today=today)
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


def _interleaved_workloads(runs: RunPairs) -> tuple[str, ...]:
    return tuple(
        workload
        for workload, pairs in runs.items()
        if any(interleaved_difference(*pair) is not None for pair in pairs)
    )
