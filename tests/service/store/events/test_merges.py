"""What the store keeps of merges."""

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.merges import add_merge, merged_sha_of
from perfledger_service.store.projects import project_for


def test_a_merge_is_kept_and_delivered_again_it_is_the_same(any_engine, now):
    with write_session(any_engine) as session:
        project = project_for(session, "octo/models", now=now)
        for sha in ("a" * 40, "b" * 40):
            add_merge(session, project.id, 7, sha)
        session.commit()

    with read_session(any_engine) as session:
        assert merged_sha_of(session, project.id, 7) == "b" * 40
        assert merged_sha_of(session, project.id, 8) == ""
