from dataclasses import replace

import pytest

from perfledger.records import Device, Machine
from perfledger_baselines.history.commits.confirmation_state import ConfirmationState
from perfledger_service.store.confirmation_state import (
    MAX_ALERTS,
    add_alerts,
    alerts_of,
    confirmation_state_of,
    save_confirmation_state,
)
from perfledger_service.store.database import read_session, write_session


@pytest.fixture
def upload(any_engine, received, make_bundle):
    machine = Machine(device=Device.CUDA, model="Test GPU", uuid="GPU-1")
    return received(any_engine, make_bundle(machine=machine, pull_request=None))


def read_state(engine, project_id):
    with read_session(engine) as session:
        return confirmation_state_of(session, project_id)


def test_of_a_project_without_suspects_the_state_is_empty(any_engine, upload):
    assert read_state(any_engine, upload.project_id) == ConfirmationState()


def test_a_state_comes_back_as_it_was_with_its_infinities(any_engine, upload, state):
    with write_session(any_engine) as session:
        save_confirmation_state(session, upload.project_id, state)
        session.commit()

    assert read_state(any_engine, upload.project_id) == state
    assert state.answered_candidates[0].strength == float("inf")


def test_a_later_state_replaces_the_earlier_one_of_its_project_alone(
    any_engine, upload, received, make_bundle, state
):
    other = received(
        any_engine,
        make_bundle(repository="octo/other"),
        upload_id="2" * 32,
        token="pl_4567cdef_" + "t" * 43,
    )
    for project_id, pairs in (
        (upload.project_id, 8),
        (other.project_id, 3),
        (upload.project_id, 9),
    ):
        with write_session(any_engine) as session:
            save_confirmation_state(session, project_id, replace(state, pairs=pairs))
            session.commit()

    assert read_state(any_engine, upload.project_id) == replace(state, pairs=9)
    assert read_state(any_engine, other.project_id) == replace(state, pairs=3)


def test_alerts_come_newest_first_with_their_upload_and_its_device(any_engine, upload, alert):
    later = replace(alert, workload="m:later")
    with write_session(any_engine) as session:
        add_alerts(
            session,
            (alert, later),
            commits="abcde",
            project_id=upload.project_id,
            upload_id=upload.id,
        )
        session.commit()

    with read_session(any_engine) as session:
        views = alerts_of(session, upload.project_id)
        assert alerts_of(session, upload.project_id + 1) == ()

    assert [view.alert for view in views] == [later, alert]
    assert {(view.upload_id, view.device, view.created_at) for view in views} == {
        (upload.id, "GPU-1", upload.measured_at)
    }
    assert {(view.after_sha, view.last_sha) for view in views} == {("b", "d")}


def test_a_page_has_the_newest_alerts_only(engine, received, make_bundle, alert):
    upload = received(engine, make_bundle())
    alerts = tuple(replace(alert, pairs=number) for number in range(MAX_ALERTS + 1))
    with write_session(engine) as session:
        add_alerts(
            session, alerts, commits="abcde", project_id=upload.project_id, upload_id=upload.id
        )
        session.commit()

    with read_session(engine) as session:
        pairs = [view.alert.pairs for view in alerts_of(session, upload.project_id)]

    assert pairs == list(range(MAX_ALERTS, 0, -1))
