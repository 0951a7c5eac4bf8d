"""Tests that the examination of a machine asks the service for its quarantine."""

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
