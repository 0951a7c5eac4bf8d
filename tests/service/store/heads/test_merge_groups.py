"""Merge groups are stored once for each commit, on SQLite and PostgreSQL."""

from dataclasses import replace

import pytest

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.heads.merge_groups import (
    MergeGroup,
    merge_group,
    put_merge_group,
    unmerged_heads,
)
from perfledger_service.store.projects import project_for

HEAD, OTHER, THIRD = "d" * 40, "e" * 40, "f" * 40
GROUP = MergeGroup(head_sha=HEAD, base_sha="a" * 40, pull_request=7)


@pytest.fixture
def put(any_engine, now):
    def put(*groups):
        with write_session(any_engine) as session:
            project = project_for(session, "octo/models", now=now)
            for group in groups:
                put_merge_group(session, project.id, group, now=now)
            session.commit()

    return put


def test_a_group_comes_back_with_its_last_ending(any_engine, put):
    put(GROUP, GROUP, replace(GROUP, ending="merged"))

    with read_session(any_engine) as session:
        assert merge_group(session, 1, HEAD) == replace(GROUP, ending="merged")
        assert merge_group(session, 1, OTHER) is None
        assert merge_group(session, 2, HEAD) is None


def test_who_saw_a_group_before_its_end_does_not_begin_it_again(any_engine, put):
    put(replace(GROUP, ending="merged"), GROUP)

    with read_session(any_engine) as session:
        assert merge_group(session, 1, HEAD) == replace(GROUP, ending="merged")
        assert unmerged_heads(session, 1, [HEAD]) == frozenset()


def test_heads_are_unmerged_until_github_merges_them(any_engine, put):
    put(
        GROUP,
        replace(GROUP, head_sha=OTHER, ending="merged"),
        replace(GROUP, head_sha=THIRD, ending="dequeued"),
    )

    with read_session(any_engine) as session:
        assert unmerged_heads(session, 1, [HEAD, OTHER, THIRD, "0" * 40]) == {HEAD, THIRD}
        assert unmerged_heads(session, 1, [OTHER]) == frozenset()
