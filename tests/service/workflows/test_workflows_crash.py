"""The service as a process of its own, killed where it hurts most."""

import signal
import threading

import httpx
import pytest

from perfledger_service.usecases.server.project import add_project
from tests.service.servers.service_process import service_process

TOKEN = "pl_0123abcd_" + "s" * 43


@pytest.fixture
def service_log(tmp_path):
    return tmp_path / "service.log"


@pytest.fixture
def service(engine, database_url, stand_in, now, service_log):
    """Run `perfledger server run` with a project; yields the process and its URL."""
    add_project(engine, "octo/models", token=TOKEN, now=now)

    def run():
        return service_process(database_url, stand_in.url, log=service_log)

    return run


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("what", ["comments", "check-runs"])
def test_killed_after_the_post_and_before_it_is_recorded_it_says_it_once(
    service, service_log, at_github, make_bundle, what
):
    at_github.open_pull()
    state = at_github.server.state
    with service() as (process, url):

        def kill(method, path):
            if method == "POST" and path.endswith(what):
                process.kill()

        state.after_handling = kill
        answer = httpx.post(
            f"{url}/api/v1/uploads",
            content=make_bundle(ratio=1.2).to_json(),
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=600,
        )
        assert answer.status_code == 202
        assert process.wait(timeout=600) == -signal.SIGKILL
    state.after_handling = lambda _method, _path: None
    count = len(state.requests)
    with service() as (_, url):
        is_said = state.wait_for(
            lambda now: any(
                "check-runs" in one["path"] and one["method"] in {"POST", "PATCH"}
                for one in now.requests[count:]
            )
        )

    assert is_said
    assert len(at_github.comments) == 1
    assert len(at_github.checks) == 1
    assert at_github.requests.count("POST issues/7/comments") == 1
    assert at_github.requests.count("POST check-runs") == 1
    log = service_log.read_text(encoding="utf-8")
    assert "ghp_canary" not in log
    assert TOKEN[12:] not in log


@pytest.mark.slow(ci_only=True)
def test_an_interruption_during_a_post_ends_the_service_as_any_other(
    service, at_github, make_bundle
):
    at_github.open_pull()
    is_posting, is_over = threading.Event(), threading.Event()

    def hold(method, path):
        if method == "POST" and path.endswith("comments"):
            is_posting.set()
            is_over.wait(600)

    at_github.server.state.after_handling = hold
    try:
        with service() as (process, url):
            httpx.post(
                f"{url}/api/v1/uploads",
                content=make_bundle(ratio=1.2).to_json(),
                headers={"Authorization": f"Bearer {TOKEN}"},
                timeout=600,
            ).raise_for_status()
            assert is_posting.wait(600)
    finally:
        is_over.set()

    assert process.returncode == 0
