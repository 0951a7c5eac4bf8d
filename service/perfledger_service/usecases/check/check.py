"""Checks a change: measures, judges, explains and prices it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from perfledger.bundle import Bundle, StartOptions
from perfledger.protocol import BenchmarkSuite
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.bundles.option_checks import MAX_OPTIONS
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.workload_overlay import find_workload_source
from perfledger_runners.machine.core_reservation import CoreReservation
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_service.settings.check import ENV_PREFIX
from perfledger_service.settings.validation import is_showable
from perfledger_service.usecases.check.announce import announced_progress, announcement_notes
from perfledger_service.usecases.check.checkouts import CheckProgress, check_out_revisions
from perfledger_service.usecases.check.journal import open_check_journal
from perfledger_service.usecases.check.measurement import CheckRequest, measure_change
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.check.revisions import (
    CheckConfiguration,
    configuration_from,
    configuration_of,
    resolve_revisions,
    start_at_workloads,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from perfledger_service.values.report import Report


def check(
    folder: Path,
    request: CheckRequest,
    *,
    flags: Mapping[str, object],
    progress: CheckProgress,
    service: UploadTarget | None = None,
    history: UploadTarget | Path | None = None,
    keep: Callable[[Bundle], object] = lambda _: None,
) -> tuple[Bundle, Report]:
    """Measure, judge, explain and price a change of the repository that `folder` is in.

    A pull request's check is announced to `service`. `history` is the service that knows the spread
    of earlier pairs, or a file with its answer; with it, fewer pairs are enough. `keep` receives
    the bundle before the saved pairs are removed. Raises UsageError for revisions that cannot be
    compared or resumed, SettingsError, and NotMeasuredError without a Python that can run the
    workloads. A workload that fails is a verdict, never an error.
    """
    with translate_errors():
        repository = Repository.open(folder)
        sides = resolve_revisions(repository, base=request.base, head=request.head)
        if request.workloads_from:
            source = find_workload_source(repository, request.workloads_from, folder=folder)
            configuration = configuration_from(repository, source, sides, flags=flags)
        else:
            configuration = configuration_of(repository, sides, flags=flags)
            # Other tools' benchmarks predate the first use of perfledger, so base has them too.
            is_own_suite = configuration.settings.suite == BenchmarkSuite.PERFLEDGER.value
            if is_own_suite and not request.base:
                sides = start_at_workloads(repository, sides)
                configuration = configuration_of(repository, sides, flags=flags)
        announcement = announcement_notes(
            service, sides, configuration.settings, pull_request=request.pull_request
        )
        settings = configuration.settings
        locks = DeviceLocks(folder=settings.lock_folder, waiting=progress.stage)
        with (
            announced_progress(
                service, sides, settings, progress, pull_request=request.pull_request
            ) as announced,
            locks,
            CoreReservation(
                settings.core_choice(is_stored=may_be_stored(request, service, history, os.environ))
            ) as cores,
            check_out_revisions(repository, sides, configuration, announced) as site,
            open_check_journal(
                site,
                choice=request.choice,
                is_resumed=request.is_resumed,
                environment=os.environ,
            ) as journal,
        ):
            bundle = measure_change(
                site,
                request,
                announced,
                locks=locks,
                cores=cores,
                history=history,
                journal=journal,
                machine_known=announced.measure_on,
            )
            bundle = replace(
                bundle,
                repository=request.repository or repository.origin_name(),
                notes=configuration.notes + announcement + site.notes + bundle.notes,
                options=start_options(request, configuration, history=history),
            )
            if request.is_resumed:
                bundle = read_bundle(bundle.to_json().encode())  # saved data may be hostile
            announced.stage("judging, explaining and pricing")
            report = build_report(bundle, today=datetime.now(UTC).date(), is_local=True)
            keep(bundle)
            journal.remove()
        return bundle, report


def start_options(
    request: CheckRequest,
    configuration: CheckConfiguration,
    *,
    history: UploadTarget | Path | None,
) -> StartOptions:
    """Return the options that a repeated check needs to measure the same.

    What a bundle must not or cannot hold is named only: passwords in addresses, and values that are
    long or of several lines.
    """
    settings = dict(configuration.shown_settings())
    if request.device:
        settings["device"] = request.device
    patterns = request.choice.globs
    spreads = str(history) if isinstance(history, Path) else ""
    has_patterns = len(patterns) <= MAX_OPTIONS and all(map(is_showable, patterns))
    unshown = [
        f"{ENV_PREFIX}{name.upper()}"
        for name in configuration.start_settings
        if name not in settings
    ]
    unshown += ["--workload"] * (not has_patterns)
    unshown += ["--spreads"] * (not is_showable(spreads))
    return StartOptions(
        workloads=patterns if has_patterns else (),
        expression=" ".join(request.choice.expression.split()),
        spreads=spreads if is_showable(spreads) else "",
        settings=settings,
        unshown=tuple(unshown),
    )


def may_be_stored(
    request: CheckRequest,
    service: UploadTarget | None,
    history: UploadTarget | Path | None,
    environment: Mapping[str, str],
) -> bool:
    """Return whether a service may receive the result; False if the check was started by hand.

    Workflows and runners upload the bundle in a separate step, which the check does not see.
    """
    is_known = service is not None or history is not None
    is_of_pull_request = bool(request.repository) or request.pull_request is not None
    return is_known or is_of_pull_request or bool(environment.get("CI"))
