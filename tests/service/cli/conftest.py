"""Fixtures of the tests of the command line."""

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app


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
