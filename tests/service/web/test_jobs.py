"""Tests `/api/v1/jobs` over real HTTP: runners take, keep and end jobs."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from perfledger_runners.jobs.runner_job import MAX_REASON, RunnerJobKind
from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.jobs.runner_queue import queue_job
from tests.service.canary_bundles import a_canary_bundle

TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
ROUTE = "/api/v1/jobs"
CPU = "cpu:Test CPU:1"
LEASE = "1" * 32
TAKE = {"runner": "box", "machine_classes": [CPU], "lease": LEASE}

GPU_CLASS = "cuda:NVIDIA H100:1"


@pytest.fixture
def queued(site, now):
    """Queue a job of octo/models and return its id."""

    def queue(key="ab:1", **values):
        commits = {"base_sha": "a" * 40, "head_sha": "b" * 40}
        values = {"machine_class": CPU, "kind": RunnerJobKind.AB} | commits | values
        job = NewRunnerJob(key=key, **values)
        with write_session(site.engine) as session:
            project = project_named(session, "octo/models")
            job_id = queue_job(session, project.id, job, now=now).id
            session.commit()
        return job_id

    return queue


def post(site, path, message=None, *, token=TOKEN, **values):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return site.client.post(f"{ROUTE}{path}", json=message, headers=headers, **values)


def send(site, job_id, bundle):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    content = bundle.to_json()
    return site.client.post(f"{ROUTE}/{job_id}/result", content=content, headers=headers)


def test_a_runner_takes_a_job_keeps_it_and_brings_its_result(site, queued, make_bundle):
    job_id = queued()
    job = post(site, "/take", TAKE).json()["job"]
    beat = post(site, f"/{job_id}/heartbeat", {"lease": LEASE})
    answer = send(site, job_id, make_bundle(pull_request=None, held_s=30.0))

    assert (job["id"], job["state"], job["head_sha"]) == (job_id, "leased", "b" * 40)
    assert beat.status_code == 200
    assert answer.status_code == 202
    assert [work.upload_id for work in site.jobs.works] == [answer.json()["id"]]
    (listed,) = site.get(ROUTE, token=TOKEN).json()["jobs"]
    assert (listed["state"], listed["upload_id"]) == ("done", answer.json()["id"])
    assert post(site, "/take", TAKE).json() == {"job": None}


def test_the_same_result_again_is_the_same_upload_and_another_one_is_not_stored(
    site, queued, make_bundle
):
    job_id = queued()
    first = send(site, job_id, make_bundle(pull_request=None))
    again = send(site, job_id, make_bundle(pull_request=None))
    other = make_bundle(pull_request=None, seed=1)
    second = send(site, job_id, other)

    assert again.json()["id"] == first.json()["id"]
    assert second.status_code == 409
    assert "already has a result" in second.json()["detail"]
    assert site.upload(other).json()["id"] != first.json()["id"]


@pytest.mark.slow
def test_of_results_that_arrive_at_once_one_is_stored(site, queued, make_bundle):
    job_id = queued()
    bundles = [make_bundle(pull_request=None, seed=seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda one: send(site, job_id, one), bundles))

    assert sorted(one.status_code for one in answers) == [202, 409, 409, 409, 409, 409]


@pytest.mark.parametrize(
    "values",
    [
        {"head_sha": "c" * 40},
        {"pull_request": 7},
        {"workloads": ("gpt:other",)},
        {"machine_class": "cpu:Another CPU:*"},
    ],
)
def test_a_result_of_something_else_is_refused(site, queued, make_bundle, values):
    job_id = queued(**values)
    answer = send(site, job_id, make_bundle(pull_request=None))

    assert answer.status_code == 400
    assert "upload another" in answer.json()["detail"]
    (listed,) = site.get(ROUTE, token=TOKEN).json()["jobs"]
    assert listed["state"] == "queued"


@pytest.mark.parametrize(
    ("path", "message", "state"),
    [
        ("fail", {"lease": LEASE, "reason": "no git"}, "queued"),
        ("fail", {"lease": LEASE, "reason": "no git", "is_final": True}, "failed"),
        ("return", {"lease": LEASE}, "queued"),
        ("finish", {"lease": LEASE, "reason": "no change"}, "done"),
        ("cancel", {"reason": "merged"}, "cancelled"),
    ],
)
def test_a_runner_ends_a_job_in_other_ways(site, queued, path, message, state):
    job_id = queued()
    post(site, "/take", TAKE)
    answer = post(site, f"/{job_id}/{path}", message)

    assert (answer.status_code, answer.json()["state"]) == (200, state)


@pytest.mark.parametrize(("length", "status"), [(MAX_REASON, 200), (MAX_REASON + 1, 422)])
def test_the_longest_reason_of_a_runner_is_taken(site, queued, length, status):
    job_id = queued()
    post(site, "/take", TAKE)

    message = {"lease": LEASE, "reason": "é" * length}
    assert post(site, f"/{job_id}/finish", message).status_code == status


def test_who_does_not_hold_a_job_is_told_to_stop(site, queued):
    job_id = queued()
    post(site, "/take", TAKE)
    answer = post(site, f"/{job_id}/heartbeat", {"lease": "2" * 32})

    assert answer.status_code == 409
    assert "stop working on it" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["heartbeat", "result", "finish", "fail", "return", "cancel"])
def test_another_project_sees_no_job(site, queued, path):
    job_id = queued()
    message = {"lease": LEASE, "reason": ""} if path in {"finish", "fail"} else {"lease": LEASE}
    message = {} if path == "cancel" else message
    answer = post(site, f"/{job_id}/{path}", message, token=OTHER_TOKEN)

    assert answer.status_code == (400 if path == "result" else 404)  # no bundle
    assert post(site, "/take", TAKE, token=OTHER_TOKEN).json() == {"job": None}
    assert site.get(ROUTE, token=OTHER_TOKEN).json()["jobs"] == []


@pytest.mark.parametrize("token", [None, "pl_0123abcd_" + "x" * 43])
def test_nobody_takes_a_job_without_a_token(site, queued, token):
    queued()
    answer = post(site, "/take", TAKE, token=token)

    assert answer.status_code == 401
    assert "octo" not in answer.text


@pytest.mark.parametrize(
    "message",
    [
        TAKE | {"lease": "short"},
        TAKE | {"lease_s": 0},
        TAKE | {"lease_s": 1e9},
        TAKE | {"machine_classes": []},
        TAKE | {"machine_classes": ["cpu:\n"]},
        TAKE | {"machine_classes": ["cpu"] * 17},
        TAKE | {"runner": ""},
        TAKE | {"unknown": 1},
        {},
    ],
)
def test_an_impossible_request_is_refused(site, message):
    assert post(site, "/take", message).is_client_error


def test_canaries_end_their_job_and_have_no_upload(site, queued):
    job_id = queued(kind=RunnerJobKind.BUILTIN, machine_class=GPU_CLASS, base_sha="", head_sha="")
    take = TAKE | {"machine_classes": [GPU_CLASS], "devices": {GPU_CLASS: ["GPU-0"]}}
    assert post(site, "/take", take).json()["job"]["id"] == job_id

    answer = send(site, job_id, a_canary_bundle(1))

    assert answer.status_code == 202
    assert site.jobs.works == []
    (listed,) = site.get(ROUTE, token=TOKEN).json()["jobs"]
    assert (listed["state"], listed["upload_id"]) == ("done", None)
    assert "2 canaries, unknown" in listed["reason"]


@pytest.mark.parametrize(
    "devices",
    [
        *({CPU: names} for names in (["x" * 1001], ["a\x00b"], ["GPU"] * 65, [""], "GPU-0")),
        {"": ["GPU-0"]},
        {f"cpu:{number}": [] for number in range(17)},
        ["GPU-0"],
    ],
)
def test_devices_that_cannot_be_are_refused(site, devices):
    assert post(site, "/take", TAKE | {"devices": devices}).status_code == 422
