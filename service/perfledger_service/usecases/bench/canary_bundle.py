"""Puts a machine's canaries into a bundle, which a service compares with others."""

import secrets
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from perfledger.bundle import Bundle, Plan
from perfledger.records import CanaryReading, Framework
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import NotMeasuredError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.values.doctor_views import CanaryView


def open_clone(folder: Path) -> Repository:
    """Return the repository that `folder` is in; raise UsageError for none, or without a commit."""
    with translate_errors():
        clone = Repository.open(folder)
        clone.resolve("HEAD")
    return clone


def canary_bundle(clone: Repository, view: CanaryView, *, repository: str = "") -> Bundle:
    """Return the bundle of canaries, dated by the commit that the repository has checked out.

    Those that ran on another device than the machine's, such as a data loader beside a GPU, say
    nothing about it and are left out. Raises NotMeasuredError where none is left.
    """
    canaries = tuple(
        CanaryReading(
            name=each.name,
            framework=Framework(each.framework),
            unit=each.unit,
            rates=each.rates,
            expected_per_second=each.expected_per_second,
        )
        for each in view.results
        if each.rates and each.device == view.machine.model
    )
    if not canaries:
        msg = f"not measured: no canary ran on {view.machine.model}, so there is no bundle"
        raise NotMeasuredError(msg)
    with translate_errors():
        commit = clone.resolve("HEAD")
    return Bundle(
        id=secrets.token_hex(16),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        base=commit,
        head=commit,
        machine=view.machine,
        plan=Plan(seed=0, order=(), looks=()),
        workloads=(),
        metrics=(),
        runs=(),
        repository=repository or clone.origin_name(),
        host_findings=view.findings,
        canaries=canaries,
        perfledger=version("perfledger"),
    )
