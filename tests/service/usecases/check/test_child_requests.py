"""Effort and interleaving of the requests that a check sends to its children."""

from pathlib import Path

from perfledger.protocol import MeasuringEffort
from perfledger.records import Device, Side
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.child_requests import (
    INTERLEAVED_SECONDS,
    interleaved_requests,
    request_for,
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


def test_energy_is_read_for_longer_than_steps_are_timed():
    effort = requests(metrics=("energy_per_step",))[Side.HEAD].effort

    assert effort.min_seconds > USUAL.min_seconds
    assert effort.max_seconds >= effort.min_seconds


def test_steps_are_interleaved_on_a_cpu_only():
    asked = requests()

    assert all(each.is_interleaved for each in interleaved_requests(asked, Device.CPU).values())
    assert interleaved_requests(asked, Device.CUDA) == asked


def test_turns_are_short_unless_a_metric_needs_more_steps():
    tails = requests(metrics=("step_time_p99",))

    assert efforts(interleaved_requests(requests(), Device.CPU)) == {INTERLEAVED_SECONDS}
    assert efforts(interleaved_requests(tails, Device.CPU)) == {USUAL.max_seconds}
