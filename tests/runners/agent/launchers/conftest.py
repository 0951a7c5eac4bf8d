"""Submissions of small commands, and a launcher on paper."""

import os
import sys

import pytest

from perfledger_runners.launchers.launcher import (
    Submission,
    SubmissionState,
    SubmissionStatus,
)

WAITING = SubmissionStatus(state=SubmissionState.WAITING)
RUNNING = SubmissionStatus(state=SubmissionState.RUNNING, node="node1")
DONE = SubmissionStatus(state=SubmissionState.ENDED, exit_status=0)


@pytest.fixture
def make_submission(tmp_path):
    """Return a function that returns the submission of a Python program."""

    def make_submission(code="pass", **values):
        defaults = {
            "name": "perfledger-1",
            "command": (sys.executable, "-c", code),
            "folder": tmp_path,
            "environment": os.environ | {"A": "1"},
            "log": tmp_path / "job.log",
            "bundle": tmp_path / "bundle.json",
        }
        return Submission(**(defaults | values))

    return make_submission
