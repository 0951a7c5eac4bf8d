"""Fixtures of the tests of the command line."""

import re
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from perfledger_runners.measuring import profile_runs
from perfledger_service.cli.app import app
from perfledger_service.cli.output import Format, PrintedOutput
from tests.service.trace_reader import answer_here

FORMAT_BEGINS = "=== the result as {} ===\n"
OWN_PRICES = """\
[[price]]
provider = "aws"
sku = "p5.48xlarge"
region = "us-east-1"
accelerator = "H100-80GB"
count = 8
model = "savings_plan"
term = "3y_no_upfront"
per_hour = 21.5
currency = "USD"
as_of = 2026-10-01
source = "quote 815"
"""


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
def own_prices(tmp_path):
    """A file of the organisation: 3 years of p5.48xlarge cost 21.5 USD an hour for 8 devices."""
    path = tmp_path / "own.toml"
    path.write_text(OWN_PRICES)
    return path


@pytest.fixture(autouse=True)
def reader_here(monkeypatch):
    """Let the reader of traces run in this process: the tests of the agent start it in another."""
    monkeypatch.setattr(profile_runs, "_answer", answer_here)


@pytest.fixture
def run_in_formats(monkeypatch):
    """Return a function that lets a command print one result in several formats, by format."""
    write = PrintedOutput.write
    formats = []

    def write_each(output, result, renderers):
        for each in formats:
            if each in renderers:
                typer.echo(FORMAT_BEGINS.format(each), nl=False)
                write(replace(output, format=Format(each), json=False), result, renderers)

    def run_in_formats(run, wanted_device):
        """Run as often as a format is of another computation than those before."""
        texts = {}
        for each in wanted_device:
            if each not in texts:
                formats[:] = [one for one in wanted_device if one not in texts]
                before, *parts = re.split(FORMAT_BEGINS.format("(.*)"), run(each))
                texts |= dict(zip(parts[::2], parts[1::2], strict=True)) or {each: before}
        return texts

    monkeypatch.setattr(PrintedOutput, "write", write_each)
    return run_in_formats
