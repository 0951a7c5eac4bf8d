"""Tests Jobs with kubectl and an API server here, in which everything goes wrong once."""

import json
import os
import sys
import threading

import pytest

from perfledger_runners.launchers import engine_tool
from perfledger_runners.launchers.kubernetes.job_manifest import SecretReference
from perfledger_runners.launchers.launcher import RESULT_WAIT_S, LauncherError, SubmissionState
from tests.kubernetes_api import NODE, NOW, Fault, container_status

NAME = "perfledger-1"
ECHO = """
import json, os, sys
print(json.dumps([sys.argv[1:], os.getcwd(), os.environ["A"], "B" in os.environ]))
raise SystemExit(2)
"""
HOSTILE = ["a b", "$(A)", "$$(A)", "$", "$$", "$(touch /tmp/owned)", "; exit 9", "'\"", "a\nb", "ü"]

# What depends on kubectl itself; of everything else, one request of each kind is enough.
with_kubectl = pytest.mark.parametrize(
    "kubectl_program", [pytest.param("kubectl", marks=pytest.mark.slow)], indirect=True
)


@pytest.fixture
def steps(kubernetes):  # noqa: C901 - a table of small functions
    """What may happen in a cluster, each as a function without arguments."""

    def pod(**status):
        return lambda: kubernetes.pod_status(NAME, **status)

    def fail(**status):
        def happen():
            kubernetes.pod_status(NAME, phase="Failed", **status)
            kubernetes.fail(NAME, "BackoffLimitExceeded", "the specified backoff limit")

        return happen

    def condition(kind, reason, value="True", message=""):
        return {"type": kind, "status": value, "reason": reason, "message": message}

    def waiting(reason, message=""):
        state = container_status(waiting={"reason": reason, "message": message})
        return pod(phase="Pending", containerStatuses=[state])

    def terminated(code, reason):
        return [container_status(terminated={"exitCode": code, "reason": reason})]

    def disruption(reason):
        return fail(conditions=[condition("DisruptionTarget", reason, message="why")])

    def lose_node():
        target = condition("DisruptionTarget", "DeletionByTaintManager")
        kubernetes.pod_status(NAME, phase="Running", conditions=[target])
        kubernetes.pods[NAME]["metadata"]["deletionTimestamp"] = NOW

    def refuse_pod():
        kubernetes.pods.clear()
        kubernetes.events.append(event("exceeded quota: gpus, requested: nvidia.com/gpu=1"))

    def drop_pod():
        kubernetes.pods.clear()
        message = f"Pod perfledger/{NAME} has condition DisruptionTarget matching FailJob rule"
        kubernetes.fail(NAME, "PodFailurePolicy", message)

    unschedulable = condition("PodScheduled", "Unschedulable", "False", "0/3 nodes have a GPU")
    return {
        "run": pod(phase="Running"),
        "succeed": lambda: kubernetes.end(NAME, 0),
        "exit 2": lambda: kubernetes.end(NAME, 2),
        "no room": pod(phase="Pending", conditions=[unschedulable]),
        "no image": waiting("ErrImagePull", "manifest unknown"),
        "no image yet": waiting("ImagePullBackOff", "Back-off pulling image"),
        "no secret": waiting("CreateContainerConfigError", 'secret "hub" not found'),
        "container begins": waiting("ContainerCreating"),
        "no memory": fail(containerStatuses=terminated(137, "OOMKilled")),
        "a child without memory": fail(containerStatuses=terminated(1, "OOMKilled")),
        "no command": fail(containerStatuses=terminated(128, "StartError")),
        "evict": fail(reason="Evicted", message="The node was low on resource: memory."),
        "time limit": fail(reason="DeadlineExceeded", message="longer than the deadline"),
        "preempt": disruption("PreemptionByScheduler"),
        "drain": disruption("EvictionByEvictionAPI"),
        "lose node": lose_node,
        "drop pod": drop_pod,
        "Job deadline": lambda: kubernetes.fail(NAME, "DeadlineExceeded"),
        "delete Job": lambda: kubernetes.forget(NAME),
        "refuse pod": refuse_pod,
        "admit": lambda: kubernetes.begin(NAME),
    }


def event(message):
    return {
        "metadata": {"name": f"{NAME}.1", "namespace": "perfledger"},
        "involvedObject": {"kind": "Job", "name": NAME},
        "type": "Warning",
        "reason": "FailedCreate",
        "message": message,
    }


# What happens at each poll; exit status and reason at the end.
CASES = {
    "success": (["run", "succeed"], 0, ""),
    "a failed check": (["run", "exit 2"], 2, ""),
    "a killed child": (["run", "a child without memory"], 1, ""),
    "waiting": (["no room", "no room", "run", "succeed"], 0, ""),
    "never room": (["no room"], None, "did not start within 60 minutes (Unschedulable: 0/3 nodes"),
    "a registry comes back": (["no image", "container begins", "run", "succeed"], 0, ""),
    "no image": (["no image", "no image yet"], None, "within 10 minutes (ImagePullBackOff: Back"),
    "no secret": (["no secret"], None, "CreateContainerConfigError: secret"),
    "out of memory": (["run", "no memory"], None, "used more memory than its limit"),
    "no such command": (["no command"], None, "its command did not start (gpu7)"),
    "evicted": (["run", "evict"], None, "its node evicted it (Evicted: The node was low"),
    "time limit": (["run", "time limit"], None, "ended it at its time limit (DeadlineExceeded"),
    "the Job's deadline": (["run", "Job deadline"], None, "within its wait and time limits"),
    "preempted": (["run", "preempt"], None, "a pod of higher priority preempted it (Preemption"),
    "drained": (["run", "drain"], None, "was evicted from its node (EvictionByEvictionAPI: why"),
    "node lost": (["run", "lose node"], None, "its node was lost or tainted (gpu7)"),
    "pod gone": (["run", "drop pod"], None, "its pod is gone (PodFailurePolicy: Pod perfledger/"),
    "Job deleted": (["run", "delete Job"], None, "somebody deleted its Job"),
    "quota of pods": (["refuse pod"], None, "(FailedCreate: exceeded quota: gpus"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_happens_to_a_pod_ends_in_the_right_state(run, kubernetes, steps, case):
    names, exit_status, reason = CASES[case]
    done = run([steps[name] for name in names])

    assert done.ending.exit_status == exit_status
    assert reason in done.ending.reason
    assert kubernetes.began == 1
    assert not kubernetes.jobs
    assert ("it runs on gpu7" in done.lines) == ("run" in names)


SUBMIT_FAULTS = {
    "a lost answer": Fault("create", "jobs", is_done=True),
    "a lost request": Fault("create", "jobs"),
    "an error after it was created": Fault("create", "jobs", 500, "InternalError", is_done=True),
    "a busy server": Fault("create", "jobs", 429, "TooManyRequests"),
    "a broken server": Fault("create", "jobs", 500, "InternalError", "etcd has no leader"),
    "a server that ends": Fault("create", "jobs", 503, "ServiceUnavailable"),
    "a timeout of the server": Fault("create", "jobs", 504, "Timeout", is_done=True),
}


@pytest.mark.parametrize("fault", SUBMIT_FAULTS)
def test_a_job_is_created_once_whatever_becomes_of_the_answer(run, kubernetes, steps, fault):
    kubernetes.faults = [SUBMIT_FAULTS[fault]]
    done = run([steps["run"], steps["succeed"]])

    assert done.ending.exit_status == 0
    assert kubernetes.began == 1
    assert kubernetes.requests.count(("create", "jobs")) == 2


@pytest.mark.slow(ci_only=True)
@with_kubectl
def test_a_server_that_hangs_is_asked_again(make_launcher, make_submission, kubernetes):
    kubernetes.faults = [Fault("create", "jobs", is_done=True, is_silent=True)]
    make_launcher(request_timeout_s=1).submit(make_submission())

    assert kubernetes.began == 1


@with_kubectl
@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (401, "Unauthorized", "You must be logged in to the server"),
        (403, "Forbidden", "exceeded quota: jobs, requested: count/jobs.batch=1"),
        (403, "Forbidden", "jobs.batch is forbidden: User cannot create resource"),
        (400, "BadRequest", 'strict decoding error: unknown field "spec.x"'),
        (422, "Invalid", "is invalid"),
    ],
)
def test_a_refusal_is_final_and_says_why(run, kubernetes, code, reason, message):
    kubernetes.faults = [Fault("create", "jobs", code, reason, message)]
    with pytest.raises(LauncherError, match=message.partition(":")[0].replace(".", r"\.")):
        run()

    assert kubernetes.requests.count(("create", "jobs")) == 1
    assert not kubernetes.began


@pytest.mark.parametrize("resource", ["jobs", "pods"])
def test_a_server_that_is_away_for_a_while_loses_nothing(run, kubernetes, steps, resource):
    verb = "get" if resource == "jobs" else "list"
    faults = [Fault(verb, resource), Fault(verb, resource, 500, "InternalError")]

    def go_away():
        kubernetes.faults = faults

    done = run([steps["run"], go_away, lambda: None, steps["exit 2"]])

    assert done.ending.exit_status == 2


def test_a_server_that_stays_away_is_given_up(run, kubernetes):
    kubernetes.faults = [Fault("get", "jobs", 500, "InternalError") for _ in range(9)]
    done = run()

    assert done.ending.exit_status is None
    assert "no answer about it for" in done.ending.reason
    assert not kubernetes.jobs


def test_kueue_admits_a_job_takes_it_back_and_admits_it_again(run, kubernetes, steps):
    def take_back():
        kubernetes.jobs[NAME]["spec"]["suspend"] = True
        kubernetes.pods.clear()

    polls = [lambda: None, steps["admit"], steps["run"], take_back, steps["admit"], steps["run"]]
    done = run([*polls, steps["succeed"]], queue="measuring", queue_priority="nightly")

    assert done.ending.exit_status == 0
    waits = "it waits again: it is suspended, perhaps until Kueue admits it"
    assert done.lines == ["it runs on gpu7", waits, "it runs on gpu7", "it ended on gpu7"]


def test_a_runner_that_was_killed_before_it_knew_finds_its_job(
    make_launcher, make_submission, kubernetes
):
    submission = make_submission()
    make_launcher().submit(submission)  # and this runner is gone
    other = make_launcher()
    other.submit(submission)
    kubernetes.end(NAME, 2)

    assert other.status(submission).exit_status == 2
    assert kubernetes.began == 1


def test_a_job_of_the_same_name_that_still_ends_is_waited_for(
    make_launcher, make_submission, kubernetes
):
    submission = make_submission()
    make_launcher().submit(submission)
    kubernetes.jobs[NAME]["metadata"]["deletionTimestamp"] = NOW
    waits = []

    def wait(seconds):
        waits.append(seconds)
        kubernetes.forget(NAME)

    make_launcher(wait).submit(submission)

    assert waits == [1.0]
    assert kubernetes.began == 2


def test_cancelling_waits_for_the_pod_and_may_be_repeated(
    make_launcher, make_submission, kubernetes
):
    kubernetes.runs_pods = True
    code = "import signal; print('begun', flush=True); signal.pause()"
    launcher = make_launcher(wait=threading.Event().wait)
    launcher.submit(make_submission(code))
    process = kubernetes.processes[NAME]
    kubernetes.faults = [Fault("delete", "jobs", is_done=True), Fault("get", "jobs")]
    launcher.poll_s = 0.01
    launcher.cancel(NAME)
    launcher.cancel(NAME)

    assert process.poll() is not None
    assert not kubernetes.jobs


def test_a_pod_that_does_not_end_is_said_to_run(make_launcher, make_submission, kubernetes):
    now = [0.0]

    def wait(seconds):
        now[0] += 30 * seconds

    launcher = make_launcher(wait, clock=lambda: now[0])
    launcher.submit(make_submission())
    kubernetes.delete = lambda _: None

    with pytest.raises(LauncherError, match="has not ended 120 s after"):
        launcher.cancel(NAME)


@pytest.mark.slow(ci_only=True)
@with_kubectl
def test_a_pod_gets_its_words_as_they_are_and_secrets_by_reference(
    make_launcher, make_submission, kubernetes, tmp_path
):
    kubernetes.runs_pods, kubernetes.secrets = True, {("hub", "token"): "s3cret"}
    words = (sys.executable, "-c", ECHO, *HOSTILE)
    submission = make_submission(command=words, environment=os.environ | {"B": "hidden"})
    launcher = make_launcher(
        environment={"C": "$(A)"},
        secret_environment={"A": SecretReference(name="hub", key="token")},
    )
    launcher.submit(submission)
    manifest = json.dumps(kubernetes.jobs[NAME])
    for thread in kubernetes.threads:
        thread.join()
    status = launcher.status(submission)
    launcher.collect(submission)

    assert (status.state, status.exit_status, status.node) == (SubmissionState.ENDED, 2, NODE)
    assert json.loads(submission.log.read_text()) == [HOSTILE, str(tmp_path), "s3cret", False]
    assert "s3cret" not in manifest
    assert "hidden" not in manifest


@pytest.mark.parametrize("exit_status", [0, 1, 3])
def test_a_bundle_that_does_not_arrive_is_waited_for(
    make_launcher, make_submission, kubernetes, exit_status
):
    now = [0.0]
    launcher, submission = make_launcher(clock=lambda: now[0]), make_submission()
    launcher.submit(submission)
    kubernetes.end(NAME, exit_status)
    states = []
    for now[0] in (0.0, RESULT_WAIT_S - 1, RESULT_WAIT_S):
        states.append(launcher.status(submission).state)
    now[0] = 1.0
    submission.bundle.write_text("{}")

    assert states == ["running", "running", "ended"]
    assert launcher.status(submission).state is SubmissionState.ENDED


@pytest.mark.parametrize("fault", [Fault("get", "pods/log", 500, "InternalError"), None])
def test_a_log_that_is_lost_costs_no_result(run, kubernetes, steps, fault):
    def end():
        steps["exit 2"]()
        if fault is None:
            kubernetes.pods.clear()
        else:
            kubernetes.faults = [fault]

    done = run([steps["run"], end])

    assert done.ending.exit_status == (None if fault is None else 2)
    assert done.submission.log.read_text().startswith("Its ")


@with_kubectl
def test_a_kubectl_that_hangs_or_is_missing_is_an_error(
    make_launcher, make_submission, monkeypatch, tmp_path
):
    waits = []
    hanging = tmp_path / "kubectl"
    hanging.write_text(f"#!{sys.executable}\nimport signal\nsignal.pause()\n")
    hanging.chmod(0o755)
    monkeypatch.setattr(engine_tool, "TOOL_TIMEOUT_S", 0.05)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LauncherError, match="did not answer within"):
        make_launcher(waits.append).submit(make_submission())
    hanging.unlink()
    with pytest.raises(LauncherError, match="kubectl does not start"):
        make_launcher(waits.append).submit(make_submission())

    assert len(waits) == 4


@pytest.mark.slow(ci_only=True)
@with_kubectl
def test_no_more_rights_are_given_than_used(run, kubernetes, steps):
    run([steps["refuse pod"], steps["admit"], steps["run"], steps["exit 2"]])

    granted_verbs = {
        (verb, resource)
        for rule in kubernetes.rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert set(kubernetes.requests) == granted_verbs


def test_without_the_right_to_read_events_a_job_waits_without_a_reason(
    make_launcher, make_submission, kubernetes
):
    kubernetes.rules = [rule for rule in kubernetes.rules if "events" not in rule["resources"]]
    launcher, submission = make_launcher(), make_submission()
    launcher.submit(submission)
    kubernetes.pods.clear()
    status = launcher.status(submission)

    assert (status.state, status.reason) == (SubmissionState.WAITING, "")
