"""Skips the workloads of a check whose code is the same on both sides."""

from dataclasses import replace

from perfledger.records import Device, Side
from perfledger_runners.measuring.discovery import Discovery
from perfledger_runners.measuring.same_code import (
    CodeWatch,
    code_differences,
    shared_doubt,
    watch_code,
)
from perfledger_service.usecases.check.checkouts import CheckSite
from perfledger_service.usecases.check.child_requests import requests_for_device
from perfledger_service.usecases.check.journal import CheckJournal
from perfledger_service.usecases.check.side_code import SideCode
from perfledger_service.usecases.check.workloads.plan import WorkloadPlan

OTHER_DEFINITION = "base registers it in another way"


def begin_watch(site: CheckSite) -> tuple[CodeWatch | None, SideCode]:
    """Begin to watch the code that head runs; return the watch, and the code to list workloads of.

    There is no watch if every workload is measured, as in a check of a commit against itself, which
    is run to see the noise.
    """
    code, requests = site.code, site.requests
    if not site.configuration.settings.skip or site.sides.base.sha == site.sides.head.sha:
        return None, code
    watch = watch_code(site.harness, requests[Side.BASE], requests[Side.HEAD])
    watched = {**requests, Side.HEAD: watch.request(requests[Side.HEAD])}
    return watch, replace(code, requests=watched)


def without_same_code(
    plan: WorkloadPlan,
    site: CheckSite,
    watch: CodeWatch | None,
    discoveries: tuple[Discovery, Discovery],
    *,
    device: Device,
    journal: CheckJournal | None,
) -> WorkloadPlan:
    """Return the plan without the workloads that run the same code on both sides.

    Those that an interrupted check has begun to measure stay.
    """
    resumed = journal.resumed if journal is not None else None
    measured = resumed.workloads if resumed is not None else ()
    specs = tuple(spec for spec in plan.to_measure if spec.id not in measured)
    if watch is None or not specs:
        return plan
    base, head = discoveries
    if doubt := shared_doubt(watch, site.code.origin, base, head):
        return plan.without_same_code({spec.id: doubt for spec in specs})
    before = {spec.id: spec for spec in base.workloads}
    differences = {spec.id: OTHER_DEFINITION for spec in specs if before.get(spec.id) != spec}
    candidates = tuple(spec for spec in specs if spec.id not in differences)
    if candidates:
        differences |= code_differences(
            watch,
            site.harness,
            requests_for_device(site.requests, device)[Side.HEAD],
            candidates,
            check_run=site.code.origin.failure,
        )
    return plan.without_same_code(differences)
