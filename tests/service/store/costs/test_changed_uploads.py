"""The checks that found a change of step time."""

import pytest

from perfledger_service.store.costs.changed_uploads import changed_uploads
from perfledger_service.store.database import read_session


@pytest.fixture
def newest(engine):
    def read(project_id, most=9):
        with read_session(engine) as session:
            uploads = changed_uploads(session, project_id, most=most)
        return [(one.upload.id[0], one.is_on_branch) for one in uploads]

    return read


def test_checks_without_a_change_and_gate_tests_are_left_out(engine, judged, make_bundle, newest):
    changed = judged(engine, make_bundle(), upload_id="1" * 32)
    judged(engine, make_bundle(ratio=1.0, seed=1), upload_id="2" * 32)
    same = make_bundle(seed=2)
    judged(engine, make_bundle(seed=2, head=same.base, pull_request=None), upload_id="3" * 32)

    assert newest(changed.project_id) == [("1", False)]
    assert newest(changed.project_id + 1) == []


def test_as_many_are_read_as_are_asked_for(engine, judged_on_branch, make_bundle, newest):
    uploads = [
        judged_on_branch(
            engine, make_bundle(seed=seed, pull_request=None), upload_id=str(seed) * 32
        )
        for seed in range(1, 4)
    ]

    assert len(newest(uploads[0].project_id, most=2)) == 2
    assert all(is_on_branch for _, is_on_branch in newest(uploads[0].project_id))
