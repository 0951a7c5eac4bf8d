"""Writes a report as JSON: stable keys, plain numbers, money as decimal strings.

Keys are only ever added; a change that takes one away or gives it another meaning raises
REPORT_VERSION. What each key holds is in the README beside the templates. What is not known is
null: never zero, and never a number that is none.
"""

import json
from dataclasses import asdict

from perfledger.bundle import Plan
from perfledger.metrics import Metric
from perfledger.records import Failure, Machine, Revision, WorkloadSpec
from perfledger_baselines.estimation.work_counts import WorkComparison
from perfledger_baselines.judging.explanation import explain_verdict
from perfledger_baselines.judging.verdict import EffectEstimate, Verdict
from perfledger_baselines.significance.spread_prior import SpreadPrior
from perfledger_cost_models.quote import UnitCost
from perfledger_service.rendering.cost.change_json import (
    Json,
    change_price_document,
    joint_price_document,
    money,
    number,
    policy_evaluation_documents,
    queue_documents,
    rate_document,
)
from perfledger_service.rendering.cost.project import projection_document
from perfledger_service.rendering.layout.writers import json_values
from perfledger_service.rendering.trace.profile_json import (
    explanation_document,
    recommendation_documents,
    roof_document,
)
from perfledger_service.values.report import Report, WorkRate

# 1: first version.
REPORT_VERSION = 1
REPORT_FORMAT = "perfledger-report"


def report_json(report: Report, *, url: str = "") -> str:
    """Return the report as one indented JSON document."""
    document = {
        "format": REPORT_FORMAT,
        "version": REPORT_VERSION,
        "id": report.bundle_id,
        "created_at": report.created_at,
        "repository": report.repository,
        "pull_request": report.pull_request,
        "url": url,
        "is_local": report.is_local,
        "conclusion": str(report.conclusion),
        "exit_code": int(report.exit_code),
        "title": report.title,
        "headline": report.headline,
        "base": _revision(report.base),
        "head": _revision(report.head),
        "machine": _machine(report.machine),
        "plan": _plan(report.plan),
        "workloads": [_workload(spec) for spec in report.workloads],
        "verdicts": [_verdict(verdict, report.plan) for verdict in report.verdicts],
        "failures": [_failure(failure) for failure in report.failures],
        "new_workloads": list(report.new_workloads),
        "skipped": [{"workload": name, "reason": why} for name, why in report.skipped],
        "explanations": [explanation_document(explanation) for explanation in report.explanations],
        "advice": [
            {
                "workload": one.workload,
                "recommendations": recommendation_documents(one.recommendations),
                "roof": None if one.roof is None else roof_document(one.roof),
            }
            for one in report.advice
        ],
        "unit_costs": [_unit_cost(cost) for cost in report.unit_costs],
        "change_prices": [change_price_document(price) for price in report.change_prices],
        "total_price": joint_price_document(report.total_price),
        "queues": queue_documents(report.queues),
        "policies": policy_evaluation_documents(report.policy_evaluations),
        "projections": [
            json_values(projection_document(view, is_part=True)) for view in report.projections
        ],
        "power": [
            asdict(needed) | {"change": number(needed.change)} for needed in report.pairs_needed
        ],
        "steps": [asdict(steps) for steps in report.steps],
        "work": [_work(rate) for rate in report.work],
        "counted": [_work_comparison(comparison) for comparison in report.work_counts],
        "notes": list(report.notes),
    }
    return json.dumps(document, indent=2, allow_nan=False)


def _work_comparison(comparison: WorkComparison) -> Json:
    return {
        "workload": comparison.workload,
        "is_same_program": comparison.is_same_program,
        "counts": [
            {
                "name": count.name,
                "unit": count.unit,
                "base": number(count.base),
                "head": number(count.head),
                "change": number(count.change),
                "source": count.source,
            }
            for count in comparison.counts
        ],
        "limits": list(comparison.limits),
    }


def _revision(revision: Revision) -> Json:
    return {
        "sha": revision.sha,
        "ref": revision.ref,
        "subject": revision.subject,
        "is_dirty": revision.is_dirty,
    }


def _machine(machine: Machine) -> Json:
    return {
        "device": str(machine.device),
        "model": machine.model,
        "count": machine.count,
        "uuid": machine.uuid,
        "memory_bytes": machine.memory_bytes,
        "driver": machine.driver,
        "runtime": machine.runtime,
        "clock_mhz": number(machine.clock_mhz),
        "is_clock_locked": machine.is_clock_locked,
        "power_cap_w": number(machine.power_cap_w),
        "has_ecc": machine.has_ecc,
        "mig": machine.mig,
        "topology": machine.topology,
        "cpu_model": machine.cpu_model,
        "cores": machine.cores,
        "governor": machine.governor,
        "kernel": machine.kernel,
        "python": machine.python,
        "frameworks": dict(machine.frameworks),
    }


def _plan(plan: Plan) -> Json:
    return {
        "seed": plan.seed,
        "order": list(plan.order),
        "looks": list(plan.looks),
        "alpha": number(plan.alpha),
        "margin": number(plan.margin),
        "floor": number(plan.floor),
    }


def _workload(spec: WorkloadSpec) -> Json:
    return {
        "id": spec.id,
        "module": spec.module,
        "function": spec.function,
        "params": {
            name: number(value) if isinstance(value, float) else value
            for name, value in spec.params.items()
        },
        "unit": spec.unit,
        "units_per_step": number(spec.units_per_step),
        "device": spec.device,
        "framework": str(spec.framework),
    }


def _verdict(verdict: Verdict, plan: Plan) -> Json:
    why = explain_verdict(verdict, plan)
    return {
        "workload": verdict.workload,
        "metric": _metric(verdict.metric),
        "outcome": str(verdict.outcome),
        "is_warning": verdict.is_warning,
        "adjusted_p": number(verdict.adjusted_p),
        "estimate": None if verdict.estimate is None else _estimate(verdict.estimate),
        "reason": verdict.reason,
        "decided_by": str(why.decided_by),
        "pairs_needed": why.pairs_needed,
        "expected_outcome": None if why.expected_outcome is None else str(why.expected_outcome),
        "prior": None if why.prior is None else _spread(why.prior),
        "states": None if verdict.states is None else asdict(verdict.states),
    }


def _spread(prior: SpreadPrior) -> Json:
    return {
        "source": str(prior.source),
        "values": prior.values,
        "variance": number(prior.variance),
        "degrees": number(prior.degrees),
    }


def _metric(metric: Metric) -> Json:
    return {
        "name": metric.name,
        "unit": metric.unit,
        "worse": str(metric.worse),
        "kind": str(metric.kind),
        "scale": str(metric.scale),
    }


def _estimate(estimate: EffectEstimate) -> Json:
    return {
        "base": number(estimate.base),
        "head": number(estimate.head),
        "change": number(estimate.change),
        "low": number(estimate.low),
        "high": number(estimate.high),
        "narrow_low": number(estimate.narrow_low),
        "narrow_high": number(estimate.narrow_high),
        "pairs": estimate.pairs,
        "p_value": number(estimate.p_value),
        "smallest_detectable": number(estimate.smallest_detectable),
    }


def _failure(failure: Failure) -> Json:
    return {
        "workload": failure.workload,
        "side": str(failure.side),
        "why": str(failure.why),
        "detail": failure.detail,
        "pair": failure.pair,
        "log_tail": failure.log_tail,
    }


def _unit_cost(cost: UnitCost) -> Json:
    return {
        "workload": cost.workload,
        "unit": cost.unit,
        "rate": rate_document(cost.rate),
        "provenance": str(cost.provenance),
        "usd_per_million": money(cost.usd),
        "low": money(cost.low),
        "high": money(cost.high),
        "why": cost.reason,
    }


def _work(rate: WorkRate) -> Json:
    return {
        "workload": rate.workload,
        "base_flops": number(rate.base_flops),
        "head_flops": number(rate.head_flops),
        "base_flops_per_second": number(rate.base_flops_per_second),
        "head_flops_per_second": number(rate.head_flops_per_second),
        "peak_flops_per_second": number(rate.peak_flops_per_second),
        "base_share": number(rate.base_share),
        "head_share": number(rate.head_share),
    }
