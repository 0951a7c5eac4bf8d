"""A load as the child does it: points one after the other, each server with a set-up of its own."""

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.load import Load
from perfledger.process import load_command
from perfledger.protocol import Command
from perfledger.records import FailureReason
from perfledger.variants.transformed_step import TransformedStep

HEADER = "import perfledger\n@perfledger.workload({arguments})\ndef work({parameters}):\n"
NOTHING = "    return lambda: None\n"
COUNTING = """
    with open("set-ups", "a") as file:
        file.write("set up\\n")
    steps = []
    def step():
        steps.append(1)
        with open("steps", "w") as file:
            file.write(str(len(steps)))
    return step
"""
BRIEF = Load(concurrency=(1, 2), rates=(1000.0,), seconds=0.01)
NAME = "benchmarks.a:work"


@pytest.fixture
def load(write, send_command):
    """Return a function that loads a workload with this body and returns the answer."""

    def run(brief=BRIEF, *, body=NOTHING, parameters="", arguments=""):
        text = HEADER.format(arguments=arguments, parameters=parameters) + body
        return send_command(write({"benchmarks/a.py": text}), Command.LOAD, load=brief)

    return run


def test_each_point_is_said_when_it_is_done_and_then_that_all_are(load):
    answer = load()

    events = [each["event"] for each in answer.messages]
    assert events == ["started", "sampling", *["served"] * 3, "loaded", "done"]
    assert [each["concurrency"] for each in answer.of("served")] == [1, 2, None]
    assert [each["offered_per_second"] for each in answer.of("served")] == [None, None, 1000.0]
    assert all(each["peak_bytes"] > 0 for each in answer.of("served"))
    assert answer.of("loaded")[0]["devices"] == 1


@pytest.mark.parametrize(
    ("parameters", "arguments", "batch"),
    [
        ("", "", 1),
        ("batch=8", "", 8),
        ("batch=8", "params={'batch': [32]}", 32),
        ("size=8", "", 1),
    ],
)
def test_a_request_holds_as_many_items_as_the_parameter_says(load, parameters, arguments, batch):
    answer = load(parameters=parameters, arguments=arguments)

    assert answer.of("loaded")[0]["batch"] == batch


@pytest.mark.parametrize("value", ["'large'", "2.5", "0", "True"])
def test_a_batch_that_is_no_number_of_items_fails_before_the_set_up(load, value, tmp_path):
    answer = load(body=COUNTING, parameters=f"batch={value}")

    assert "its parameter 'batch' is" in answer.about(NAME)["detail"]
    assert not (tmp_path / "set-ups").exists()


def test_every_server_has_a_set_up_of_its_own(load, tmp_path):
    answer = load(Load(concurrency=(3,), seconds=0.01, servers=3), body=COUNTING)

    assert answer.about(NAME)["event"] == "loaded"
    assert (tmp_path / "set-ups").read_text() == "set up\n" * 3


def test_one_server_is_set_up_once_for_all_points(load, tmp_path):
    load(body=COUNTING)

    assert (tmp_path / "set-ups").read_text() == "set up\n"


def test_a_step_that_fails_under_load_fails_the_workload(load):
    body = "    left = iter(range(20))\n    return lambda: next(left)\n"

    answer = load(body=body)

    assert answer.about(NAME)["detail"] == "StopIteration (benchmarks/a.py:5)"
    assert answer.of("loaded") == ()


def falling_back(passed):
    """Return a step of a variant that is found to be none after so many passed verifications."""
    remarks = [()] * passed

    def verify():
        if not remarks:
            raise UnmeasurableError(FailureReason.NOT_AVAILABLE, "it fell back")
        return remarks.pop()

    return TransformedStep(step=list, verify=verify)


@pytest.mark.parametrize("passed", [0, 1], ids=["after the warm-up", "after the load"])
def test_what_falls_back_is_not_loaded_as_the_variant(load, monkeypatch, passed):
    monkeypatch.setattr(load_command, "set_up_variant", lambda *_, **__: falling_back(passed))

    answer = load(Load(concurrency=(1,), seconds=0.01))

    assert answer.about(NAME)["reason"] == FailureReason.NOT_AVAILABLE
    assert len(answer.of("served")) == passed
    assert answer.of("loaded") == ()
