"""Tests what kubectl answers that a real one rarely does; test_job_launcher has a real one."""

import json
import sys

import pytest

from perfledger_runners.launchers.engine_tool import MAX_TOOL_ANSWER_BYTES
from perfledger_runners.launchers.kubernetes.kubectl import Kubectl, KubernetesError
from perfledger_runners.launchers.launcher import LauncherError

ECHO = "import json; print(json.dumps({'metadata': {'name': ' '.join(sys.argv[1:])}}))"


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """Return a function that makes a program the kubectl of this machine."""

    def kubectl(code, **values):
        program = tmp_path / "kubectl"
        program.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return Kubectl(namespace="perfledger", **values)

    return kubectl


def test_it_is_asked_for_one_request_in_the_context_of_the_file(kubectl):
    job = kubectl(ECHO, context="prod").job("perfledger-1")

    words = "get --raw=/apis/batch/v1/namespaces/perfledger/jobs/perfledger-1"
    assert job.metadata.name == f"{words} --request-timeout=30s --context=prod"


@pytest.mark.parametrize(
    ("words", "reason", "is_refusal"),
    [
        ("Error from server (AlreadyExists): it exists", "AlreadyExists", False),
        ("Error from server (Forbidden): exceeded quota", "Forbidden", True),
        ("Warning: old\nError from server (Forbidden): no", "Forbidden", True),
        ("error: You must be logged in to the server (no)", "Unauthorized", True),
        ("The request is invalid: spec", "Invalid", True),
        ('The Job "a" is invalid: spec: Required value', "Invalid", True),
        ("Error from server (Timeout): slow", "Timeout", False),
        ("Unable to connect to the server: EOF", "", False),
        ("pods say: Error from server (Forbidden): no", "", False),
        ("", "", False),
    ],
)
def test_a_reason_is_read_from_what_kubectl_says(kubectl, words, reason, is_refusal):
    failing = kubectl(f"sys.exit({words!r} or 1)")
    with pytest.raises(KubernetesError) as raised:
        failing.create_job(b"{}")

    assert (raised.value.reason, raised.value.is_refusal) == (reason, is_refusal)


def test_what_is_not_there_is_none_and_need_not_be_deleted(kubectl):
    absent = kubectl("sys.exit('Error from server (NotFound): jobs.batch \"a\" not found')")

    assert absent.job("a") is None
    absent.delete_job("a")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (f"print('x' * {MAX_TOOL_ANSWER_BYTES + 1})", "answered with more than"),
        ("print('<html>')", "did not answer with a KubernetesJob"),
        ("print('[' * 100_000)", "did not answer with a KubernetesJob"),
        ("sys.exit('\\x1b[31m' + 'x' * 9999)", "kubectl get failed: "),
    ],
)
def test_an_answer_that_is_none_is_an_error_of_one_short_line(kubectl, code, problem):
    with pytest.raises(LauncherError, match=problem) as raised:
        kubectl(code).job("a")

    assert len(str(raised.value)) < 400
    assert str(raised.value).isprintable()


def test_the_newest_pod_counts_and_events_may_be_none(kubectl):
    items = [
        {"metadata": {"name": "b", "creationTimestamp": "2026-01-02T00:00:00Z"}},
        {"metadata": {"name": "a", "creationTimestamp": None}},
    ]
    pods = f"print({json.dumps({'items': items})!r})"

    assert kubectl(pods).newest_pod("a").metadata.name == "b"
    assert kubectl("print('{\"items\": null}')").newest_pod("a") is None
    assert kubectl("print('{\"items\": null}')").last_warning("a") == ""
