"""What runners say of a check is stored, the last word of each machine class, on both databases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.heads.reported_progress import (
    claim_post,
    claim_silent_heads,
    count_heard_heads,
    progress_of_head,
    progress_of_pull_request,
    put_progress,
    remove_old_progress,
    remove_progress,
)
from perfledger_service.values.upload_views import SILENCE, ReportedProgress

SECOND = timedelta(seconds=1)


@pytest.fixture
def head(any_engine, received, make_bundle):
    return received(any_engine, make_bundle()).head


@pytest.fixture
def store(any_engine):
    """Call a function of the store in a transaction."""

    def store(function, *arguments, **values):
        with write_session(any_engine) as session:
            result = function(session, *arguments, **values)
            session.commit()
        return result

    return store


@pytest.fixture
def heard(any_engine, head):
    """Return what was heard of the head at a time."""

    def heard(now):
        with read_session(any_engine) as session:
            return progress_of_head(session, head, now=now)

    return heard


@pytest.fixture
def progress(now):
    return ReportedProgress(
        machine_class="cpu:Test CPU:1",
        stage="measuring",
        workload="gpt:step",
        waiting=2,
        pairs=3,
        max_pairs=20,
        seconds_left=90.0,
        heard_at=now,
    )


def test_only_the_last_word_of_each_machine_class_is_kept(store, heard, head, progress, now):
    later = replace(progress, pairs=4, seconds_left=None, heard_at=now + SECOND)
    other = replace(progress, machine_class="tpu:v4:4", heard_at=now + 2 * SECOND)
    for one in (progress, later, other):
        store(put_progress, head, one)

    assert heard(now) == (other, later)
    store(remove_progress, head, "tpu:v4:4")
    assert heard(now) == (later,)


def test_a_runner_is_silent_once_nothing_was_heard_for_a_while(store, heard, head, progress, now):
    store(put_progress, head, progress)

    assert [one.is_silent for one in heard(now + SILENCE - SECOND)] == [False]
    assert [one.is_silent for one in heard(now + SILENCE)] == [True]


def test_a_head_is_posted_once_in_an_interval_whichever_class_speaks(store, head, progress, now):
    other = replace(progress, machine_class="tpu:v4:4")
    store(put_progress, head, progress)
    assert store(claim_post, head, before=now - SECOND, now=now)
    store(put_progress, head, progress)
    store(put_progress, head, other)

    assert not store(claim_post, head, before=now - SECOND, now=now)
    assert store(claim_post, head, before=now, now=now + SECOND)


def test_heads_of_which_something_was_heard_are_counted_once(store, head, progress, now):
    other_head = replace(head, head_sha="c" * 40)
    for one, machine_class in ((head, "cpu:a:1"), (head, "cpu:b:1"), (other_head, "cpu:a:1")):
        store(put_progress, one, replace(progress, machine_class=machine_class))

    assert store(count_heard_heads, since=now - SECOND) == 2
    assert store(count_heard_heads, since=now) == 0


def test_silence_is_claimed_once_and_again_after_another_word(store, head, progress, now):
    store(put_progress, head, progress)

    assert store(claim_silent_heads, now=now + SILENCE - SECOND) == ()
    assert store(claim_silent_heads, now=now + SILENCE) == (head,)
    assert store(claim_silent_heads, now=now + SILENCE) == ()
    store(put_progress, head, replace(progress, heard_at=now + SILENCE))
    assert store(claim_silent_heads, now=now + 2 * SILENCE) == (head,)


def test_progress_of_a_pull_request_names_its_head_and_is_not_old(
    any_engine, store, head, progress, now
):
    store(put_progress, head, progress)
    pushed = replace(head, head_sha="c" * 40)
    newer = replace(progress, heard_at=now + SECOND)
    store(put_progress, pushed, newer)
    store(put_progress, replace(head, pull_request=8), progress)

    def of_pull_request(since):
        with read_session(any_engine) as session:
            return progress_of_pull_request(session, head.project_id, 7, since=since, now=now)

    assert of_pull_request(now - SECOND) == ((pushed.head_sha, newer), (head.head_sha, progress))
    assert of_pull_request(now) == ((pushed.head_sha, newer),)
    store(remove_old_progress, head.project_id, before=now + SECOND)
    assert of_pull_request(now - SECOND) == ((pushed.head_sha, newer),)
