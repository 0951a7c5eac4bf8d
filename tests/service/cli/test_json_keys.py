"""Holds what every JSON document promises: within a version keys are only ever added."""

import json
import os
import re
import shlex
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfledger_cost_models.forecasting.forecast import ForecastQuantity
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind, RunnerJobState
from perfledger_service.cli.app import app
from perfledger_service.rendering.layout.writers import json_values
from perfledger_service.rendering.server.device import quarantine_document
from perfledger_service.rendering.server.job import cancelled_job_document
from perfledger_service.rendering.server.person import ended_sessions_document, role_document
from perfledger_service.rendering.server.token import revoked_token_document
from perfledger_service.values.people.person import Role
from tests.service.cli.golden_commands import GOLDEN
from tests.service.git_history import GitHistory

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_runs")]

EXAMPLES = Path(__file__).parents[3] / "examples"
# Each format and version, with the keys that it has promised.
PROMISED = Path(__file__).parent / "json_keys.json"
# The token of the project of the fixture `site`.
TOKEN = "pl_0123abcd_" + "s" * 43
UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
# Those whose JSON is no golden file.
COMMANDS = (
    "report bundle.json",
    pytest.param("bench doctor --pairs 5 --budget 10h", marks=pytest.mark.slow(ci_only=True)),
    "bench time pass --processes 2",
    "cost compare --accelerator H100-80GB",
    "cost tco",
    "cost payments p5.48xlarge/savings_plan/1y_all_upfront --devices 16 --start 2027-01-01",
    "cost api --input-usd 0.60 --output-usd 2.40 --at on-prem,p5",
    "fleet faults --faults 419 --devices 16384 --days 54",
    "cost project training/bert --source-accelerator A100-80GB --units-per-second 1200",
    "cost change bundle.json --config fleet.toml",
    "plan rightsize curve.json --p99 80ms --request-rate 120",
    "prices list",
    "prices check prices.csv",
    "prices diff packaged prices.csv",
    "init",
)
OF_DATABASE = (
    "server project add octo/models",
    "server project list",
    "server project accepted octo/models",
    "server reorder octo/models --trust runners",
    "server retry",
    "server prune --dry-run",
    "server event list octo/models",
    "server event triage octo/models",
    "server import usage usage.csv",
    "server import list",
    "server import remove 1",
    "server db upgrade",
    "server job schedule octo/models nightly",
    "server job budget octo/models",
    "server project actions octo/models --off",
    "server project rename octo/models octo/kernels",
    "server backup ledger.zip",
    "server export exported",
)


CANCELLED = RunnerJob(
    id="1" * 32,
    repository="octo/models",
    kind=RunnerJobKind.AB,
    machine_class="*",
    state=RunnerJobState.CANCELLED,
    reason="by the operator",
    created_at=datetime(2026, 11, 20, tzinfo=UTC),
    due_at=datetime(2026, 11, 20, tzinfo=UTC),
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command on the examples' files and returns what it prints."""
    path = tmp_path / "work"
    shutil.copytree(EXAMPLES / "review", path)
    shutil.copytree(EXAMPLES / "commands", path, dirs_exist_ok=True)
    monkeypatch.chdir(path)

    def run(command):
        arguments = shlex.split(command)
        return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout

    return run


def golden_documents():
    """Return the golden documents by their format and version."""
    documents = {}
    for path in sorted(GOLDEN.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        documents.setdefault(name_of(document), []).append(document)
    return documents


def name_of(document):
    return f"{document['format']} {document['version']}"


def hold(*documents):
    """Compare the keys of documents, taken together, with what their version has promised.

    One alone may lack what it has no case of, such as the events of a history without changes.
    """
    assert [amount for document in documents for amount in numbers_of_money(document)] == []
    promised = json.loads(PROMISED.read_text(encoding="utf-8"))
    name = name_of(documents[0])
    keys = {key for document in documents for key in keys_of(document)}
    if os.environ.get(UPDATE):
        promised[name] = sorted(keys | set(promised.get(name, ())))
        PROMISED.write_text(json.dumps(promised, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    assert name in promised, f"a new format or version: {UPDATE}=1 records its keys"
    assert set(promised[name]) - keys == set()


# Points of a curve to draw: a share of use and its USD.
CURVES = {"usd_per_hour_by_use"}
# Of a forecast, in its quantity; and of a quarter with its forecast.
FORECAST_AMOUNTS = {
    *("past", "periods", "total", "total_without_outliers"),
    *("year_before", "quarter_before", "low", "forecast", "high", "actual"),
}


def numbers_of_money(value, path=""):
    """Yield the paths of amounts of USD that are not decimal text."""
    match value:
        case dict():
            is_forecast = value.get("quantity") == ForecastQuantity.USD
            for key, each in value.items():
                if key not in CURVES:
                    unit = ".usd" if is_forecast and key in FORECAST_AMOUNTS else ""
                    yield from numbers_of_money(each, f"{path}{unit}.{key}")
        case list():
            for each in value:
                yield from numbers_of_money(each, path)
        case bool():
            return
        case int() | float() if "usd" in re.split(r"[._]", path):
            yield path, value


def keys_of(value, path=""):
    """Yield the path of every key, those of a list's entries together."""
    match value:
        case dict():
            for key, each in value.items():
                inner = f"{path}.{key}" if path else key
                yield inner
                yield from keys_of(each, inner)
        case list():
            for each in value:
                yield from keys_of(each, f"{path}[]")
        case _:
            return


@pytest.mark.parametrize("name", sorted(golden_documents()))
def test_golden_documents_keep_the_keys_of_their_version(name):
    hold(*golden_documents()[name])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_document_keeps_the_keys_of_its_version(run, command):
    hold(json.loads(run(f"{command} --json")))


@pytest.mark.slow(ci_only=True)
def test_documents_of_the_database_keep_the_keys_of_their_versions(run, database_url, monkeypatch):
    monkeypatch.setenv("PERFLEDGER_DATABASE_URL", database_url)

    for command in OF_DATABASE:
        hold(json.loads(run(f"{command} --json")))


@pytest.mark.parametrize(
    "document",
    [
        cancelled_job_document("octo/models", CANCELLED),
        quarantine_document("octo/models", "GPU-0", reason="its fan", is_quarantined=True),
        revoked_token_document("pl_0a1b2c3d"),
        role_document("alice", "octo/models", Role.VIEWER),
        ended_sessions_document("alice", 2),
    ],
    ids=lambda document: document.name,
)
def test_a_decision_keeps_the_keys_of_its_version(document):
    hold(json_values(document))


def test_an_upload_keeps_the_keys_of_its_version(run, site, monkeypatch):
    monkeypatch.setenv("PERFLEDGER_UPLOAD_TOKEN", TOKEN)

    hold(json.loads(run(f"upload bundle.json --upload-url {site.url} --json")))


@pytest.mark.slow(ci_only=True)
def test_the_review_keeps_the_keys_of_its_version(run):
    plan = "--plan plan.toml --bill bill.csv --quarter 2026Q3 --as-of 2026-11-22"
    run(f"review {plan} --output written --format json")

    hold(json.loads(Path("written/review.json").read_text(encoding="utf-8")))


def test_an_announced_check_keeps_the_keys_of_its_version(run, site, tmp_path, monkeypatch):
    monkeypatch.setenv("PERFLEDGER_UPLOAD_TOKEN", TOKEN)
    history = GitHistory(tmp_path / "clone")
    for _ in range(2):
        history.commit()
    monkeypatch.chdir(history.folder)

    hold(json.loads(run(f"announce --pull-request 7 --upload-url {site.url} --json")))
