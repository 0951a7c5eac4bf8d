import pytest

from perfledger_service.errors import SettingsError
from perfledger_service.settings.service import service_settings, upload_settings
from perfledger_service.settings.sources import (
    MAX_CONFIG_BYTES,
    check_settings,
    file_table,
    origins_of,
    start_settings,
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


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ("MARGIN", "BUDGET", "CORES", "GITHUB_TOKEN", "UPLOAD_TOKEN", "DATABASE_URL"):
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


@pytest.mark.parametrize(
    ("file", "suite", "paths"),
    [
        (b'paths = ["work"]', None, ("work",)),
        (b'paths = ["work"]', "perfledger", ("work",)),
        (b'paths = ["work"]', "asv", ("benchmarks",)),
        (b'paths = ["work"]\nsuite = "asv"', "asv", ("work",)),
        (b'paths = ["work"]\nsuite = "asv"', None, ("work",)),
        (b'paths = ["work"]\nsuite = "asv"', "pytest", ("benchmarks",)),
    ],
)
def test_the_paths_of_a_file_are_those_of_its_own_suite(file, suite, paths):
    settings, origins = resolved({"suite": suite}, b"[tool.perfledger]\n" + file)

    assert settings.paths == paths
    is_of_file = "paths" in settings.model_fields_set
    assert is_of_file == (paths == ("work",))
    assert origin(origins, "paths") == ("pyproject.toml" if is_of_file else "default")


def test_tables_of_the_file_become_what_the_bundle_carries():
    settings, _ = resolved()

    assert settings.params == {"gpt:train_step": {"batch": (8, 64)}}
    assert settings.pricing.fleet[0].where == "p5.48xlarge/on_demand"
    assert settings.in_force()["paths"] == "benchmarks"


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


def test_tables_are_written_as_their_file_has_them():
    """What one file's documentation shows is an error in the other, which says how to write it."""
    outer = b'[[fleet]]\nworkload = "gpt:*"\n'
    with pytest.raises(SettingsError, match=r"'tool': tables are \[\[fleet\]\] here"):
        file_table("perfledger.toml", outer.replace(b"fleet", b"tool.perfledger.fleet"))
    with pytest.raises(
        SettingsError, match=r"'fleet' outside \[tool\.perfledger\].*: move it there"
    ):
        file_table("pyproject.toml", outer + b"[tool.perfledger]\nmargin = 0.1\n")
    assert file_table("pyproject.toml", outer) is None
    assert file_table("perfledger.toml", outer) == {"fleet": [{"workload": "gpt:*"}]}


def test_a_pyproject_without_our_table_is_no_configuration():
    assert file_table("pyproject.toml", b"tool = 3") is None
    assert file_table("pyproject.toml", b"[project]\nname = 'x'") is None


def test_secrets_are_never_shown(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_GITHUB_TOKEN", "canary-token")
    monkeypatch.setenv("PERFLEDGER_UPLOAD_TOKEN", "canary-token")
    settings = service_settings()

    setting_origins = origins_of(settings) + origins_of(upload_settings())

    assert "canary" not in repr(setting_origins) + repr(settings)
    assert origin(setting_origins, "github_token") == "environment (PERFLEDGER_GITHUB_TOKEN)"
    assert (
        next(one.value for one in setting_origins if one.name == "upload_token") == "(set, hidden)"
    )
    assert origin(setting_origins, "database_url") == "default"


def test_what_a_check_is_started_with_is_kept_as_its_variables_have_it(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_BUDGET", "3m")
    monkeypatch.setenv("PERFLEDGER_PATHS", '["my work", "b"]')
    monkeypatch.setenv("PERFLEDGER_ISOLATED", "1")
    monkeypatch.setenv("PERFLEDGER_LOCK_FOLDER", "/var/lock")
    flags = {"budget": "30s", "skip": False, "device": None, "excluded_devices": ["A100"]}

    settings, _ = resolved(flags)

    assert start_settings(flags, settings) == {
        "budget": "30s",
        "isolated": "true",
        "paths": '["my work", "b"]',
        "skip": "false",
    }
