"""Writes a report as JSON: stable keys, plain numbers, money as decimal strings.

Keys are only ever added; removing one or changing its meaning raises REPORT_VERSION. The keys are
documented in the README beside the templates. Unknown values are null, never zero or NaN.
"""

import json

from perfledger.bundle import Plan
from perfledger_baselines.estimation.work_counts import WorkComparison
from perfledger_baselines.judging.explanation import explain_verdict
from perfledger_baselines.judging.kernel_judgement import KernelJudgement
from perfledger_baselines.judging.variant_ranking import SideRanking, VariantRanking
from perfledger_baselines.judging.verdict import Verdict
from perfledger_baselines.judging.work_limits import JudgedLimit
from perfledger_cost_models.quote import UnitCost
from perfledger_service.rendering.cost.change_json import (
    Record,
    change_price_record,
    policy_evaluation_records,
    queue_records,
    rate_record,
    summed_price_record,
)
from perfledger_service.rendering.cost.project import projection_document
from perfledger_service.rendering.layout.document import attributes, field_names
from perfledger_service.rendering.layout.writers import json_values, plain_value
from perfledger_service.rendering.trace.profile_json import explanation_record, roof_record
from perfledger_service.values.report import Report, WorkRate

# 1: first version. 2: `prior`, `expected_outcome`, `work_counts`; costs apart from `projections`.
REPORT_VERSION = 2
REPORT_FORMAT = "perfledger-report"


def report_json(report: Report, *, url: str = "") -> str:
    """Return the report as one indented JSON document."""
    document = {
        "format": REPORT_FORMAT,
        "version": REPORT_VERSION,
        "id": report.bundle_id,
        **attributes(report, "created_at", "repository", "pull_request"),
        "url": url,
        **attributes(report, "is_local", "conclusion", "exit_code", "title", "headline"),
        **attributes(report, "base", "head", "machine"),
        "plan": _plan(report.plan),
        "workloads": report.workloads,
        "verdicts": [_verdict(verdict, report.plan) for verdict in report.verdicts],
        "kernels": [_kernels(judgement) for judgement in report.kernels],
        **attributes(report, "failures", "new_workloads"),
        "skipped": [{"workload": name, "reason": why} for name, why in report.skipped],
        "same_code": report.same_code,
        "code_differences": [
            {"workload": name, "reason": why} for name, why in report.code_differences
        ],
        "limits": [_limit(judged) for judged in report.limits],
        "explanations": [explanation_record(explanation) for explanation in report.explanations],
        "advice": [
            attributes(one, "workload", "recommendations") | {"roof": roof_record(one.roof)}
            for one in report.advice
        ],
        "unit_costs": [_unit_cost(cost) for cost in report.unit_costs],
        "change_prices": [change_price_record(price) for price in report.change_prices],
        "total_price": summed_price_record(report.total_price),
        "queues": queue_records(report.queues),
        "policies": policy_evaluation_records(report.policy_evaluations),
        "projections": [
            json_values(projection_document(view, is_part=True)) for view in report.projections
        ],
        "power": report.pairs_needed,
        "steps": report.steps,
        "work": [_work(rate) for rate in report.work],
        "variants": [_ranking(ranking) for ranking in report.variants],
        "work_counts": [_work_comparison(comparison) for comparison in report.work_counts],
        **attributes(report, "notes", "laid_over", "host_findings"),
    }
    return json.dumps(plain_value(document), indent=2, allow_nan=False)


def _plan(plan: Plan) -> Record:
    names = ("seed", "order", "looks", "alpha", "margin", "floor", "margins", "metrics")
    return attributes(plan, *names, "kernel_pairs", "kernel_share")


def _verdict(verdict: Verdict, plan: Plan) -> Record:
    why = explain_verdict(verdict, plan)
    estimate = verdict.shown_estimate
    prior = why.prior and attributes(why.prior, "source", "values", "variance", "degrees")
    return {
        **attributes(verdict, "workload", "metric", "outcome", "is_warning", "adjusted_p"),
        **attributes(verdict, "estimate", "reason"),
        "displayed_change": estimate
        and {
            **attributes(estimate, "change", "low", "high"),
            **attributes(verdict, "excludes_waits"),
        },
        **attributes(why, "decided_by", "pairs_needed", "expected_outcome"),
        "prior": prior,
        "states": verdict.states,
        "queued_share": verdict.queued_share,
    }


def _kernels(judgement: KernelJudgement) -> Record:
    names = ("workload", "outcome", "reason", "pairs", "families", "step_seconds")
    return attributes(
        judgement,
        *names,
        "detectable",
        "largest_change",
        "step_detectable",
        "common_change",
        "moved_bounds",
        "findings",
        "tested",
    )


def _limit(judged: JudgedLimit) -> Record:
    names = ("workload", "outcome", "unit", "base", "head", "threshold", "reason")
    return {"limit": judged.limit.text, **attributes(judged, *names)}


def _unit_cost(cost: UnitCost) -> Record:
    return {
        "workload": cost.workload,
        "unit": cost.unit,
        "rate": rate_record(cost.rate),
        "provenance": cost.provenance,
        "usd_per_million": cost.usd,
        "low": cost.low,
        "high": cost.high,
        "reason": cost.reason,
    }


def _work(rate: WorkRate) -> Record:
    return attributes(rate, *field_names(WorkRate), "base_share", "head_share")


def _ranking(ranking: VariantRanking) -> Record:
    return {
        **attributes(ranking, "workload", "has_changed", "unmeasured"),
        "left_out": [{"variant": name, "reason": why} for name, why in ranking.left_out.items()],
        "base": _side_ranking(ranking.base),
        "head": _side_ranking(ranking.head),
    }


def _side_ranking(side: SideRanking | None) -> Record | None:
    return None if side is None else attributes(side, "fastest", "first", "comparisons")


def _work_comparison(comparison: WorkComparison) -> Record:
    count_names = ("name", "unit", "base", "head", "change", "source")
    completeness = ("base_is_complete", "head_is_complete")
    return {
        **attributes(comparison, "workload", "is_same_program"),
        "counts": [attributes(count, *count_names, *completeness) for count in comparison.counts],
        "limits": comparison.limits,
    }
