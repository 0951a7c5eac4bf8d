"""Tests that a quarter's review is made once, after its end, and never with something missing."""

import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from perfledger_service.errors import NotFoundError, SettingsError, UsageError
from perfledger_service.settings.review import ReviewSettings
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.notices import notices_of, update_notice
from perfledger_service.store.projects import project_named
from perfledger_service.store.reviews.reviews import (
    MAX_REVIEWS,
    add_review,
    reviews_of_project,
)
from perfledger_service.usecases.notices.messages import message_of
from perfledger_service.usecases.notices.notice import set_target
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.usecases.review.schedule import (
    DELAY,
    ReviewSchedule,
    due_review,
    fail_review,
    make_review,
    review_schedule,
)
from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.notices.notice import NoticeChannel, NoticeStatus, NoticeTarget
from perfledger_service.values.people.person import Actor
from perfledger_service.values.service_views.reviews import NewReview

EXAMPLE = Path(__file__).parents[4] / "examples" / "review"
QUARTER_END = datetime(2026, 10, 1, tzinfo=UTC)
REVIEW_DAY = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
MAIL = NoticeTarget(channel=NoticeChannel.MAIL, address="buyers@example.com", is_weekly=True)
UNPRICED_OPTION = re.compile(r"\[\[option\]\]\n(?:(?!\n\[).)*?where = \"tpu-.*?(?=\n\[)", re.DOTALL)


@pytest.fixture
def schedule(tmp_path):
    """The example's inputs, with the options alone that have a price."""
    folder = tmp_path / "review"
    shutil.copytree(EXAMPLE, folder)
    plan = folder / "plan.toml"
    plan.write_text(UNPRICED_OPTION.sub("", plan.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "bill.csv").rename(folder / "bill-2026Q3.csv")
    return ReviewSchedule(
        repository="octo/models",
        plan=plan,
        bill=str(folder / "bill-{quarter}.csv"),
        team_tag="",
    )


@pytest.fixture
def project(engine, now):
    add_project(engine, "octo/models", token="pl_0123abcd_" + "s" * 43, now=now)
    with read_session(engine) as session:
        return project_named(session, "octo/models")


@pytest.fixture
def reader(engine, project, now):
    """An address that is told of reviews, and an issue that is not."""
    for target in (MAIL, NoticeTarget(channel=NoticeChannel.ISSUE, is_weekly=True)):
        set_target(engine, project.repository, target, actor=Actor(name="ada"), now=now)


@pytest.fixture
def attempt(engine, schedule, database_url):
    """Make the due review as the workflow does, and return whether one was due."""

    def attempt(at=REVIEW_DAY, schedule=schedule):
        work = due_review(engine, schedule, now=at)
        if work is None:
            return False
        try:
            make_review(engine, schedule, work, database_url=database_url, clock=lambda: at)
        except UsageError as error:
            fail_review(engine, schedule, work, str(error), clock=lambda: at)
        return True

    return attempt


@pytest.fixture
def late_replica(engine, schedule):
    """Attempt the review, and then its failure, by a replica that looked before it was stored."""
    work = due_review(engine, schedule, now=REVIEW_DAY)
    assert work is not None

    def late_replica():
        make_review(engine, schedule, work, database_url="", clock=lambda: REVIEW_DAY)
        fail_review(engine, schedule, work, "a late failure", clock=lambda: REVIEW_DAY)

    return late_replica


@pytest.fixture
def stored(engine, project):
    def stored():
        with read_session(engine) as session:
            return reviews_of_project(session, project.id)

    return stored


@pytest.fixture
def notices(engine, project):
    def notices():
        with read_session(engine) as session:
            return notices_of(session, project.id)

    return notices


@pytest.fixture
def text_of(engine, project):
    def text_of(notice):
        message = message_of(
            engine, project, notice, public_url="https://a.example", now=REVIEW_DAY
        )
        return message.text

    return text_of


def test_without_settings_no_review_is_made():
    assert review_schedule(ReviewSettings.model_validate({})) is None


@pytest.mark.parametrize(
    "half",
    [
        {"review_plan": "plan.toml"},
        {"review_project": "octo/models"},
        {"review_bill": "bill-{quarter}.csv"},
        {"review_project": "octo/models", "review_team_tag": "team"},
    ],
)
def test_half_of_the_settings_is_an_error_that_names_both(half):
    with pytest.raises(SettingsError, match="PERFLEDGER_REVIEW_PLAN and PERFLEDGER_REVIEW_PROJECT"):
        review_schedule(ReviewSettings.model_validate(half))


def test_the_settings_name_the_files_and_the_quarter_of_the_bill(schedule):
    names = {
        "review_plan": str(schedule.plan),
        "review_project": "octo/models",
        "review_bill": schedule.bill,
    }
    named = review_schedule(ReviewSettings.model_validate(names))

    assert named == schedule


@pytest.mark.parametrize(
    ("at", "quarter"),
    [
        (QUARTER_END + DELAY - timedelta(seconds=1), "2026Q2"),
        (QUARTER_END + DELAY, "2026Q3"),
        (datetime(2027, 1, 8, tzinfo=UTC), "2026Q4"),
    ],
)
@pytest.mark.usefixtures("project")
def test_a_quarter_is_due_some_days_after_its_end(engine, schedule, at, quarter):
    work = due_review(engine, schedule, now=at)

    assert work is not None
    assert work.quarter == quarter
    assert work.id == f"review-{quarter}-{at:%Y-%m-%d}"


def test_a_review_counts_however_many_of_the_running_quarter_there_are(engine, project, schedule):
    of_end = NewReview(
        quarter="2026Q3", made_on=REVIEW_DAY.date(), title="", sheet="", decision="", reason=""
    )
    with write_session(engine) as session:
        add_review(session, project.id, of_end, {}, now=REVIEW_DAY)
        for _ in range(MAX_REVIEWS):
            running = replace(of_end, quarter="2026Q4")
            add_review(session, project.id, running, {}, now=REVIEW_DAY)
        session.commit()

    assert due_review(engine, schedule, now=REVIEW_DAY) is None


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("reader")
def test_a_review_is_stored_and_told_once(attempt, stored, notices, text_of, late_replica):
    assert attempt()
    assert not attempt(REVIEW_DAY + timedelta(days=1))
    late_replica()

    [review], [notice] = stored(), notices()
    assert (review.quarter, review.made_on) == ("2026Q3", REVIEW_DAY.date())
    assert {"html", "json", "csv"} <= set(review.documents)
    assert "pdf" not in review.documents
    assert "The review of 2026Q3 is stored" in text_of(notice)
    assert "https://a.example/octo/models/reviews" in text_of(notice)
    assert review.decision not in text_of(notice)  # readers of a chat may not read own prices


@pytest.mark.slow(ci_only=True)
def test_the_audit_log_says_that_the_service_stored_it(attempt, stored, engine):
    attempt()

    entry = audit_log(engine, most=1)[0]
    assert (entry.actor, entry.detail) == ("the service", "review 1 of 2026Q3 is stored")
    assert [one.id for one in stored()] == [1]


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("reader")
def test_a_missing_bill_is_told_once_and_the_review_made_when_it_is_there(
    attempt, stored, notices, text_of, schedule
):
    bill = Path(schedule.bill.format(quarter="2026Q3"))
    bill.rename(bill.with_suffix(".later"))
    assert attempt()
    [first] = notices()
    assert first.cause == f"there is no file {bill}: check the path"
    assert "The review of 2026Q3 is not decided" in text_of(first)
    assert attempt(REVIEW_DAY + timedelta(days=1))
    assert notices() == (first,)
    assert stored() == ()

    bill.with_suffix(".later").rename(bill)
    assert attempt(REVIEW_DAY + timedelta(days=2))

    [second] = notices()
    assert (second.id, second.edition, second.status) == (first.id, 2, NoticeStatus.QUEUED)
    assert "The review of 2026Q3 is stored" in text_of(second)
    assert len(stored()) == 1


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("reader")
def test_an_option_without_a_price_leaves_the_quarter_undecided(
    attempt, stored, notices, text_of, schedule
):
    attempt(schedule=replace(schedule, plan=EXAMPLE / "plan.toml"))

    assert stored() == ()
    [notice] = notices()
    assert "options of the plan have no price" in text_of(notice)
    assert "TPU v4" in text_of(notice)


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("reader")
def test_a_problem_that_is_not_sent_yet_becomes_the_stored_review(
    attempt, notices, schedule, engine
):
    plan = schedule.plan.rename(schedule.plan.with_suffix(".later"))
    attempt()
    plan.rename(schedule.plan)
    with write_session(engine) as session:
        update_notice(session, notices()[0], status=NoticeStatus.FAILED)
        session.commit()

    attempt(REVIEW_DAY + timedelta(days=1))

    [notice] = notices()
    assert (notice.status, notice.cause) == (NoticeStatus.QUEUED, "")


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("project")
def test_the_review_of_the_quarter_before_is_compared(attempt, stored, engine, schedule):
    attempt()
    later = datetime(2027, 1, 8, tzinfo=UTC)
    work = due_review(engine, schedule, now=later)

    assert work is not None
    assert (stored()[0].quarter, work.quarter) == ("2026Q3", "2026Q4")
    with pytest.raises(NotFoundError, match=r"bill-2026Q4\.csv"):
        make_review(engine, schedule, work, database_url="", clock=lambda: later)


def test_a_project_that_is_not_there_is_logged_and_nothing_else(engine, schedule, log):
    work = due_review(engine, schedule, now=REVIEW_DAY)
    assert work is not None
    with pytest.raises(NotFoundError):
        make_review(engine, schedule, work, database_url="", clock=lambda: REVIEW_DAY)
    fail_review(engine, schedule, work, "octo/models is not a project", clock=lambda: REVIEW_DAY)

    assert "the review is not made" in log.getvalue()
