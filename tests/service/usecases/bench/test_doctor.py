"""The examination of a machine asks for its quarantine, and measures on the cores of a check."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from perfledger_service.usecases.bench.doctor import DoctorRequest, examine_machine
from perfledger_service.usecases.inputs.upload_target import UploadTarget


class Silence:
    """Listens to no progress."""

    def stage(self, name):
        pass

    def measuring(self, workload, side, pair):
        pass

    def pair_done(self, *, pairs, waiting, seconds_left):
        pass


@pytest.mark.slow(ci_only=True)
def test_a_service_says_whether_the_device_is_in_quarantine(tmp_path, site, monkeypatch):
    monkeypatch.setenv("PERFLEDGER_HOST", "node-7")  # a container's host is unknown otherwise
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "perfledger.toml").write_text(f'python = "{sys.executable}"\n')
    target = UploadTarget(url=site.url, token="pl_0123abcd_" + "s" * 43)
    levels = []
    for service in (target, replace(target, token="pl_0123abcd_" + "x" * 43), None):
        request = DoctorRequest(pairs=0)
        view = examine_machine(tmp_path, request, service=service, progress=Silence())
        levels.append([each.level for each in view.findings if each.name == "quarantine"])

    assert levels == [["fine"], ["unknown"], []]


@pytest.mark.slow(ci_only=True)
def test_the_noise_floor_is_measured_on_the_cores_of_a_check(tmp_path, monkeypatch):
    usable = os.sched_getaffinity(0)
    core = min(usable)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "perfledger.toml").write_text(f'python = "{sys.executable}"\n')
    monkeypatch.setenv("PERFLEDGER_CORES", str(core))  # the tests' own says all

    view = examine_machine(tmp_path, DoctorRequest(pairs=5), progress=Silence())

    assert view.machine.cores == 1
    assert f"measured on core {core}, as `cores` says" in view.notes
    assert os.sched_getaffinity(0) == usable
