"""Fixtures of the tests of the command line."""

from functools import partial

import pytest
from typer.testing import CliRunner

from perfledger.protocol import MeasuringEffort
from perfledger_service.cli.app import app
from perfledger_service.usecases.check import child_requests


@pytest.fixture
def run():
    """Run a command that ends with a code and return what it prints; what it raises is raised."""

    def run(*words, code=0, **environment):
        environment = {"COLUMNS": "80", **environment}
        done = CliRunner().invoke(app, list(map(str, words)), env=environment)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.stdout
        return done.stdout

    return run


@pytest.fixture
def short_runs(monkeypatch):
    """Measure for a twentieth of the usual time, for tests that no verdict on a time decides."""
    brief = partial(MeasuringEffort, min_seconds=0.025, max_seconds=0.1)
    monkeypatch.setattr(child_requests, "MeasuringEffort", brief)
    monkeypatch.setattr(child_requests, "INTERLEAVED_SECONDS", 0.04)
