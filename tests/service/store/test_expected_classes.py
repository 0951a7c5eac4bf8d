from datetime import timedelta

import pytest

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.expected_classes import (
    ExpectedClass,
    add_expected_classes,
    expect_again,
    expected_classes,
    heads_with_deadlines,
)

HOUR = timedelta(hours=1)


@pytest.fixture
def head(any_engine, received, make_bundle):
    return received(any_engine, make_bundle()).head


@pytest.fixture
def expect(any_engine, head, now):
    def expect(*machine_classes, hours=1):
        with write_session(any_engine) as session:
            add_expected_classes(session, head, machine_classes, deadline=now + hours * HOUR)
            session.commit()

    return expect


def test_classes_are_read_in_the_order_in_which_they_were_added(any_engine, expect, head, now):
    expect("cuda:*H100*:1", "cuda:*A100*:1")

    with read_session(any_engine) as session:
        assert expected_classes(session, head) == (
            ExpectedClass("cuda:*H100*:1", now + HOUR),
            ExpectedClass("cuda:*A100*:1", now + HOUR),
        )


def test_a_class_that_is_added_again_keeps_its_deadline(any_engine, expect, head, now):
    expect("cuda:*H100*:1")
    expect("cuda:*H100*:1", "cuda:*A100*:1", hours=2)

    with read_session(any_engine) as session:
        deadlines = [one.deadline for one in expected_classes(session, head)]
    assert deadlines == [now + HOUR, now + 2 * HOUR]


def test_classes_that_are_expected_again_have_a_new_deadline(any_engine, expect, head, now):
    expect("cuda:*:1", "tpu:*:4")
    with write_session(any_engine) as session:
        again = ("cuda:NVIDIA H100:1", "cpu:EPYC:1")
        expect_again(session, head, again, deadline=now + 9 * HOUR)
        session.commit()

    with read_session(any_engine) as session:
        deadlines = {one.machine_class: one.deadline for one in expected_classes(session, head)}
    assert deadlines == {
        "cuda:*:1": now + 9 * HOUR,
        "tpu:*:4": now + HOUR,
        "cpu:EPYC:1": now + 9 * HOUR,
    }


def test_a_head_is_listed_once_for_each_deadline_that_is_not_too_old(any_engine, expect, head, now):
    expect("one", "two")
    expect("three", hours=3)

    with read_session(any_engine) as session:
        assert heads_with_deadlines(session, since=now) == (
            (head, now + HOUR),
            (head, now + 3 * HOUR),
        )
        assert heads_with_deadlines(session, since=now + HOUR) == ((head, now + 3 * HOUR),)
