"""Tests what a machine learns of its quarantine, from a service that may lie or be away."""

import io
import json
from dataclasses import replace
from urllib.error import URLError

import pytest

from perfledger.records import Device, FindingLevel, Machine
from perfledger_runners.bundles import service_devices
from perfledger_runners.bundles.service_devices import quarantine_finding

URL, TOKEN = "http://127.0.0.1:9", "pl_0123abcd_" + "s" * 43
GPU = Machine(device=Device.CUDA, model="a GPU", uuid="GPU-1")
QUARANTINE = {"since": "2026-11-20T12:00:00+00:00", "reason": "it is\x1b[31m slow"}
DEVICE = {"name": "GPU-1", "kind": "cuda", "model": "a GPU", "quarantine": QUARANTINE}


class Answers:
    """An opener with one answer; an exception is raised instead."""

    def __init__(self, answer):
        self.answer = answer

    def open(self, fullurl, data=None, timeout=None):  # noqa: ARG002 - the opener's signature
        self.url = fullurl.full_url
        if isinstance(self.answer, Exception):
            raise self.answer
        return io.BytesIO(self.answer)


def finding(answer, machine=GPU):
    data = json.dumps({"devices": answer}).encode() if isinstance(answer, list) else answer
    opener = Answers(data)
    host_finding = quarantine_finding(URL, TOKEN, machine, opener=opener)
    assert opener.url == f"{URL}/api/v1/devices"
    return host_finding


def test_a_device_in_quarantine_is_said_so_with_since_and_reason():
    host_finding = finding([DEVICE | {"name": "GPU-0"}, DEVICE])

    assert host_finding.level is FindingLevel.NOISY
    assert "2026-11-20" in host_finding.detail
    assert "\x1b" not in host_finding.detail
    assert "server device release" in host_finding.advice


@pytest.mark.parametrize(
    "devices",
    [
        [],
        [DEVICE | {"quarantine": None}],
        [DEVICE | {"name": "GPU-2"}],
        [DEVICE | {"kind": "tpu"}],
    ],
)
def test_another_device_or_no_quarantine_is_fine(devices):
    assert finding(devices).level is FindingLevel.FINE


@pytest.mark.parametrize(
    ("listed", "level"),
    [
        ([DEVICE | {"name": "GPU-2"}], FindingLevel.UNKNOWN),  # it may be among those left out
        ([DEVICE | {"name": "GPU-2"}, DEVICE | {"quarantine": None}], FindingLevel.FINE),
    ],
)
def test_a_list_that_is_full_of_quarantines_does_not_tell_of_others(listed, level):
    answer = json.dumps({"devices": listed, "left_out": 7}).encode()

    assert finding(answer).level is level


CPU = Machine(device=Device.CPU, model="Xeon", cpu_model="Xeon", cores=8, host="a1")


@pytest.mark.parametrize(
    ("name", "level"),
    [("Xeon of host a1", FindingLevel.NOISY), ("Xeon of host b2", FindingLevel.FINE)],
)
def test_the_quarantine_of_a_cpu_is_that_of_its_host(name, level):
    device = DEVICE | {"kind": "cpu", "model": "Xeon", "name": name}

    assert finding([device], CPU).level is level


def test_a_cpu_of_an_unknown_host_is_not_known_to_be_in_no_quarantine():
    cpu = replace(CPU, host="")
    device = DEVICE | {"kind": "cpu", "model": "Xeon", "name": cpu.device_name}

    assert finding([device], cpu).level is FindingLevel.UNKNOWN


@pytest.mark.parametrize(("name", "level"), [("GPU-2", "noisy"), ("GPU-3", "fine")])
def test_the_quarantine_of_any_device_in_use_and_of_a_slices_gpu_is_said(name, level):
    both = replace(GPU, count=2, more_uuids=("GPU-2", "GPU-3"))
    piece = replace(GPU, uuid="MIG-1", parent_uuid="GPU-2")
    device = DEVICE | {"name": name, "model": "a whole GPU"}

    for machine in (both, piece):
        host_finding = finding([device], machine)
        assert host_finding.level == level
        assert (name in host_finding.detail) == (level == "noisy")


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"[]",
        b'{"devices": 1}',
        b"\xff",
        b"[" * 100_000,
        URLError("refused"),
    ],
)
def test_without_an_answer_it_is_unknown_and_why(answer):
    host_finding = finding(answer)

    assert host_finding.level is FindingLevel.UNKNOWN
    assert "unknown whether this device is in quarantine" in host_finding.detail
    assert TOKEN not in host_finding.detail


def test_a_huge_answer_is_unknown(monkeypatch):
    monkeypatch.setattr(service_devices, "MAX_ANSWER_BYTES", 10)

    assert finding([DEVICE]).level is FindingLevel.UNKNOWN


def test_a_huge_reason_is_cut():
    long = DEVICE | {"quarantine": QUARANTINE | {"reason": "x" * 100_000}}

    assert len(finding([long]).detail) < 500
