import pytest

from perfledger.bundle import Commitment, CostPolicy
from perfledger_service.errors import SettingsError
from perfledger_service.settings.check import seconds
from perfledger_service.settings.service import service_settings, upload_settings
from perfledger_service.settings.sources import (
    MAX_CONFIG_BYTES,
    check_settings,
    file_table,
    origins_of,
)

FILE = b"""
[tool.perfledger]
margin = 0.1
budget = "2m"
[tool.perfledger.params."gpt:train_step"]
batch = [8, 64]
[[tool.perfledger.fleet]]
workload = "gpt:*"
where = "p5.48xlarge/on_demand"
device_hours_per_year = 20000
"""

FLEET = {"workload": "x", "where": "y", "device_hours_per_year": 1}
LIMIT = {"team": "nlp", "fail_above_usd_per_year": 1}
POOL = {"where": "onprem-8xH100", "devices": 1, "busy_hours_per_year": 1}


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ("MARGIN", "BUDGET", "GITHUB_TOKEN", "UPLOAD_TOKEN", "DATABASE_URL"):
        monkeypatch.delenv(f"PERFLEDGER_{name}", raising=False)


def resolved(flags=None, content=FILE):
    table = file_table("pyproject.toml", content)
    return check_settings(flags=flags or {}, table=table, table_name="pyproject.toml")


def origin(origins, name):
    return next(one.origin for one in origins if one.name == name)


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_MARGIN", "0.2")
    monkeypatch.setenv("PERFLEDGER_BUDGET", "3m")

    settings, origins = resolved({"budget": "30s", "device": None})

    assert (settings.margin, settings.budget, settings.device) == (0.2, 30.0, "auto")
    assert origin(origins, "budget") == "command line"
    assert origin(origins, "margin") == "environment (PERFLEDGER_MARGIN)"
    assert origin(origins, "fleet") == "pyproject.toml"
    assert origin(origins, "device") == "default"


def test_tables_of_the_file_become_what_the_bundle_carries():
    settings, _ = resolved()

    assert settings.params == {"gpt:train_step": {"batch": (8, 64)}}
    assert settings.pricing.fleet[0].where == "p5.48xlarge/on_demand"
    assert settings.in_force()["paths"] == "benchmarks"


def test_commitments_and_policies_are_what_the_bundle_carries():
    settings, _ = resolved({"policy": [LIMIT | {"approvers": ["ann_acme"]}], "commitment": [POOL]})

    assert settings.pricing.policies == (
        CostPolicy(team="nlp", fail_above_usd_per_year=1.0, approvers=("ann_acme",)),
    )
    assert settings.pricing.commitments == (
        Commitment(where="onprem-8xH100", devices=1, busy_hours_per_year=1.0),
    )
    assert not {"policy", "commitment", "usage"} & set(settings.in_force())


def test_tails_are_judged_where_the_file_asks_for_them():
    settings, _ = resolved(content=b'[tool.perfledger]\nmetrics = ["step_time_p95"]')

    assert settings.metrics == ("step_time_p95",)
    assert settings.in_force()["metrics"] == "step_time_p95"


def test_a_metric_that_nobody_can_ask_for_is_an_error():
    with pytest.raises(SettingsError, match="metrics"):
        resolved(content=b'[tool.perfledger]\nmetrics = ["step_time_p42"]')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"[tool.perfledger]\nmargn = 1", "did you mean 'margin'", id="misspelt"),
        pytest.param(b"[tool.perfledger]\nzzzz = 1", "unknown setting 'zzzz'$", id="unknown"),
        pytest.param(b"[tool.perfledger", "not valid TOML", id="not TOML"),
        pytest.param(b"\xff\xfe", "not valid TOML", id="not UTF-8"),
        pytest.param(b"[tool]\nperfledger = 3", "not a table", id="not a table"),
        pytest.param(b"#" * (MAX_CONFIG_BYTES + 1), "larger than", id="too large"),
        pytest.param(b"x = " + b"[" * 100_000, "not valid TOML", id="too deep"),
        pytest.param(b"x = " + b"9" * 5000, "not valid TOML", id="an endless integer"),
    ],
)
def test_a_bad_file_is_an_error_that_says_what(content, message):
    with pytest.raises(SettingsError, match=message):
        file_table("pyproject.toml", content)


def test_a_pyproject_without_our_table_is_no_configuration():
    assert file_table("pyproject.toml", b"tool = 3") is None
    assert file_table("pyproject.toml", b"[project]\nname = 'x'") is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"margin": 0}, "'margin'"),
        ({"budget": "soon"}, "not a duration"),
        ({"budget": "0s"}, "not a duration"),
        ({"max_pairs": 3}, "'max_pairs'"),
        ({"device": "abacus"}, "'device'"),
        ({"fleet": [{"workload": "x", "hours": 1}]}, "'fleet"),
        ({"fleet": [FLEET | {"low": 2}]}, "must not decrease"),
        ({"fleet": [FLEET | {"high": 0.5}]}, "must not decrease"),
        ({"alpha": 0.5}, "'alpha'"),
        ({"fleet": [FLEET] * 1001}, "'fleet'"),
        ({"policy": [{"team": "nlp"}]}, "give fail_above_usd_per_year"),
        ({"policy": [LIMIT | {"ask_above_usd_per_year": 2}]}, "is more than fail_above"),
        ({"policy": [LIMIT | {"fail_above_usd_per_year": -1}]}, "'policy"),
        ({"policy": [LIMIT | {"fail_above_usd_per_year": float("inf")}]}, "'policy"),
        ({"policy": [LIMIT | {"approvers": ["a b"]}]}, "'policy"),
        ({"policy": [LIMIT | {"approvers": ["_a"]}]}, "'policy"),
        ({"policy": [LIMIT | {"approvers": ["a"] * 51}]}, "'policy"),
        ({"fleet": [FLEET | {"device_hours_per_year": float("inf")}]}, "'fleet"),
        ({"fleet": [FLEET | {"high": float("nan")}]}, "'fleet"),
        ({"policy": [LIMIT | {"fail_above_usd_per_year": float("nan")}]}, "'policy"),
        ({"policy": [LIMIT | {"fail_above_usd_per_year": "a lot"}]}, "'policy"),
        ({"policy": [LIMIT | {"workloads": []}]}, "'policy"),
        ({"policy": [LIMIT | {"team": ""}]}, "'policy"),
        ({"policy": [LIMIT | {"limit": 1}]}, "'policy"),
        ({"policy": 3}, "'policy"),
        ({"policy": [LIMIT] * 101}, "'policy'"),
        ({"commitment": [POOL | {"devices": 0}]}, "'commitment"),
        ({"commitment": [POOL | {"busy_hours_per_year": 8761}]}, "above the 8760 hours"),
        ({"commitment": [POOL | {"devices_per_job": 2}]}, "devices_per_job is"),
        ({"commitment": [POOL | {"job_hours": 0}]}, "'commitment"),
        ({"commitment": [POOL, POOL]}, "add their devices up"),
        ({"usage": [{"match": {}, "workload": "x", "where": "y"}]}, "'usage"),
    ],
)
def test_a_wrong_value_names_the_setting(flags, message):
    with pytest.raises(SettingsError, match=message):
        resolved(flags)


@pytest.mark.parametrize(
    ("text", "expected"), [("90", 90), ("250ms", 0.25), ("10m", 600), ("1.5h", 5400), (7, 7)]
)
def test_durations(text, expected):
    assert seconds(text) == expected


def test_secrets_are_never_shown(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_GITHUB_TOKEN", "canary-token")
    monkeypatch.setenv("PERFLEDGER_UPLOAD_TOKEN", "canary-token")
    settings = service_settings()

    shown = origins_of(settings) + origins_of(upload_settings())

    assert "canary" not in repr(shown) + repr(settings)
    assert origin(shown, "github_token") == "environment (PERFLEDGER_GITHUB_TOKEN)"
    assert next(one.value for one in shown if one.name == "upload_token") == "(set, hidden)"
    assert origin(shown, "database_url") == "default"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ledger:canary@db.example/ledger",
        "postgresql+psycopg://ledger:can@ry/canary@db.example/ledger",
        "postgresql+psycopg://db.example/ledger?user=ledger&password=canary&sslmode=require",
    ],
)
def test_a_databases_password_is_never_shown(monkeypatch, url):
    monkeypatch.setenv("PERFLEDGER_DATABASE_URL", url)

    shown = next(one.value for one in origins_of(service_settings()) if one.name == "database_url")

    assert "db.example/ledger" in shown
    assert "canary" not in shown
    assert "ry/" not in shown
