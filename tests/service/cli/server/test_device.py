"""`perfledger server device`: lists devices, quarantines and releases them."""

import json

import pytest

from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.fleet.device_canaries import store_canaries
from tests.service.canary_bundles import a_canary_bundle


@pytest.fixture
def device(run, database_url, engine, now):
    """A command on a project with canaries of one GPU."""
    with write_session(engine) as session:
        project = project_for(session, "octo/models", now=now)
        for number in range(6):
            store_canaries(session, project, a_canary_bundle(number), now=now)
        session.commit()

    def device(name, *words):
        return run(
            *("server", "device", name, "octo/models", *words), PERFLEDGER_DATABASE_URL=database_url
        )

    return device


@pytest.mark.slow(ci_only=True)
def test_devices_are_listed_with_their_canaries(device):
    output = device("list")

    assert all(len(line) <= 80 for line in output.splitlines())
    assert "GPU-0" in output
    assert "steady" in output
    listed = json.loads(device("list", "--json"))
    assert listed["devices"][0]["state"] == "steady"
    assert [one["own_runs"] for one in listed["canaries"]] == [5, 5]


@pytest.mark.slow(ci_only=True)
def test_a_device_is_quarantined_and_released(device):
    assert device("quarantine", "GPU-0", "--reason", "its fan") == "GPU-0 is in quarantine.\n"
    listed = json.loads(device("list", "--json"))["devices"][0]
    assert (listed["state"], listed["quarantine_reason"]) == ("quarantine", "its fan")
    assert "release it" not in listed["reason"]  # these canaries are from before it
    assert device("release", "GPU-0", "--reason", "a new fan") == "GPU-0 is released.\n"
    assert json.loads(device("list", "--json"))["devices"][0]["state"] == "steady"


def test_a_decision_without_a_reason_is_refused(device):
    with pytest.raises(UsageError, match="give a reason"):
        device("quarantine", "GPU-0")


def test_a_name_with_a_byte_that_is_no_utf8_is_an_error_of_ours(device):
    with pytest.raises(NotFoundError, match="has no device"):
        device("quarantine", "GPU-\udcff", "--reason", "its fan")
