"""Searches by name, on both databases."""

import pytest

from perfledger_service.store.database import read_session
from perfledger_service.store.search_queries import search_hits
from perfledger_service.values.service_views.search_view import SearchKind


@pytest.fixture
def names(any_engine, judged, make_bundle):
    """Return the names of a kind that a text finds."""
    judged(any_engine, make_bundle(workloads=("gpt:Train_Step",), pairs=4))

    def names(text, kind):
        with read_session(any_engine) as session:
            return [hit.name for hit in search_hits(session, text, kind)]

    return names


def test_a_name_holds_each_word_in_any_case(names):
    assert names("TRAIN gpt", SearchKind.WORKLOAD) == ["gpt:Train_Step"]
    assert names("train none", SearchKind.WORKLOAD) == []
    assert names("train%step", SearchKind.WORKLOAD) == []


def test_numbers_and_commits_are_found_by_their_own_form_alone(names, make_bundle):
    head = make_bundle().head.sha

    assert names("octo/models#7", SearchKind.PULL_REQUEST) == ["#7"]
    assert names("7a", SearchKind.PULL_REQUEST) == []
    assert names(head[:5].upper(), SearchKind.COMMIT) == [head]
    assert names(head[:3], SearchKind.COMMIT) == []
    assert names("octo/none " + head, SearchKind.COMMIT) == []
