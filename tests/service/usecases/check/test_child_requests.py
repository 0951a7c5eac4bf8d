"""Effort and interleaving of the requests that a check sends to its children."""

from dataclasses import replace
from pathlib import Path

import pytest

from perfledger.protocol import MeasuringEffort
from perfledger.records import Device, Side
from perfledger_profiles.hardware.efficiency_metrics import MIN_ENERGY_SECONDS
from perfledger_runners.machine.telemetry import EDGE_SECONDS
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.child_requests import (
    ACCELERATOR_SECONDS,
    INTERLEAVED_SECONDS,
    request_for,
    requests_for_device,
)

USUAL = MeasuringEffort()


def requests(**settings):
    request = request_for(Path("/checkout"), Path("/repository"), CheckSettings(**settings))
    return {Side.BASE: request, Side.HEAD: request}


def efforts(sent):
    return {each.effort.max_seconds for each in sent.values()}


def test_a_request_names_the_checkout_and_the_repository():
    request = requests(paths=("a",), device="cpu")[Side.BASE]

    assert (request.root, request.repository) == ("/checkout", "/repository")
    assert (request.paths, request.device, request.effort) == (("a",), "cpu", USUAL)


def test_tails_need_more_steps_than_the_usual_metrics():
    request = requests(metrics=("step_time_p99",))[Side.HEAD]

    assert request.effort.min_steps >= 100
    assert request.effort.max_steps >= request.effort.min_steps


def test_energy_is_read_for_as_long_as_its_counter_needs():
    sent = requests_for_device(requests(metrics=("energy_per_step",)), Device.CUDA)
    effort = sent[Side.HEAD].effort

    assert effort.min_seconds == MIN_ENERGY_SECONDS
    assert effort.max_seconds >= effort.min_seconds


def test_steps_are_interleaved_on_a_cpu_only():
    asked_requests = requests()

    assert all(
        each.is_interleaved for each in requests_for_device(asked_requests, Device.CPU).values()
    )
    assert not any(
        each.is_interleaved for each in requests_for_device(asked_requests, Device.CUDA).values()
    )


@pytest.mark.parametrize("device", [Device.CUDA, Device.TPU])
def test_an_accelerator_is_read_for_a_second_and_at_the_edges_of_each_set_up(device):
    request = requests_for_device(requests(), device)[Side.BASE]

    assert request.effort == replace(
        USUAL, min_seconds=ACCELERATOR_SECONDS, edge_seconds=EDGE_SECONDS
    )


def test_turns_are_short_unless_a_metric_needs_more_steps():
    tails = requests(metrics=("step_time_p99",))

    assert efforts(requests_for_device(requests(), Device.CPU)) == {INTERLEAVED_SECONDS}
    assert efforts(requests_for_device(tails, Device.CPU)) == {USUAL.max_seconds}
