"""Builds the report of an upload: judged, explained and priced once, then posted and shown.

`comment_and_check` posts it on the pull request; the web pages show it.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from threading import Lock
from typing import Protocol

from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger_baselines.judging.verdict import Verdict
from perfledger_baselines.significance.spread_prior import Priors
from perfledger_cost_models.change_price.cost_policy import Approval
from perfledger_runners.bundles.files import decode_bundle, unpack
from perfledger_service.errors import NotFoundError
from perfledger_service.store.comments.acceptances import acceptances_of
from perfledger_service.store.comments.approvals import approvals_of
from perfledger_service.store.heads.uploads import decided_head, uploads_of_head
from perfledger_service.store.uploads import (
    CheckedHead,
    StoredUpload,
    bundle_content,
    verdicts_of,
)
from perfledger_service.usecases.fleet.device import quarantine_sentence
from perfledger_service.usecases.history.gate_health import gate_notes
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.uploads.acceptances import apply_acceptances, is_within
from perfledger_service.usecases.uploads.spread_priors import priors_of_bundle
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.report import Conclusion, Report

# A delivery is judged, posted and shown within moments.
MAX_REPORTS = 4
# Bytes of JSON; parsed bundles take several times as much memory. The limit applies to bundles not
# judged yet, and separately to those of reports. A bundle of 2,000 series has 4 to 6 MB.
MAX_BUNDLE_BYTES = 2**23


class ReportBuilder(Protocol):
    """Function that judges, explains and prices a bundle, such as `build_report`."""

    def __call__(
        self,
        bundle: Bundle,
        *,
        today: date,
        is_local: bool,
        priors: Priors,
        approvals: Sequence[Approval] = (),
    ) -> Report:
        """Return a bundle's report, given its spread priors and approvals."""
        ...


class UploadReports:
    """Reports of uploads: each is built once, and reused while it is recent; safe across threads.

    An upload's report depends on its bundle, the day of its verdict, its approvals, and the spreads
    of the uploads before it. The spreads are fixed, because the bundle names the newest of those
    uploads. With `takes_commands`, comments reach the service and can accept a regression, and
    reports say how.
    """

    def __init__(self, build: ReportBuilder, *, takes_commands: bool = False) -> None:
        self._build = build
        self._takes_commands = takes_commands
        self._reports: OrderedDict[
            tuple[str, int, date, tuple[Approval, ...]], tuple[Report, Bundle, int]
        ] = OrderedDict()
        self._bundles: OrderedDict[str, tuple[Bundle, int]] = OrderedDict()
        self._lock = Lock()

    def expect(self, bundle: Bundle, *, sha256: str, unpacked_bytes: int) -> None:
        """Keep a bundle that was just received or read, so that it is not read again.

        `sha256` is that of its JSON, of `unpacked_bytes`. If all together are too large, the oldest
        are dropped and read again later.
        """
        with self._lock:
            self._bundles[sha256] = bundle, unpacked_bytes
            while sum(size for _, size in self._bundles.values()) > MAX_BUNDLE_BYTES:
                self._bundles.popitem(last=False)

    def bundle(self, session: Session, upload: StoredUpload) -> Bundle:
        """Return an upload's bundle, which is read once while it is asked for again and again."""
        sha256 = upload.bundle_sha256
        with self._lock:
            recent = self._bundles.get(sha256)
            if recent is not None:
                self._bundles.move_to_end(sha256)
                return recent[0]
        bundle, size = _read_bundle(session, upload)
        self.expect(bundle, sha256=sha256, unpacked_bytes=size)
        return bundle

    def judge(
        self, session: Session, upload: StoredUpload, *, today: date
    ) -> tuple[Report, Bundle]:
        """Judge an upload with the spread priors of the project's earlier uploads."""
        approvals = approvals_of(session, decided_head(session, upload), today=today)

        def priors(bundle: Bundle) -> Priors:
            return priors_of_bundle(session, upload.project_id, bundle)

        return self._report(session, upload, judged_on=today, approvals=approvals, priors=priors)

    def report(
        self, session: Session, upload: StoredUpload, *, today: date | None = None
    ) -> tuple[Report, Bundle]:
        """Return the report on a judged upload, with the verdicts that were stored with it.

        If it is no longer in memory, everything else (causes, prices as of the day of the verdict)
        is computed again with the stored spread priors. Approvals count as of `today`, by default
        the day of the verdict; they change the conclusion, but never a failure. Acceptances of
        regressions can change a failure, too. Raises NotFoundError for an upload that is not
        judged.
        """
        judged_at = _judged_at(upload)
        judged_on = judged_at.date()
        verdicts = verdicts_of(session, upload.id)
        decided = decided_head(session, upload)
        approvals = approvals_of(session, decided, today=today or judged_on)

        def priors(_bundle: Bundle) -> Priors:
            return {
                (verdict.workload, verdict.metric.name): verdict.prior
                for verdict in verdicts
                if verdict.prior is not None
            }

        report, bundle = self._report(
            session, upload, judged_on=judged_on, approvals=approvals, priors=priors
        )
        report = replace(
            report,
            repository=upload.repository,
            verdicts=_with_states(verdicts, report.verdicts),
            takes_commands=self._takes_commands,
        )
        if not approvals or upload.conclusion == Conclusion.FAILURE:
            report = replace(
                report,
                conclusion=Conclusion(upload.conclusion),
                title=upload.title,
                headline=upload.headline,
            )
        if decided is None:
            return report, bundle
        covering = [
            one
            for one in acceptances_of(session, upload.project_id, decided.pull_request)
            if _covers(one, upload, decided)
            and _covers_size(session, upload, decided, one, verdicts)
        ]
        return apply_acceptances(report, bundle, covering), bundle

    def _report(
        self,
        session: Session,
        upload: StoredUpload,
        *,
        judged_on: date,
        approvals: tuple[Approval, ...],
        priors: Callable[[Bundle], Priors],
    ) -> tuple[Report, Bundle]:
        key = (upload.id, upload.attempt, judged_on, approvals)
        with self._lock:
            recent = self._reports.get(key)
            received = self._bundles.pop(upload.bundle_sha256, None)
        if recent is not None:
            report, bundle, _ = recent
            return report, bundle
        bundle, size = received or _read_bundle(session, upload)
        with translate_errors():
            report = self._build(
                bundle, today=judged_on, is_local=False, priors=priors(bundle), approvals=approvals
            )
        report = replace(
            report,
            notes=report.notes + gate_notes(session, upload),
            quarantine=quarantine_sentence(session, upload.id),
        )
        with self._lock:
            self._reports[key] = report, bundle, size
            while len(self._reports) > 1 and self._is_full():
                self._reports.popitem(last=False)
        return report, bundle

    def _is_full(self) -> bool:
        """Return whether there are more or larger reports than are kept; the caller locks."""
        total_bytes = sum(size for *_, size in self._reports.values())
        return len(self._reports) > MAX_REPORTS or total_bytes > MAX_BUNDLE_BYTES


def _with_states(
    verdicts: Sequence[Verdict], computed_verdicts: Sequence[Verdict]
) -> tuple[Verdict, ...]:
    """Return stored verdicts with the states of their runs, which are not stored."""
    states = {(one.workload, one.metric.name): one.states for one in computed_verdicts}
    return tuple(
        replace(one, states=states.get((one.workload, one.metric.name))) for one in verdicts
    )


def _covers(acceptance: Acceptance, upload: StoredUpload, decided: CheckedHead) -> bool:
    """Return whether an acceptance covers an upload; a queued commit's covers its merge group."""
    if acceptance.covers(decided.head_sha, _judged_at(upload)):
        return True
    return upload.pull_request is None and acceptance.head_sha == decided.head_sha


def _covers_size(
    session: Session,
    upload: StoredUpload,
    decided: CheckedHead,
    acceptance: Acceptance,
    verdicts: Sequence[Verdict],
) -> bool:
    """Return whether an upload's regression is no larger than the accepted one.

    The acceptance covers the pull request's results up to that time. Later results, and those of
    merge groups, are compared with the newest of these on the same machine class.
    """
    is_earlier = _judged_at(upload) <= acceptance.accepted_at
    is_accepted = upload.pull_request is not None and is_earlier
    if acceptance.is_of_commit or is_accepted:
        return True
    accepted_head = replace(decided, head_sha=acceptance.head_sha)
    accepted_upload = next(
        (
            one
            for one in uploads_of_head(session, accepted_head)
            if one.machine_class == upload.machine_class
            and one.judged_at is not None
            and one.judged_at <= acceptance.accepted_at
        ),
        None,
    )
    accepted_verdicts = verdicts_of(session, accepted_upload.id) if accepted_upload else ()
    return is_within(
        [one for one in verdicts if one.workload == acceptance.workload],
        [one for one in accepted_verdicts if one.workload == acceptance.workload],
    )


def bundle_of(session: Session, upload: StoredUpload) -> Bundle:
    """Return an upload's bundle."""
    return _read_bundle(session, upload)[0]


def _read_bundle(session: Session, upload: StoredUpload) -> tuple[Bundle, int]:
    """Return an upload's bundle and the bytes of its JSON."""
    with translate_errors():
        document = unpack(bundle_content(session, upload.bundle_sha256))
        return decode_bundle(document), len(document)


def _judged_at(upload: StoredUpload) -> datetime:
    if upload.judged_at is None:
        status = f"{upload.status}: {upload.reason}" if upload.reason else upload.status
        msg = f"upload {upload.id} is not judged yet ({status}): reload in a moment"
        raise NotFoundError(msg)
    return upload.judged_at
