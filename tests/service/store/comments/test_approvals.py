from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from perfledger.records import Revision
from perfledger_cost_models.change_price.cost_policy import Approval
from perfledger_service.store.comments.approvals import MAX_APPROVALS, add_approval, approvals_of
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.uploads import upload_by_id

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOON.date()
APPROVAL = Approval(
    login="ann",
    is_author=True,
    usd_per_year=Decimal("1234567.10"),
    covers_unpriced=True,
    reason="the deadline \N{SNOWMAN}",
    approved_at=NOON,
    until=TODAY + timedelta(days=30),
)


@pytest.fixture
def receive(any_engine, received, make_bundle):
    """Return a function that receives a bundle as its own upload."""

    def receive(seed=0, **values):
        bundle = make_bundle(seed=seed, **values)
        return received(any_engine, bundle, upload_id=f"{seed:032x}")

    return receive


@pytest.fixture
def upload(receive):
    return receive()


@pytest.fixture
def add(any_engine):
    def add(upload, approval=APPROVAL, *, comment_id=1):
        with write_session(any_engine) as session:
            is_stored = add_approval(session, upload, approval, comment_id=comment_id)
            session.commit()
        return is_stored

    return add


@pytest.fixture
def stored(any_engine):
    def stored(upload, today=TODAY):
        with read_session(any_engine) as session:
            return approvals_of(session, upload.head, today=today)

    return stored


def test_an_approval_comes_back_as_it_was_given(upload, add, stored):
    assert add(upload)

    assert stored(upload) == (APPROVAL,)
    assert str(stored(upload)[0].usd_per_year) == "1234567.10"


def test_a_comment_approves_once_however_often_github_delivers_it(upload, add, stored):
    add(upload, comment_id=2**40)

    assert add(upload, replace(APPROVAL, reason="again"), comment_id=2**40)
    assert stored(upload) == (APPROVAL,)


def test_approvals_are_read_oldest_first(upload, add, stored):
    second = replace(APPROVAL, login="bob", is_author=False, covers_unpriced=False)
    add(upload, comment_id=9)
    add(upload, second, comment_id=3)

    assert stored(upload) == (APPROVAL, second)


@pytest.mark.parametrize(("days", "is_over"), [(30, False), (31, True)])
def test_an_approval_holds_to_the_end_of_its_last_day(upload, add, stored, days, is_over):
    add(upload)

    (approval,) = stored(upload, today=TODAY + timedelta(days=days))

    assert approval.is_over == is_over


def test_another_commit_and_another_pull_request_are_not_approved(receive, upload, add, stored):
    add(upload)

    assert stored(receive(1, head=Revision(sha="c" * 40))) == ()
    assert stored(receive(2, pull_request=8)) == ()


def test_a_second_upload_of_the_commit_is_approved_as_well(receive, upload, add, stored):
    add(upload)

    assert stored(receive(1)) == (APPROVAL,)


@pytest.mark.slow(ci_only=True)
def test_of_one_commit_no_more_approvals_are_stored_than_a_page_can_show(
    engine, received, make_bundle
):
    upload = received(engine, make_bundle())
    with write_session(engine) as session:
        are_new = [
            add_approval(session, upload, APPROVAL, comment_id=number)
            for number in range(MAX_APPROVALS + 1)
        ]
        session.commit()

    with read_session(engine) as session:
        again = upload_by_id(session, upload.id)
        assert len(approvals_of(session, again.head, today=TODAY)) == MAX_APPROVALS
    assert are_new == [True] * MAX_APPROVALS + [False]
