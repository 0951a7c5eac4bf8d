"""Makes the review of each quarter some days after its end, from the files that settings name."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import structlog
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_cost_models.review.document import Review
from perfledger_cost_models.review.quarter import Quarter, quarter_at
from perfledger_service.errors import NotFoundError, SettingsError, UsageError
from perfledger_service.settings.review import ReviewSettings
from perfledger_service.settings.service import price_settings
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import lock_project, project_named
from perfledger_service.store.reviews.reviews import review_document, reviews_of_quarter
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.notices.reviews import queue_review_notices
from perfledger_service.usecases.review.document_format import ReviewFormat
from perfledger_service.usecases.review.documents import is_installed, render_review
from perfledger_service.usecases.review.publishing import store_review
from perfledger_service.usecases.review.review import ReviewRequest, quarter_named, review
from perfledger_service.usecases.server.project import project_of_name
from perfledger_service.usecases.server.prune import SERVICE
from perfledger_service.values.jobs.queued_work import QueuedReview

# By then, uploads that runners kept during an outage, and the quarter's bill, have arrived.
DELAY = timedelta(days=7)
QUARTER_IN_NAME = "{quarter}"
# A PDF takes eight seconds of CPU time, and the service has pages to serve meanwhile.
FORMS = (ReviewFormat.HTML, ReviewFormat.XLSX, ReviewFormat.CSV, ReviewFormat.JSON)

_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSchedule:
    """The projects to review, and the input files; `bill` is "" without one."""

    repository: str
    plan: Path
    bill: str
    team_tag: str

    def bill_of(self, quarter: Quarter) -> Path | None:
        """Return the file of a quarter's bill, None without one."""
        name = self.bill.replace(QUARTER_IN_NAME, quarter.name)
        return Path(name) if name else None


def review_schedule(settings: ReviewSettings) -> ReviewSchedule | None:
    """Return which reviews to make, None for none; raise SettingsError for incomplete settings."""
    needed = (settings.review_plan, settings.review_project)
    if not any((*needed, settings.review_bill, settings.review_team_tag)):
        return None
    if not all(needed):
        msg = (
            "a scheduled review needs both PERFLEDGER_REVIEW_PLAN and PERFLEDGER_REVIEW_PROJECT: "
            "set both or neither"
        )
        raise SettingsError(msg)
    return ReviewSchedule(
        repository=settings.review_project,
        plan=Path(settings.review_plan),
        bill=settings.review_bill,
        team_tag=settings.review_team_tag,
    )


def due_review(engine: Engine, schedule: ReviewSchedule, *, now: datetime) -> QueuedReview | None:
    """Return the day's attempt at the last quarter's review, None if the review is stored.

    A review that a person stored after the quarter's end counts.
    """
    moment = now.astimezone(UTC)
    quarter = quarter_at((moment - DELAY).date()).before
    with read_session(engine) as session:
        try:
            project = project_named(session, schedule.repository)
        except NotFoundError:  # the attempt itself logs the error
            is_stored = False
        else:
            is_stored = _is_stored(session, project.id, quarter)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return None if is_stored else QueuedReview(quarter=quarter.name, due_at=midnight)


def make_review(
    engine: Engine,
    schedule: ReviewSchedule,
    work: QueuedReview,
    *,
    database_url: str,
    clock: Callable[[], datetime],
) -> None:
    """Make a quarter's review and store it with its notices, unless it is stored.

    Raises UsageError and our other errors if an input or the price of an option is missing.
    """
    project, quarter = project_of_name(engine, schedule.repository), quarter_named(work.quarter)
    with read_session(engine) as session:
        if _is_stored(session, project.id, quarter):
            return
        previous = _previous_document(session, project.id, quarter)
    request = _request(
        schedule, quarter, previous, today=clock().astimezone(UTC).date(), database_url=database_url
    )
    built = review(request)
    _check_prices(built)
    forms = [form for form in FORMS if is_installed(form)]
    contents = render_review(built, forms=forms)
    documents = {str(form): content for form, content in contents if content is not None}
    with write_session(engine) as session:
        lock_project(session, project.id)
        if _is_stored(session, project.id, quarter):  # stored by somebody else meanwhile
            return
        now = clock()
        store_review(session, project, built, documents, actor=SERVICE, now=now)
        queue_review_notices(session, project.id, quarter.name, problem="", now=now)
        session.commit()
    _log.info("a review is stored", project=project.repository, quarter=quarter.name)


def fail_review(
    engine: Engine,
    schedule: ReviewSchedule,
    work: QueuedReview,
    reason: str,
    *,
    clock: Callable[[], datetime],
) -> None:
    """Log why a quarter's review is not made, and send one notice of it."""
    _log.warning(
        "the review is not made",
        project=schedule.repository,
        quarter=work.quarter,
        reason=reason,
    )
    with write_session(engine) as session:
        try:
            project = project_named(session, schedule.repository)
        except NotFoundError:  # there is nobody to notify
            return
        lock_project(session, project.id)
        if _is_stored(session, project.id, quarter_named(work.quarter)):
            return
        queue_review_notices(session, project.id, work.quarter, problem=reason, now=clock())
        session.commit()


def _is_stored(session: Session, project_id: int, quarter: Quarter) -> bool:
    """Return whether a project has a review of a quarter that was made after its end."""
    reviews = reviews_of_quarter(session, project_id, quarter.name)
    return any(one.made_on > quarter.last for one in reviews)


def _previous_document(session: Session, project_id: int, quarter: Quarter) -> NamedBytes | None:
    """Return the JSON of the newest review of the quarter before, None without one."""
    for one in reviews_of_quarter(session, project_id, quarter.before.name):
        if ReviewFormat.JSON in one.documents:
            content = review_document(session, one, ReviewFormat.JSON)
            return NamedBytes(f"review {one.id} of {one.quarter}", content)
    return None


def _request(
    schedule: ReviewSchedule,
    quarter: Quarter,
    previous: NamedBytes | None,
    *,
    today: date,
    database_url: str,
) -> ReviewRequest:
    return ReviewRequest(
        quarter=quarter,
        today=today,
        plan=schedule.plan,
        bundles=None,
        database_url=database_url,
        bill=schedule.bill_of(quarter),
        team_tag=schedule.team_tag,
        prices=price_settings(),
        previous=previous,
        is_stale_allowed=False,
    )


def _check_prices(built: Review) -> None:
    """Raise UsageError if the decision would leave out an option for lack of a price."""
    if built.model.unpriced:
        missing = "; ".join(f"{one.name}: {one.reason}" for one in built.model.unpriced)
        msg = f"options of the plan have no price ({missing}): price them, or leave them out"
        raise UsageError(msg)
