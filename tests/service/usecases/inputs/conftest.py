"""Fixtures of the tests of what commands read."""

import pytest

from perfledger_runners.measuring import profile_runs
from tests.service.trace_reader import answer_here


@pytest.fixture
def reader_here(monkeypatch):
    """Let the reader of traces run in this process."""
    monkeypatch.setattr(profile_runs, "_answer", answer_here)
