"""Tests what a workflow is told of a job."""

import json

import pytest

from perfledger_runners.launchers.github_actions.workflow_inputs import (
    MAX_INPUTS,
    workflow_inputs,
)
from perfledger_runners.launchers.launcher import LauncherError

HEAD, BASE = "a" * 40, "b" * 40
PROGRAM = ("/opt/tools/python", "-m", "perfledger_service")
HOSTILE = ["a b", "$(A)", "${{ secrets.A }}", "; exit 9", "'\"", "a\nb", "ü", "--head=x"]


@pytest.fixture
def inputs_of(make_submission, tmp_path):
    """Return a function that returns the inputs for perfledger's arguments."""

    def inputs_of(*words, before=()):
        bundle = f"--save-bundle={tmp_path / 'bundle.json'}"
        command = (*before, *PROGRAM, words[0], bundle, *words[1:])
        return workflow_inputs(make_submission(command=command))

    return inputs_of


def test_a_check_gets_its_words_and_the_paths_of_the_workflow(inputs_of):
    names = [f"--workload={name}" for name in HOSTILE]
    inputs = inputs_of("check", f"--base={BASE}", f"--head={HEAD}", *names)

    assert json.loads(inputs.pop("arguments")) == [
        "check",
        "--save-bundle=perfledger-job/bundle.json",
        f"--base={BASE}",
        f"--head={HEAD}",
        *names,
    ]
    assert inputs == {"name": "perfledger-1", "head": HEAD, "max_pairs": "", "spreads": ""}


def test_a_setting_before_the_program_is_an_input(inputs_of):
    before = ("env", "PERFLEDGER_MAX_PAIRS=8")

    assert inputs_of("check", f"--head={HEAD}", before=before)["max_pairs"] == "8"


def test_the_newest_commit_of_a_bisection_is_checked_out(inputs_of, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    inputs = inputs_of("history", "bisect", "--", f"--spreads={secret}", BASE, HEAD)

    assert inputs["head"] == HEAD
    assert inputs["spreads"] == ""  # what is after "--" is a workload, whatever it looks like
    assert json.loads(inputs["arguments"])[-4:] == ["--", f"--spreads={secret}", BASE, HEAD]


def test_spreads_go_along_as_a_text(inputs_of, tmp_path):
    file = tmp_path / "spreads.json"
    file.write_text('{"ü": 1}')
    inputs = inputs_of("check", f"--head={HEAD}", f"--spreads={file}")

    assert inputs["spreads"] == '{"ü": 1}'
    assert "--spreads=perfledger-job/spreads.json" in json.loads(inputs["arguments"])


@pytest.mark.parametrize("content", [None, b"\xff", b"1" * (MAX_INPUTS - 100), b"1" * MAX_INPUTS])
def test_a_check_goes_on_without_spreads_that_cannot_be_sent(inputs_of, tmp_path, content):
    file = tmp_path / "spreads.json"
    if content is not None:
        file.write_bytes(content)
    inputs = inputs_of("check", f"--head={HEAD}", f"--spreads={file}")

    assert inputs["spreads"] == ""
    assert "--spreads" not in inputs["arguments"]
    assert len(json.dumps(inputs)) <= MAX_INPUTS


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("check", "--head=main"), "'main' is not a hash"),
        (("check", f"--head={HEAD}\n"), "is not a hash"),
        (("history", "bisect", "--", "m:f", BASE, "-x"), "'-x' is not a hash"),
        (("check", f"--head={HEAD}", "--workload=" + "x" * MAX_INPUTS), "more workloads than fit"),
        (("bench", f"--head={HEAD}"), "a workflow can only run check or history"),
    ],
)
def test_a_command_that_no_workflow_can_run_is_refused(inputs_of, words, problem):
    with pytest.raises(LauncherError, match=problem):
        inputs_of(*words)
