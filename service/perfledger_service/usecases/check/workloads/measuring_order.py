"""Decides which workloads are measured first if the budget is too short for all."""

from collections.abc import Sequence
from pathlib import Path

from perfledger.protocol import ChildRequest
from perfledger.records import WorkloadSpec
from perfledger.rounding import integer
from perfledger.stopping_rule import StoppingRule
from perfledger_runners.checkouts.source_tree import first_few
from perfledger_runners.measuring.rounds.admission import has_time_for, least_pair_s
from perfledger_runners.measuring.rounds.changed_calls import (
    NO_CALLS,
    ChangedCalls,
    changed_functions,
    find_changed_calls,
)
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.usecases.check.checkouts import CheckProgress, CheckSite


def find_first_workloads(
    site: CheckSite,
    request: ChildRequest,
    workloads: Sequence[WorkloadSpec],
    rule: StoppingRule,
    *,
    progress: CheckProgress,
) -> ChangedCalls:
    """Return the workloads that call functions which head changed; none if all have time.

    `request` is head's. This decides an order and nothing else: no workload is left out for it, and
    no verdict depends on it.
    """
    harness, sides = site.harness, site.sides
    if len(workloads) == 1 or has_time_for(
        len(workloads),
        fewest=rule.fewest_pairs(),
        least_pair_s=least_pair_s(request),
        seconds_left=harness.seconds_left(),
    ):
        return NO_CALLS
    functions = changed_functions(
        site.repository.root,
        sides.base.sha,
        sides.head.sha,
        site.code.origin.changed,
        checkout=Path(request.root),
    )
    if not functions:
        return NO_CALLS
    progress.stage("finding the workloads that call changed functions")
    return find_changed_calls(harness, request, workloads, functions)


def order_notes(calls: ChangedCalls) -> tuple[str, ...]:
    """Return the note on which workloads began first, and how that is known."""
    if not calls.workloads:
        return ()
    where = f"that changed in {first_few(calls.files)}"
    number, open_count = len(calls.answers), len(calls.workloads) - len(calls.answers)
    end = f"; of {quantity(open_count, 'other')} it is not known" if open_count else ""
    if calls.probable:
        end += f", and {integer(len(calls.probable))} of these, of the same benchmarks, began next"
    many = quantity(number, "workload")
    if not number:
        note = (
            f"which steps call functions {where} is not known: their workloads began in the order "
            "of the suite"
        )
    elif not calls.callers:
        note = (
            f"no step of {many} was seen to call a function {where}: they began in the order of "
            f"the suite{end}"
        )
    else:
        note = (
            f"the budget is short: {integer(len(calls.callers))} of {many}, of which a step calls "
            f"functions {where}, began before the others{end}"
        )
    return (note,)
