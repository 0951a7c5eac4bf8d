"""Uploads report on the head of a pull request or merge group, or on none."""

from dataclasses import replace

import pytest

from perfledger.records import Revision
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.expected_classes import add_expected_classes
from perfledger_service.store.heads.merge_groups import MergeGroup, put_merge_group
from perfledger_service.store.heads.uploads import (
    decided_head,
    group_head,
    head_of,
    other_heads,
    uploads_of_head,
)
from perfledger_service.store.uploads import set_status
from perfledger_service.values.upload_views import UploadStatus

GROUP_SHA = "d" * 40


@pytest.fixture
def uploads(any_engine, judged, make_bundle, now):
    """Return the uploads of a pull request, of its group, and of its commit with another base."""
    bundles = (
        make_bundle(),
        make_bundle(seed=1, pull_request=None, head=Revision(sha=GROUP_SHA)),
        make_bundle(
            seed=2, pull_request=None, head=Revision(sha=GROUP_SHA), base=Revision(sha="c" * 40)
        ),
    )
    stored = tuple(
        judged(any_engine, bundle, upload_id=f"{number:032x}")
        for number, bundle in enumerate(bundles)
    )
    group = MergeGroup(head_sha=GROUP_SHA, base_sha=bundles[0].base.sha, pull_request=7)
    with write_session(any_engine) as session:
        put_merge_group(session, 1, group, now=now)
        session.commit()
    return stored


def test_an_upload_reports_on_its_pull_request_or_on_the_group_with_its_base(any_engine, uploads):
    of_change, of_group, of_other_base = uploads

    with read_session(any_engine) as session:
        assert head_of(session, of_change) == of_change.head
        assert head_of(session, of_group) == group_head(of_group)
        assert head_of(session, of_other_base) is None


def test_a_head_has_its_own_uploads_alone(any_engine, uploads):
    of_change, of_group, _ = uploads

    with read_session(any_engine) as session:
        assert uploads_of_head(session, of_change.head) == (of_change,)
        assert uploads_of_head(session, group_head(of_group)) == (of_group,)
        assert uploads_of_head(session, group_head(of_change)) == ()


def test_people_decide_about_a_group_on_its_pull_request(any_engine, uploads):
    of_change, of_group, of_other_base = uploads

    with read_session(any_engine) as session:
        assert decided_head(session, of_group) == of_change.head
        assert decided_head(session, of_change) == of_change.head
        assert decided_head(session, of_other_base) is None


def test_other_pull_requests_with_the_same_head_are_known_by_uploads_and_announcements(
    any_engine, judged, make_bundle, now
):
    seven, nine, refused = (
        judged(any_engine, make_bundle(seed=one, pull_request=one), upload_id=f"{one:032x}")
        for one in (7, 9, 11)
    )
    eight = replace(seven.head, pull_request=8)
    with write_session(any_engine) as session:
        for head in (eight, seven.head, replace(eight, head_sha="9" * 40)):
            add_expected_classes(session, head, ("*",), deadline=now)
        add_expected_classes(session, group_head(seven), ("*",), deadline=now)
        set_status(session, refused.id, UploadStatus.REFUSED)
        session.commit()

    with read_session(any_engine) as session:
        assert other_heads(session, seven.head) == (eight, nine.head)
        assert other_heads(session, eight) == (seven.head, nine.head)
        assert other_heads(session, replace(eight, head_sha="8" * 40)) == ()
