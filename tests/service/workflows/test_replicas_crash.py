"""Two processes of the service on one PostgreSQL, one of them killed."""

import signal
import threading

import httpx
import pytest

from perfledger.records import Revision
from perfledger_service.store.database import open_engine
from perfledger_service.usecases.server.project import add_project
from tests.service.servers.service_process import service_process

TOKEN = "pl_0123abcd_" + "s" * 43

pytestmark = pytest.mark.slow


@pytest.fixture
def start_replica(migrated_postgres_url, at_github, now, tmp_path):
    """Run `perfledger server run` on one database, as often as wanted; yields process and URL."""
    engine = open_engine(migrated_postgres_url)
    add_project(engine, "octo/models", token=TOKEN, now=now)
    engine.dispose()

    def start():
        return service_process(
            migrated_postgres_url, at_github.server.url, log=tmp_path / "service.log"
        )

    return start


def upload(url, bundle):
    answer = httpx.post(
        f"{url}/api/v1/uploads",
        content=bundle.to_json(),
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=600,
    )
    assert answer.status_code == 202


def is_checked(state, count):
    """Wait until so many check runs have a conclusion."""
    return state.wait_for(lambda now: len(now.repositories["octo/models"]["check_runs"]) >= count)


@pytest.mark.slow(ci_only=True)
def test_the_work_of_a_killed_replica_is_taken_over_and_said_once(
    start_replica, at_github, make_bundle
):
    at_github.open_pull()
    state = at_github.server.state
    is_posting, is_over = threading.Event(), threading.Event()

    def hold(method, path):
        if method == "POST" and path.endswith("comments"):
            is_posting.set()
            is_over.wait(600)

    state.after_handling = hold
    try:
        with start_replica() as (first, url):
            upload(url, make_bundle(ratio=1.2))
            assert is_posting.wait(600)
            with start_replica() as (_, other_url):
                assert httpx.get(f"{other_url}/readyz", timeout=600).status_code == 200
                first.kill()
                assert first.wait(timeout=600) == -signal.SIGKILL
                is_over.set()

                assert is_checked(state, 1)
    finally:
        is_over.set()

    assert len(at_github.comments) == 1
    assert len(at_github.checks) == 1
    assert at_github.requests.count("POST issues/7/comments") == 1


@pytest.mark.slow(ci_only=True)
def test_two_replicas_share_the_work_and_none_is_done_twice(start_replica, at_github, make_bundle):
    numbers = range(1, 7)
    heads = {number: f"{number:040x}" for number in numbers}
    for number, head in heads.items():
        at_github.open_pull(number, head_sha=head)
    with start_replica() as (_, one), start_replica() as (_, two):
        for number, head in heads.items():
            bundle = make_bundle(seed=number, pull_request=number, head=Revision(sha=head))
            upload((one, two)[number % 2], bundle)
            upload((two, one)[number % 2], bundle)

        assert is_checked(at_github.server.state, len(heads))

    posts = [one for one in at_github.requests if one.startswith("POST ")]
    assert sorted(posts) == sorted(
        [f"POST issues/{number}/comments" for number in numbers] + ["POST check-runs"] * len(heads)
    )
