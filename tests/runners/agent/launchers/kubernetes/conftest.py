"""A launcher whose time passes at once, and a cluster in which something happens at each poll."""

from types import SimpleNamespace

import pytest

from perfledger_runners.launchers.engine_tool import ask_tool
from perfledger_runners.launchers.kubernetes.job_launcher import KubernetesLauncher
from perfledger_runners.launchers.kubernetes.job_manifest import KubernetesJobSettings
from perfledger_runners.launchers.kubernetes.kubectl import Kubectl
from perfledger_runners.launchers.launcher import run_submission
from tests.kubernetes_api import NAMESPACE
from tests.runners.agent.launchers.kubernetes.kubectl_stand_in import kubectl_stand_in
from tests.runners.agent.launchers.kubernetes.limits import LIMITS


@pytest.fixture
def make_settings(tmp_path):
    def make_settings(**values):
        defaults = {
            "image": "registry.example/runner:1",
            "claims": {str(tmp_path): "work"},
            "resources": {"cpu": 2, "memory": "4Gi"},
        }
        return KubernetesJobSettings(**(defaults | values))

    return make_settings


@pytest.fixture(params=["stand-in", pytest.param("kubectl", marks=pytest.mark.slow(ci_only=True))])
def kubectl_program(request, kubernetes):
    """A function in place of kubectl; in CI the same tests are repeated with kubectl itself."""
    return ask_tool if request.param == "kubectl" else kubectl_stand_in(kubernetes)


@pytest.fixture
def make_launcher(make_settings, kubectl_program):
    """Return a function that returns a launcher, which waits by calling `wait`."""

    def make_launcher(wait=lambda _: None, clock=lambda: 0.0, request_timeout_s=30, **settings):
        return KubernetesLauncher(
            settings=make_settings(**settings),
            limits=LIMITS,
            kubectl=Kubectl(
                namespace=NAMESPACE, request_timeout_s=request_timeout_s, program=kubectl_program
            ),
            clock=clock,
            wait=wait,
        )

    return make_launcher


@pytest.fixture
def run(make_launcher, make_submission):
    """Run a submission; before each poll one of `steps` happens, and four minutes pass."""

    def run(steps=(), *, is_over=lambda: False, **settings):
        submission = make_submission()
        now, lines, left = [0.0], [], [*steps]

        def wait(seconds):
            now[0] += seconds

        def wait_for_poll(_):
            now[0] += 250.0
            if left:
                left.pop(0)()

        launcher = make_launcher(wait=wait, clock=lambda: now[0], **settings)
        ending = run_submission(
            launcher,
            submission,
            LIMITS,
            is_over=is_over,
            say=lines.append,
            clock=lambda: now[0],
            wait=wait_for_poll,
        )
        return SimpleNamespace(ending=ending, lines=lines, submission=submission)

    return run
