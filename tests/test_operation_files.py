"""Checks the systemd units and Kubernetes manifests: their form, and each name of ours in them."""

import os
import re
import subprocess
import sys
import tomllib
from configparser import RawConfigParser
from pathlib import Path
from subprocess import PIPE
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import yaml
from kubernetes_validate import ValidationError, validate

from perfledger_runners.machine.host_identity import HOST_VARIABLE
from perfledger_service.settings.check import CheckSettings
from perfledger_service.settings.service import PriceSettings, ServiceSettings, UploadSettings
from tests.product.command_lines import parse

ROOT = Path(__file__).parent.parent
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
UNITS = [ROOT / "service" / "perfledger.service", ROOT / "runners" / "perfledger-runner.service"]
# The worst exposure that systemd may compute, 0 to 100. A runner starts the code of others, which
# needs devices, compilers and, for a sandbox, namespaces.
MAX_EXPOSURE = {"perfledger.service": 20, "perfledger-runner.service": 60}
MANIFESTS = [ROOT / "service" / "kubernetes.yaml", ROOT / "runners" / "kubernetes.yaml"]
GUIDE = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text(encoding="utf-8")
ARC_GUIDE = (ROOT / "docs" / "how-to" / "arc.md").read_text(encoding="utf-8")
RESOURCES = [
    resource
    for file in MANIFESTS
    for resource in yaml.safe_load_all(file.read_text(encoding="utf-8"))
]
POD_OWNERS = [each for each in RESOURCES if each["kind"] in {"Deployment", "StatefulSet"}]
OLDEST_KUBERNETES, NEWEST_KUBERNETES = "1.27", "1.37"
SETTINGS = {
    f"PERFLEDGER_{name.upper()}"
    for model in (CheckSettings, ServiceSettings, UploadSettings, PriceSettings)
    for name in model.model_fields
}


def name_of(value):
    return value.name if isinstance(value, Path) else value["metadata"]["name"]


def unit_of(file):
    unit = RawConfigParser(strict=True)
    unit.read(file, encoding="utf-8")
    return unit


@pytest.mark.parametrize("file", UNITS, ids=name_of)
def test_a_unit_starts_commands_that_there_are(file):
    service = unit_of(file)["Service"]
    commands = [value for key, value in service.items() if key.startswith("exec")]

    assert commands
    for command in commands:
        parse(command.split())


def test_the_runner_has_more_time_to_stop_than_it_takes_to_drain():
    stop_minutes = int(unit_of(UNITS[1])["Service"]["TimeoutStopSec"].removesuffix("min"))
    pod = POD_OWNERS[1]["spec"]["template"]["spec"]
    *_, runner = containers_of(POD_OWNERS[1])

    usual = int(parse(["perfledger", "runner"])["drain"].removesuffix("m"))
    in_the_pod = int(parse(runner["command"])["drain"].removesuffix("m"))
    assert stop_minutes > usual
    assert pod["terminationGracePeriodSeconds"] > 60 * in_the_pod


@pytest.mark.parametrize("file", UNITS, ids=name_of)
def test_systemd_understands_a_unit_and_finds_it_confined(require_system, file, tmp_path):
    program = require_system("systemd-analyze", package="systemd")
    unit = tmp_path / file.name
    text = file.read_text(encoding="utf-8")
    # A program that is there, since ours is installed elsewhere.
    unit.write_text(re.sub(r"=/\S+/perfledger ", f"={sys.executable} ", text), encoding="utf-8")
    options = ["security", "--offline=true", f"--threshold={MAX_EXPOSURE[file.name]}"]

    form = subprocess.run([program, "verify", unit], capture_output=True, text=True, check=False)
    exposure = subprocess.run(
        [program, *options, unit], capture_output=True, text=True, check=False
    )

    assert (form.returncode, form.stderr) == (0, "")
    assert exposure.returncode == 0, exposure.stdout


def test_systemd_finds_what_is_planted(require_system, tmp_path):
    program = require_system("systemd-analyze", package="systemd")
    unit = tmp_path / "planted.service"
    unit.write_text(f"[Service]\nExecStart={sys.executable} -V\nProtectSystems=strict\n")

    done = subprocess.run([program, "verify", unit], capture_output=True, text=True, check=False)

    assert "ProtectSystems" in done.stderr


@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, NEWEST_KUBERNETES])
def test_manifests_have_the_form_that_kubernetes_publishes(version):
    for resource in RESOURCES:
        assert validate(resource, version, strict=True) == version


def test_a_manifest_with_an_unknown_field_has_not_that_form():
    planted = {**POD_OWNERS[0], "spec": {**POD_OWNERS[0]["spec"], "replica": 2}}

    with pytest.raises(ValidationError, match="replica"):
        validate(planted, NEWEST_KUBERNETES, strict=True)


def containers_of(resource):
    pod = resource["spec"]["template"]["spec"]
    return [*pod["initContainers"], *pod["containers"]]


def variables_of(container):
    return {each["name"]: each for each in container.get("env", ())}


@pytest.mark.parametrize("resource", POD_OWNERS, ids=name_of)
def test_a_pod_runs_commands_and_sets_variables_that_there_are(resource):
    for container in containers_of(resource):
        command = container["command"]
        if command[0] != "sh":
            parse(command)
        ours = {name for name in variables_of(container) if name.startswith("PERFLEDGER_")}
        assert ours <= SETTINGS


@pytest.mark.parametrize("version", [OLDEST_KUBERNETES, NEWEST_KUBERNETES])
def test_the_pod_of_arcs_guide_has_the_form_of_a_pod_and_only_variables_that_there_are(version):
    [block] = re.findall(r"(?ms)^```yaml\n(.*?)^```", ARC_GUIDE)
    template = yaml.safe_load(block)["template"]
    template["metadata"]["name"] = "runner"
    [runner] = template["spec"]["containers"]

    assert (
        validate({"apiVersion": "v1", "kind": "Pod", **template}, version, strict=True) == version
    )
    assert runner["name"] == "runner"  # the container that ARC starts the job in
    assert variables_of(runner).keys() == {HOST_VARIABLE}
    assert template["metadata"]["labels"] == POD_OWNERS[1]["spec"]["template"]["metadata"]["labels"]


def test_configuration_maps_have_settings_alone_and_texts():
    [configuration] = (each["data"] for each in RESOURCES if each["kind"] == "ConfigMap")

    assert configuration.keys() <= SETTINGS
    assert all(isinstance(value, str) for value in configuration.values())


@pytest.mark.parametrize("resource", POD_OWNERS, ids=name_of)
def test_a_pod_is_confined_and_its_image_is_this_version(resource):
    pod = resource["spec"]["template"]["spec"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    # PERFLEDGER_PORT of a service named perfledger is no setting of ours.
    assert not pod["enableServiceLinks"]
    for container in containers_of(resource):
        confined = container["securityContext"]
        assert confined["readOnlyRootFilesystem"]
        assert not confined["allowPrivilegeEscalation"]
        assert confined["capabilities"] == {"drop": ["ALL"]}
        assert container["image"].endswith(f":{VERSION}")
        assert {"requests", "limits"} <= container["resources"].keys()


def test_ports_and_probes_are_those_of_the_service():
    *_, service = containers_of(POD_OWNERS[0])
    [port] = service["ports"]
    probes = [each["httpGet"] for name, each in service.items() if name.endswith("Probe")]
    options = parse(service["command"])
    container = (ROOT / "service" / "Containerfile").read_text(encoding="utf-8")

    assert port["containerPort"] == options["port"]
    assert f"EXPOSE {options['port']}\n" in container
    assert len(probes) == 3
    assert {probe["port"] for probe in probes} == {port["name"]}
    assert {probe["path"] for probe in probes} == {"/healthz", "/readyz"}


def test_people_sign_in_where_others_reach_the_service():
    *_, service = containers_of(POD_OWNERS[0])
    [configuration] = (each["data"] for each in RESOURCES if each["kind"] == "ConfigMap")

    assert parse(service["command"])["host"] == "0.0.0.0"
    assert configuration["PERFLEDGER_GITHUB_CLIENT_ID"]
    assert "PERFLEDGER_GITHUB_CLIENT_SECRET" in variables_of(service)
    assert "PERFLEDGER_PUBLIC_READ" not in configuration
    assert urlsplit(configuration["PERFLEDGER_PUBLIC_URL"]).scheme == "https"


@pytest.mark.parametrize("resource", POD_OWNERS, ids=name_of)
def test_every_secret_is_made_in_the_guide(resource):
    pod = resource["spec"]["template"]["spec"]
    references = [
        variable["valueFrom"]["secretKeyRef"]
        for container in containers_of(resource)
        for variable in variables_of(container).values()
        if "valueFrom" in variable
    ]
    volumes = [each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each]
    mounted = re.findall(r"/etc/perfledger/git/([\w-]+)", str(pod))
    wanted_keys = {(each["name"], each["key"]) for each in references}
    wanted_keys |= {(name, key) for name in volumes for key in mounted}

    lines = GUIDE.replace("\\\n", " ")
    matches = re.findall(r"create secret generic ([\w-]+) (.*)", lines)
    keys = {
        (name, key) for name, rest in matches for key in re.findall(r"--from-file=([\w-]+)", rest)
    }
    assert wanted_keys
    assert wanted_keys <= keys


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: f"{each['kind']} {name_of(each)}")
def test_what_selects_pods_selects_some(resource):
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in POD_OWNERS]
    spec = resource.get("spec", {})
    selector = spec.get("podSelector") or spec.get("selector") or {}
    wanted_labels = selector.get("matchLabels", selector)

    assert not wanted_labels or wanted_labels in labels


@pytest.mark.slow(ci_only=True)
def test_replicas_that_start_at_once_upgrade_one_database_and_become_ready(new_database, tmp_path):
    upgrade, service = containers_of(POD_OWNERS[0])
    [configuration] = (each["data"] for each in RESOURCES if each["kind"] == "ConfigMap")
    program = Path(sys.executable).with_name("perfledger")
    # Not on all addresses of this machine, nor on one port; and without an App, which has a key.
    here = [*service["command"][1:-1], "127.0.0.1", "--port", "0"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **configuration}
    environment.pop("PERFLEDGER_GITHUB_APP_ID")
    environment["PERFLEDGER_GITHUB_CLIENT_SECRET"] = "client secret"

    with new_database() as url:
        environment["PERFLEDGER_DATABASE_URL"] = url

        def start(words):
            return subprocess.Popen(
                [program, *words],
                cwd=tmp_path,
                env=environment,
                stdout=PIPE,
                stderr=PIPE,
                text=True,
            )

        upgrades = [start(upgrade["command"][1:]) for _ in range(2)]
        printed = [each.communicate() for each in upgrades]
        assert [each.returncode for each in upgrades] == [0, 0], printed
        replicas = [start(here) for _ in range(2)]
        try:
            addresses = [each.stdout.readline().split()[-1] for each in replicas]
            statuses = [
                status_of(address + probe)
                for address in addresses
                for probe in ("/healthz", "/readyz")
            ]
        finally:
            for each in replicas:
                each.terminate()
                each.communicate()

    assert statuses == [200] * 4


def status_of(address):
    with urlopen(address) as answer:
        return answer.status
