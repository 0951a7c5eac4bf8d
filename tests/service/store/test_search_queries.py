"""Searches by name, on both databases."""

from datetime import timedelta

import pytest
from sqlalchemy import event, insert

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.people.project_scope import scoped_session
from perfledger_service.store.search_queries import search_hits
from perfledger_service.store.tables import BundleRow, UploadRow
from perfledger_service.values.service_views.search import SearchKind


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


def test_a_commit_of_many_checks_hides_no_other(any_engine, judged, make_bundle):
    upload = judged(any_engine, make_bundle(pairs=4))
    with write_session(any_engine) as session:
        first = session.get(UploadRow, upload.id).model_dump()
        shas = [f"{number:064x}" for number in range(300)]
        bundle = {"unpacked_bytes": 2, "content": b"{}"}
        session.exec(insert(BundleRow), params=[{"sha256": one, **bundle} for one in shas])
        checks = [
            {
                **first,
                "id": one[-32:],
                "bundle_sha256": one,
                "head_sha": "0123" + ("b" if number else "a") * 36,
                "measured_at": first["measured_at"] + timedelta(minutes=number),
            }
            for number, one in enumerate(shas)
        ]
        session.exec(insert(UploadRow), params=checks)
        session.commit()
        newest, other = search_hits(session, "0123", SearchKind.COMMIT)

    assert (newest.name[4], newest.upload_id) == ("b", shas[-1][-32:])
    assert (other.name[4], other.upload_id) == ("a", shas[0][-32:])


@pytest.mark.parametrize("project_ids", [None, frozenset({1}), frozenset(range(1, 99))])
def test_a_commit_is_found_by_its_index_whatever_may_be_viewed(engine, project_ids):
    queries = []

    def note(_connection, _cursor, statement, parameters, *_):
        queries.append((statement, parameters))

    with scoped_session(engine, project_ids) as session:
        event.listen(engine, "before_cursor_execute", note)
        search_hits(session, "0123", SearchKind.COMMIT)
        event.remove(engine, "before_cursor_execute", note)
        statement, parameters = queries[-1]
        plan = session.connection().exec_driver_sql(f"explain query plan {statement}", parameters)
        steps = [step.detail for step in plan if " upload " in step.detail]

    assert steps == ["SEARCH upload USING INDEX ix_upload_head_sha (head_sha>? AND head_sha<?)"]
