"""Ends a check before any timing where the work of a step exceeds a limit."""

from collections.abc import Sequence

from perfledger.records import Machine
from perfledger.step_work import CountedWork
from perfledger.work_limit import parse_work_limit
from perfledger_baselines.judging.work_limits import LimitOutcome, judge_work_limits
from perfledger_service.usecases.check.workloads.plan import WorkloadPlan


def stop_over_limits(
    plan: WorkloadPlan, limits: Sequence[str], work: Sequence[CountedWork], machine: Machine
) -> WorkloadPlan:
    """Return the plan, without anything to measure if a workload exceeds one of the limits."""
    names = [spec.id for spec in plan.to_measure]
    parsed_limits = map(parse_work_limit, limits)
    judged = judge_work_limits(parsed_limits, work, names, device_bytes=machine.memory_bytes)
    if any(each.outcome is LimitOutcome.EXCEEDED for each in judged):
        return plan.without_timing()
    return plan
