"""Draws a conclusion from the reports of all machine classes expected on a pull request's head.

The classes are those that a check announced or planned, and those that have reported. A missing
class is pending until its deadline, then not measured; neither is ever green.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.registration.workload_pattern import is_match
from perfledger_runners.bundles.validation import MAX_CLASSES
from perfledger_service.errors import (
    NotFoundError,
    RemovedError,
    TooManyRequestsError,
    UsageError,
)
from perfledger_service.rendering.history.stored_verdict_rows import device
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.store.comments.acceptances import acceptances_of
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.expected_classes import (
    ExpectedClass,
    add_expected_classes,
    count_heads,
    expect_again,
    expected_classes,
    heads_with_deadlines,
    missing_classes,
)
from perfledger_service.store.heads.reported_progress import (
    claim_post,
    claim_silent_heads,
    count_heard_heads,
    progress_of_head,
    put_progress,
    remove_old_progress,
)
from perfledger_service.store.heads.uploads import head_of, refused_of_head, uploads_of_head
from perfledger_service.store.projects import lock_project, project_by_id
from perfledger_service.store.uploads import (
    CheckedHead,
    StoredUpload,
    upload_by_id,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.jobs.queued_work import MAX_LATER_ATTEMPTS, QueuedCheck
from perfledger_service.values.pull_request_report import (
    ClassReport,
    ClassStatus,
    OtherPullRequest,
    PullRequestReport,
    RemovedReport,
)
from perfledger_service.values.report import Conclusion, ExitCode
from perfledger_service.values.upload_views import SILENCE, ReportedProgress, UploadStatus

# Most announced heads that are kept. Heads whose deadlines are in the future or passed within the
# hour, so that one that ends at once counts too; more than any project has pull requests.
MAX_ANNOUNCED_HEADS = 1000
ANNOUNCEMENT_PERIOD = timedelta(hours=1)
# Older deadlines were posted before the service stopped.
MAX_DEADLINE_AGE = timedelta(days=7)
PROGRESS_POST_INTERVAL = timedelta(minutes=1)  # between posts of a check's progress, or longer
# Between posts of progress of all checks. GitHub allows an installation 5,000 requests an hour, and
# a post takes three: progress takes half of them, so that results never wait for the next hour.
ALL_PROGRESS_INTERVAL = 3 * timedelta(hours=1) / 2500
# Why an upload is refused that another comparison needs.
OTHER_BASE = (
    "its result compares with another base than the pull request has now: push a commit, or "
    "comment /perfledger rerun"
)
UNPLACED_BASE = (
    "the pull request has another base now, and GitHub does not say which commit to compare with: "
    "push a commit, or give the App the permission contents (read)"
)
_NO_REPORT = "no report arrived by its deadline"
# Worst first; a check in progress (None) is worse than anything that may be green.
_SEVERITY = (
    Conclusion.FAILURE,
    None,
    Conclusion.ACTION_REQUIRED,
    Conclusion.NEUTRAL,
    Conclusion.SUCCESS,
)


def announce_classes(
    engine: Engine,
    head: CheckedHead,
    machine_classes: Sequence[str],
    *,
    deadline: datetime,
    now: datetime,
) -> tuple[ExpectedClass, ...]:
    """Store machine classes that have to report on a head, and return all that have to.

    A class that was announced before keeps its first deadline until that has passed: then somebody
    runs the check again. Raises UsageError for too many classes, and TooManyRequestsError for too
    many heads.
    """
    with write_session(engine) as session:
        lock_project(session, head.project_id)
        known_classes = {one.machine_class for one in expected_classes(session, head)}
        heads = count_heads(session, head.project_id, since=now - ANNOUNCEMENT_PERIOD)
        if not known_classes and heads >= MAX_ANNOUNCED_HEADS:
            msg = (
                f"{heads} commits of {head.repository} are announced: the limit; announce this one "
                "when deadlines have passed"
            )
            raise TooManyRequestsError(msg)
        if len(known_classes | set(machine_classes)) > MAX_CLASSES:
            msg = f"more than {MAX_CLASSES} machine classes for one commit: announce fewer patterns"
            raise UsageError(msg)
        add_expected_classes(session, head, machine_classes, deadline=deadline)
        overdue = [
            one.machine_class
            for one in expected_classes(session, head)
            if one.deadline <= now and one.machine_class in machine_classes
        ]
        expect_again(session, head, overdue, deadline=deadline)
        expected = expected_classes(session, head)
        session.commit()
    return expected


def receive_progress(
    engine: Engine, head: CheckedHead, progress: ReportedProgress
) -> tuple[QueuedCheck, ...]:
    """Store how far a runner is with an announced check; only its last word is kept.

    Returns the check to post: at most one a minute for each head, and less often while more than a
    dozen heads are measured, whichever installation their projects belong to. Raises NotFoundError
    for a check that nobody announced, and UsageError for too many machine classes.
    """
    now = progress.heard_at
    with write_session(engine) as session:
        lock_project(session, head.project_id)
        if not expected_classes(session, head):
            msg = f"no check of {head.head_sha} is announced: announce it first"
            raise NotFoundError(msg)
        remove_old_progress(session, head.project_id, before=now - MAX_DEADLINE_AGE)
        heard = progress_of_head(session, head, now=now)
        known_classes = {one.machine_class for one in heard}
        if len(known_classes | {progress.machine_class}) > MAX_CLASSES:
            msg = f"more than {MAX_CLASSES} machine classes report progress of one commit"
            raise UsageError(msg)
        put_progress(session, head, progress)
        heads = count_heard_heads(session, since=now - SILENCE)
        interval = max(PROGRESS_POST_INTERVAL, heads * ALL_PROGRESS_INTERVAL)
        is_due = claim_post(session, head, before=now - interval, now=now)
        session.commit()
    return (_post_once(head, now),) if is_due else ()


def silent_work(engine: Engine, *, now: datetime) -> tuple[QueuedCheck, ...]:
    """Return the checks to post because their runners send no more progress, once for each.

    Unlike progress, no later message may follow, so a post that fails is attempted again.
    """
    with write_session(engine) as session:
        heads = claim_silent_heads(session, now=now)
        session.commit()
    return tuple(work_at(head, now) for head in heads)


def deadline_work(engine: Engine, upload_id: str) -> tuple[QueuedCheck, ...]:
    """Return the work that is due when the deadlines of an upload's head end."""
    with read_session(engine) as session:
        head = head_of(session, upload_by_id(session, upload_id))
        if head is None:
            return ()
        return tuple(
            work_at(head, deadline)
            for deadline in dict.fromkeys(one.deadline for one in expected_classes(session, head))
        )


def pending_work(engine: Engine, head: CheckedHead, *, now: datetime) -> tuple[QueuedCheck, ...]:
    """Return the work at the deadlines to come of a head's classes that have not reported."""
    with read_session(engine) as session:
        arrived = {one.machine_class for one in uploads_of_head(session, head)}
        missing = missing_classes(expected_classes(session, head), arrived)
    deadlines = dict.fromkeys(one.deadline for one in missing if one.deadline > now)
    return tuple(work_at(head, deadline) for deadline in deadlines)


def is_late(engine: Engine, head: CheckedHead, upload: StoredUpload) -> bool:
    """Return whether a later result of the same commit and machine class is already posted."""
    with read_session(engine) as session:
        return any(
            other.measured_at > upload.measured_at
            for other in uploads_of_head(session, head)
            if other.machine_class == upload.machine_class and other.status is UploadStatus.POSTED
        )


def unfinished_deadlines(engine: Engine, *, now: datetime) -> tuple[QueuedCheck, ...]:
    """Return the work that is due when the deadlines of recent heads end."""
    with read_session(engine) as session:
        heads = heads_with_deadlines(session, since=now - MAX_DEADLINE_AGE)
        return tuple(work_at(head, deadline) for head, deadline in heads)


def work_at(head: CheckedHead, due_at: datetime) -> QueuedCheck:
    """Return the queue entry that posts a head's reports at a given time."""
    return QueuedCheck(
        project_id=head.project_id,
        repository=head.repository,
        pull_request=head.pull_request,
        head_sha=head.head_sha,
        due_at=due_at,
    )


def _post_once(head: CheckedHead, now: datetime) -> QueuedCheck:
    """Return the queue entry of a post that is not attempted again: the next one says more."""
    return replace(work_at(head, now), attempt=MAX_LATER_ATTEMPTS)


def head_of_work(engine: Engine, check: QueuedCheck) -> CheckedHead:
    """Return the head that a queue entry is about; the repository may have a new name since."""
    with read_session(engine) as session:
        repository = project_by_id(session, check.project_id).repository
    return CheckedHead(
        project_id=check.project_id,
        repository=repository,
        pull_request=check.pull_request,
        head_sha=check.head_sha,
    )


def judged_of_head(session: Session, head: CheckedHead) -> tuple[StoredUpload, ...]:
    """Return the newest judged upload of a head for each machine class."""
    by_class: dict[str, StoredUpload] = {}
    for upload in uploads_of_head(session, head):
        if upload.judged_at is not None:
            by_class.setdefault(upload.machine_class, upload)
    return tuple(by_class.values())


def pull_request_report(
    session: Session, head: CheckedHead, *, reports: UploadReports, now: datetime
) -> PullRequestReport:
    """Return the reports of all machine classes on a head, and the conclusion from the worst.

    If the head is ignored, classes without a report do not count.
    """
    newest: dict[str, StoredUpload] = {}
    # An unjudged measurement does not replace the one before.
    for upload in sorted(uploads_of_head(session, head), key=lambda one: one.judged_at is None):
        newest.setdefault(upload.machine_class, upload)
    reported = [
        _class_report(session, upload, reports=reports, today=now.date())
        for upload in newest.values()
    ]
    refused = refused_of_head(session, head, OTHER_BASE, UNPLACED_BASE)
    heard = progress_of_head(session, head, now=now)
    missing = [
        _missing(one, heard=heard, refusal=refused[0].reason if refused else "", now=now)
        for one in missing_classes(expected_classes(session, head), newest)
    ]
    result = conclude((*reported, *missing))
    acceptances = acceptances_of(session, head.project_id, head.pull_request)
    if any(one.is_of_commit and one.head_sha == head.head_sha for one in acceptances):
        of_reports = conclude([one for one in reported if one.result is not None])
        return replace(result, conclusion=of_reports.conclusion or Conclusion.NEUTRAL)
    return result


def conclude(classes: Sequence[ClassReport]) -> PullRequestReport:
    """Return the classes, worst first, with the conclusion and title of all."""
    ordered = tuple(sorted(classes, key=_severity))
    worst = ordered[0] if ordered else None
    only_result = worst.result if worst is not None and len(ordered) == 1 else None
    return PullRequestReport(
        classes=ordered,
        conclusion=worst.conclusion if worst else None,
        title=only_result.title if only_result is not None else _title(ordered),
        counts=_counts(ordered),
    )


def conclude_commit(
    result: PullRequestReport, other_reports: Sequence[OtherPullRequest]
) -> tuple[Conclusion | None, str]:
    """Return the conclusion and title of a commit's check: the worst of its pull requests'."""
    worst = deciding_report(result, other_reports)
    if worst is None:
        return result.conclusion, result.title
    return worst.result.conclusion, f"Pull request #{worst.number}: {worst.result.title}"


def deciding_report(
    result: PullRequestReport, other_reports: Sequence[OtherPullRequest]
) -> OtherPullRequest | None:
    """Return the other pull request that decides a commit's check, None if this one does."""
    worst = min(other_reports, key=lambda one: _SEVERITY.index(one.result.conclusion), default=None)
    is_worse = worst is not None and (
        _SEVERITY.index(worst.result.conclusion) < _SEVERITY.index(result.conclusion)
    )
    return worst if is_worse else None


def _class_report(
    session: Session, upload: StoredUpload, *, reports: UploadReports, today: date
) -> ClassReport:
    """Return an upload's class; an upload that is not judged yet is pending."""
    if upload.judged_at is None:
        is_failed = upload.status is UploadStatus.FAILED
        return ClassReport(
            machine_class=upload.machine_class,
            status=ClassStatus.NOT_MEASURED if is_failed else ClassStatus.PENDING,
            upload_id=upload.id,
            reason=f"its upload failed: {upload.reason}" if is_failed else "",
        )
    report, removed = None, None
    try:
        report, _ = reports.report(session, upload, today=today)
    except RemovedError as error:
        removed = RemovedReport(
            conclusion=Conclusion(upload.conclusion),
            title=upload.title,
            headline=upload.headline,
            removal=str(error),
        )
    return ClassReport(
        machine_class=upload.machine_class,
        status=ClassStatus.REPORTED,
        report=report,
        removed=removed,
        upload_id=upload.id,
    )


def _missing(
    expected: ExpectedClass,
    *,
    heard: Sequence[ReportedProgress],
    refusal: str,
    now: datetime,
) -> ClassReport:
    is_over = now >= expected.deadline
    reasons = (_NO_REPORT if is_over else "", refusal)
    return ClassReport(
        machine_class=expected.machine_class,
        status=ClassStatus.NOT_MEASURED if is_over else ClassStatus.PENDING,
        deadline=expected.deadline,
        reason="; ".join(filter(None, reasons)),
        progress=next(
            (one for one in heard if is_match(expected.machine_class, one.machine_class)), None
        ),
    )


def _severity(class_report: ClassReport) -> tuple[int, bool, str]:
    is_regression = (
        class_report.report is not None and class_report.report.exit_code is ExitCode.REGRESSION
    )
    return _SEVERITY.index(class_report.conclusion), not is_regression, class_report.machine_class


def _title(ordered: Sequence[ClassReport]) -> str:
    """Return the outcome of the worst class, its name, and how many classes have this outcome."""
    if not ordered:
        return "Nothing to compare"
    outcomes = [_outcome(one) for one in ordered]
    if ordered[0].conclusion is Conclusion.SUCCESS:
        same = outcomes[0] if len(set(outcomes)) == 1 else "No regression"
        return f"{same} on {len(ordered)} machine classes"
    name = clean(device(ordered[0].machine_class))
    if len(ordered) == 1:
        return f"{outcomes[0]} on {name}"
    share = f"{outcomes.count(outcomes[0])} of {len(ordered)} machine classes"
    return f"{outcomes[0]} on {name}, {share}"


def _outcome(class_report: ClassReport) -> str:
    result = class_report.result
    return str(class_report.status).capitalize() if result is None else result.title


def _counts(ordered: Sequence[ClassReport]) -> str:
    words = Counter(_outcome(one).lower() for one in ordered)
    counts = ", ".join(f"{word} on {count}" for word, count in words.items())
    return f"{len(ordered)} machine classes: {counts}" if len(ordered) > 1 else ""
