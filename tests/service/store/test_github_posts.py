from datetime import timedelta

import pytest

from perfledger.records import Revision
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.github_posts import PostedIds, posted_ids, save_posted_ids


@pytest.fixture
def receive(any_engine, received, make_bundle):
    """Return a function that receives a bundle as its own upload."""

    def receive(seed, **values):
        return received(any_engine, make_bundle(seed=seed, **values), upload_id=f"{seed:032x}")

    return receive


@pytest.fixture
def save(any_engine, now):
    def save(upload, *, comment_id=None, check_run_id=None, later=timedelta()):
        posts = PostedIds(comment_id=comment_id, check_run_id=check_run_id, upload_id=upload.id)
        with write_session(any_engine) as session:
            save_posted_ids(session, upload.head, posts, now=now + later)
            session.commit()

    return save


@pytest.fixture
def posted(any_engine):
    def posted(upload):
        with read_session(any_engine) as session:
            return posted_ids(session, upload.head)

    return posted


def test_nothing_is_known_before_the_first_post(receive, posted):
    assert posted(receive(1)) == PostedIds(comment_id=None, check_run_id=None, upload_id="")


def test_ids_come_back_with_the_upload_that_was_posted(receive, save, posted):
    upload = receive(1)
    save(upload, comment_id=2**40, check_run_id=2**40 + 1)

    expected = PostedIds(comment_id=2**40, check_run_id=2**40 + 1, upload_id=upload.id)
    assert posted(upload) == expected


def test_a_second_upload_of_a_commit_replaces_what_was_posted_of_it(receive, save, posted):
    first, second = receive(1), receive(2)
    save(first, comment_id=10, check_run_id=11)
    save(second, comment_id=10, check_run_id=12)

    expected = PostedIds(comment_id=10, check_run_id=12, upload_id=second.id)
    assert (posted(first), posted(second)) == (expected, expected)


def test_the_next_commit_keeps_the_comment_and_has_no_check_run_yet(receive, save, posted):
    save(receive(1), comment_id=10, check_run_id=11)

    pushed = receive(2, head=Revision(sha="c" * 40))

    assert posted(pushed) == PostedIds(comment_id=10, check_run_id=None, upload_id="")


def test_of_several_comments_the_one_written_last_is_kept(receive, save, posted):
    first, second = receive(1), receive(2, head=Revision(sha="c" * 40))
    third = receive(3, head=Revision(sha="d" * 40))
    save(second, comment_id=20)
    save(first, comment_id=10, later=timedelta(hours=1))
    save(third, check_run_id=31, later=timedelta(hours=2))

    assert [posted(each).comment_id for each in (first, second, third)] == [10, 10, 10]


def test_another_pull_request_has_posts_of_its_own(receive, save, posted):
    save(receive(1), comment_id=10, check_run_id=11)

    other = posted(receive(2, pull_request=8))

    assert (other.comment_id, other.check_run_id) == (None, None)


def test_a_post_before_any_upload_has_none(any_engine, receive, posted, now):
    upload = receive(1)
    with write_session(any_engine) as session:
        posts = PostedIds(comment_id=None, check_run_id=11)
        save_posted_ids(session, upload.head, posts, now=now)
        session.commit()

    assert posted(upload) == PostedIds(comment_id=None, check_run_id=11, upload_id="")
