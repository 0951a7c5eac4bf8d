import re
import tomllib

import msgspec
import pytest
import yaml
from kubernetes_validate import ValidationError, validate

from perfledger_runners.launchers.configuration import read_launcher_file
from perfledger_runners.launchers.kubernetes.job_launcher import KubernetesLauncher
from perfledger_runners.launchers.kubernetes.job_manifest import (
    MAX_ENTRIES,
    MAX_MANIFEST_BYTES,
    PodToleration,
    SecretReference,
    check_job_settings,
    job_manifest,
    literal_word,
)
from perfledger_runners.launchers.launcher import LauncherError, SubmissionLimits
from tests.kubernetes_api import GUIDE, NEWEST_KUBERNETES, OLDEST_KUBERNETES, expand
from tests.runners.agent.launchers.kubernetes.limits import LIMITS

TPU_LABELS = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice",
    "cloud.google.com/gke-tpu-topology": "2x2x1",
}
EVERYTHING = {
    "resources": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": 1, "ephemeral-storage": "9Gi"},
    "environment": {"A": "$(B)"},
    "secret_environment": {"TOKEN": SecretReference(name="hub", key="token")},
    "node_selector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
    "tolerations": (
        PodToleration(key="nvidia.com/gpu"),
        PodToleration(key="use", value="measuring", effect="NoExecute"),
    ),
    "image_pull_secrets": ("registry",),
    "priority_class": "measuring",
    "queue": "gpus",
    "queue_priority": "nightly",
    "user": 1000,
    "group": 1000,
}


@pytest.fixture
def manifest(make_settings, make_submission):
    def manifest(*, limits=LIMITS, submission=None, **settings):
        chosen = make_settings(**settings)
        check_job_settings(chosen)
        return msgspec.json.decode(job_manifest(submission or make_submission(), chosen, limits))

    return manifest


@pytest.mark.parametrize("settings", [{}, EVERYTHING], ids=["least", "everything"])
@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, NEWEST_KUBERNETES])
def test_a_manifest_has_the_form_that_kubernetes_publishes(manifest, version, settings):
    job = manifest(**settings)

    assert validate(job, version, strict=True) == version
    with pytest.raises(ValidationError):
        validate({**job, "spec": {**job["spec"], "backOffLimit": 1}}, version, strict=True)


def test_a_job_runs_once_and_ends_by_itself(manifest):
    spec = manifest()["spec"]
    pod = spec["template"]["spec"]

    assert (spec["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    assert (pod["activeDeadlineSeconds"], spec["activeDeadlineSeconds"]) == (600, 4200)
    assert spec["ttlSecondsAfterFinished"] == 86_400
    endless = manifest(limits=SubmissionLimits())["spec"]
    assert "activeDeadlineSeconds" not in endless.keys() | endless["template"]["spec"].keys()


def test_a_pod_is_confined_and_has_cores_of_its_own(manifest):
    pod = manifest(**EVERYTHING)["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert not pod["automountServiceAccountToken"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == 1000
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_kueue_gets_a_job_that_is_suspended(manifest):
    job = manifest(**EVERYTHING)

    assert job["spec"]["suspend"]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "gpus"
    assert job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "nightly"
    assert not manifest()["spec"]["suspend"]


@pytest.mark.parametrize("word", ["$", "$$", "$(A)", "$$(A)", "$$$(A)", "a$(A)$", "$(", "plain"])
def test_kubernetes_replaces_nothing_in_a_word(word):
    assert expand(literal_word(word), {"A": "replaced"}) == word


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"resources": {"memory": "4Gi"}}, "lacks cpu"),
        ({"resources": {"cpu": 1}}, "lacks memory"),
        ({"resources": {"cpu": "1500m", "memory": "4Gi"}}, "cpu = '1500m': write a whole"),
        ({"resources": {"cpu": 0, "memory": "4Gi"}}, "cpu = '0': write a whole"),
        ({"resources": {"cpu": 1, "memory": 4}}, "memory = '4': write"),
        ({"resources": {"cpu": 1, "memory": "4Gi", "gpu": 1}}, "contains 'gpu'"),
        ({"resources": {"cpu": 1, "memory": "4Gi", "nvidia.com/gpu": "half"}}, "a whole number"),
        ({"resources": {"cpu": 1, "memory": "4Gi", "google.com/tpu": 4}}, "gke-tpu-accelerator"),
        ({"claims": {}}, "`claims` is empty"),
        ({"claims": {"home": "work"}}, "write an absolute path"),
        ({"claims": {"/": "work"}}, "write an absolute path"),
        ({"claims": {"/a/../b": "work"}}, "write an absolute path"),
        ({"queue_priority": "nightly"}, "it needs `queue`"),
        ({"environment": {f"A{each}": "" for each in range(MAX_ENTRIES + 1)}}, "may have 50"),
    ],
)
def test_settings_with_which_no_pod_measures_are_refused(make_settings, settings, problem):
    with pytest.raises(LauncherError, match=re.escape(problem)):
        check_job_settings(make_settings(**settings))


def test_tpus_mig_slices_and_processors_alone_are_taken(make_settings):
    tpu = {"cpu": 8, "memory": "64Gi", "google.com/tpu": 4}
    mig = {"cpu": 8, "memory": "64Gi", "nvidia.com/mig-1g.10gb": 1}
    check_job_settings(make_settings(resources=tpu, node_selector=TPU_LABELS))
    check_job_settings(make_settings(resources=mig))
    check_job_settings(make_settings())


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"command": ("check", "\udc80")}, "a word that is not UTF-8"),
        ({"command": ("check", "x" * MAX_MANIFEST_BYTES)}, "the command is too long"),
        ({"name": "Not_A_Label"}, "not a valid name of a Job"),
        ({"name": "a" * 64}, "not a valid name of a Job"),
    ],
)
def test_a_submission_that_cannot_run_there_is_refused(manifest, make_submission, values, problem):
    with pytest.raises(LauncherError, match=problem):
        manifest(submission=make_submission(**values))


def test_a_bundle_that_only_the_runner_would_see_is_refused(manifest, tmp_path):
    with pytest.raises(LauncherError, match="on none of the `claims`"):
        manifest(claims={str(tmp_path / "elsewhere"): "work"})


def test_the_guide_has_a_launcher_file_and_rights_that_can_be_copied(tmp_path):
    text = GUIDE.read_text(encoding="utf-8")
    file = tmp_path / "kubernetes.toml"
    whole_match, *parts = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (rights,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    for part in parts:
        key = next(iter(tomllib.loads(part)["job"]))
        without = "\n".join(line for line in whole_match.splitlines() if not line.startswith(key))
        file.write_text(f"{without}\n{part.removeprefix('[job]')}")
        read_launcher_file(file, pytest.fail)
    file.write_text(whole_match)
    choice = read_launcher_file(file, pytest.fail)

    assert len(parts) == 2
    assert not choice.is_local
    assert isinstance(choice.launcher, KubernetesLauncher)
    assert choice.launcher.settings.resources["nvidia.com/gpu"] == 1
    for document in yaml.safe_load_all(rights):
        assert validate(document, NEWEST_KUBERNETES, strict=True) == NEWEST_KUBERNETES


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('namespace = "a/../b"', "matching regex"),
        ('namespace = "Ab"', "matching regex"),
        ('namespace = ""', "matching regex"),
        ('namespace = "a?b"', "matching regex"),
        ('context = "a\\u0000b"', "matching regex"),
        ('job.image = "-x"', "matching regex"),
        ("job.user = 0", ">= 1"),
        ("job.privileged = true", "unknown field `privileged`"),
        ('job.queue = ""', "length >= 1"),
        ('job.node_selector = {"a b" = "c"}', "matching regex"),
        ('job.node_selector = {"a" = "b\\n"}', "matching regex"),
        ('job.secret_environment = {T = "s3cret"}', "Expected `object`"),
        ('job.secret_environment = {"A=B" = {name = "a", key = "b"}}', "matching regex"),
        ('job.tolerations = [{key = "a", effect = "Never"}]', "Invalid enum value 'Never'"),
    ],
)
def test_a_wrong_setting_of_the_launcher_file_is_named(tmp_path, line, problem):
    name = line.partition(" ")[0]
    lines = {
        "kind": 'kind = "kubernetes"',
        "namespace": 'namespace = "perfledger"',
        "job.image": 'job.image = "a:1"',
        "job.resources": 'job.resources = {cpu = 1, memory = "1Gi"}',
        "job.claims": 'job.claims = {"/home/perfledger" = "work"}',
    }
    file = tmp_path / "kubernetes.toml"
    file.write_text("\n".join((lines | {name: line}).values()))
    with pytest.raises(LauncherError, match=problem):
        read_launcher_file(file, pytest.fail)
