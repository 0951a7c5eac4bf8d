"""Fixtures of the tests of `perfledger trace`."""

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def trace():
    def trace(*arguments):
        done = CliRunner().invoke(app, ["trace", *arguments], env={"COLUMNS": "80"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0
        return done.stdout.replace("\u00a0", " ")

    return trace
