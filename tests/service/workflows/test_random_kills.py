"""The service is killed at random points: nothing is lost, and everything is posted once.

A point is a number of requests to GitHub after an upload was sent, and a moment after the last of
them. What has to be so in the end does not depend on how far the killed process had come.
"""

import threading
from contextlib import ExitStack
from random import Random

import httpx
import pytest

from perfledger.records import Revision
from perfledger_service.store.database import open_engine
from perfledger_service.usecases.server.project import add_project
from tests.service.servers.service_process import service_process

TOKEN = "pl_0123abcd_" + "s" * 43
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
POINTS = 10
MAX_REQUESTS = 10  # that the service sends to GitHub about an upload
MAX_LATER_S = 0.05
POLLS, POLL_S = 12_000, 0.05

pytestmark = [pytest.mark.slow(ci_only=True)]


class Killer:
    """Kills a process once GitHub has handled so many more requests."""

    def __init__(self, state):
        self._state, self.has_killed = state, False
        self._left, self._later_s, self._process = 0, 0.0, None
        self._lock = threading.Lock()
        state.after_handling = lambda _method, _path: self.count()

    def aim(self, process, *, requests, later_s):
        with self._lock:
            self._left, self._later_s, self._process = requests, later_s, process
            self.has_killed = False

    def count(self):
        with self._lock:
            self._left -= 1
            if self._left == 0 and self._process is not None:
                threading.Timer(self._later_s, self.kill).start()

    def kill(self):
        with self._lock:
            self._left = 0
            self._process.kill()
        with self._state.lock:
            self.has_killed = True
            self._state.lock.notify_all()


class Replicas:
    """Processes of the service on one database; one that was killed is replaced."""

    def __init__(self, stack, start, count):
        self._stack, self._start = stack, start
        self.all = [stack.enter_context(start()) for _ in range(count)]

    def replace(self, victim):
        assert victim[0].wait(timeout=600) != 0
        self.all.remove(victim)
        self.all.append(self._stack.enter_context(self._start()))

    def upload(self, bundle, random):
        """Send a bundle until one that lives has answered; return the upload's id."""
        for _ in range(POLLS):
            for _, url in random.sample(self.all, len(self.all)):
                try:
                    answer = httpx.post(
                        f"{url}/api/v1/uploads",
                        content=bundle.to_json(),
                        headers=HEADERS,
                        timeout=600,
                    )
                except httpx.TransportError:  # it was killed, or has not accepted it
                    continue
                assert answer.status_code == 202, answer.text
                return answer.json()["id"]
            if all(process.poll() is not None for process, _ in self.all):
                return ""
        raise AssertionError

    def status(self, upload_id):
        answer = httpx.get(
            f"{self.all[-1][1]}/api/v1/uploads/{upload_id}", headers=HEADERS, timeout=600
        )
        return answer.raise_for_status().json()["status"]

    def end_of(self, upload_id):
        """Return an upload's status once it is neither received nor to be posted."""
        for _ in range(POLLS):
            if (status := self.status(upload_id)) not in {"received", "judged"}:
                return status
            threading.Event().wait(POLL_S)
        return self.status(upload_id)


@pytest.fixture(params=["sqlite", "postgresql"])
def any_url(request):
    """The URL of an up-to-date database of each kind."""
    fixture = "database_url" if request.param == "sqlite" else "migrated_postgres_url"
    return request.getfixturevalue(fixture)


@pytest.fixture
def run_through(at_github, make_bundle, now, tmp_path):
    """Kill a process of the service at each point; return the uploads, and those with a change."""

    def run_through(url, count, random):
        engine = open_engine(url)
        add_project(engine, "octo/models", token=TOKEN, now=now)
        engine.dispose()
        state, log = at_github.server.state, tmp_path / "service.log"
        killer, uploads, is_slower = Killer(state), {}, {}
        with ExitStack() as stack:
            replicas = Replicas(
                stack, lambda: service_process(url, at_github.server.url, log=log), count
            )
            for number in range(1, POINTS + 1):
                head = f"{number:040x}"
                is_slower[head] = random.random() < 0.5
                at_github.open_pull(number, head_sha=head)
                bundle = make_bundle(
                    seed=number,
                    ratio=1.2 if is_slower[head] else 1.0,
                    pull_request=number,
                    head=Revision(sha=head),
                )
                victim = random.choice(replicas.all)
                killer.aim(
                    victim[0],
                    requests=random.randint(1, MAX_REQUESTS),
                    later_s=random.uniform(0, MAX_LATER_S),
                )
                upload_id = replicas.upload(bundle, random)
                # Of several, the others finish it, whichever was hit.
                if upload_id:
                    wait_until(state, head, or_if=lambda: count == 1 and killer.has_killed)
                killer.kill()
                replicas.replace(victim)
                uploads[head] = upload_id or replicas.upload(bundle, random)
                assert wait_until(state, head)
            return {head: replicas.end_of(one) for head, one in uploads.items()}, is_slower

    return run_through


def wait_until(state, head, or_if=lambda: False):
    """Wait until the check of a commit has a conclusion, or something else is so."""

    def is_over(now):
        checks = now.repositories["octo/models"]["check_runs"].values()
        return or_if() or any(one["head_sha"] == head and one.get("conclusion") for one in checks)

    return state.wait_for(is_over)


def require_one_of_each(at_github, ends, is_slower):
    assert set(ends.values()) == {"posted"}
    assert len(ends) == POINTS
    assert {one["head_sha"]: one["conclusion"] for one in at_github.checks} == {
        head: "failure" if slower else "success" for head, slower in is_slower.items()
    }
    assert len(at_github.checks) == POINTS
    assert len(at_github.comments) == POINTS
    assert len({one["number"] for one in at_github.comments}) == POINTS


def test_a_service_that_is_killed_at_random_loses_and_repeats_nothing(
    any_url, run_through, at_github
):
    ends, is_slower = run_through(any_url, 1, Random(20))

    require_one_of_each(at_github, ends, is_slower)


def test_of_three_replicas_one_after_another_is_killed_at_random(
    migrated_postgres_url, run_through, at_github
):
    ends, is_slower = run_through(migrated_postgres_url, 3, Random(21))

    require_one_of_each(at_github, ends, is_slower)
