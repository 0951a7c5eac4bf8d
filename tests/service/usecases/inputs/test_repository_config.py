"""Tests finding a repository's root and its configuration."""

import subprocess

import pytest

from perfledger_service.errors import SettingsError
from perfledger_service.settings.sources import MAX_CONFIG_BYTES
from perfledger_service.usecases.inputs.repository_config import configured_table, root_of


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text)

    return write


def test_a_folder_without_a_file_has_no_configuration(tmp_path):
    assert configured_table(tmp_path) is None


def test_our_own_file_goes_before_the_projects(tmp_path, write):
    write("pyproject.toml", "[tool.perfledger]\nmargin = 0.9\n")
    assert configured_table(tmp_path) == ("pyproject.toml", {"margin": 0.9})

    write("perfledger.toml", "margin = 0.05\n")

    assert configured_table(tmp_path) == ("perfledger.toml", {"margin": 0.05})


def test_an_empty_file_of_ours_is_a_configuration(tmp_path, write):
    write("perfledger.toml", "")
    write("pyproject.toml", "[tool.perfledger]\nmargin = 0.9\n")

    assert configured_table(tmp_path) == ("perfledger.toml", {})


def test_a_project_without_our_table_has_no_configuration(tmp_path, write):
    write("pyproject.toml", "[tool.ruff]\nline-length = 100\n")

    assert configured_table(tmp_path) is None


def test_a_folder_of_the_name_is_no_configuration(tmp_path):
    (tmp_path / "perfledger.toml").mkdir()

    assert configured_table(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("margin = ", r"perfledger\.toml is not valid TOML"),
        ("marginn = 0.1", "unknown setting 'marginn': did you mean 'margin'"),
        ("#" * (MAX_CONFIG_BYTES + 1), "larger than 1,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(tmp_path, write, text, message):
    write("perfledger.toml", text)

    with pytest.raises(SettingsError, match=message):
        configured_table(tmp_path)


def test_the_root_of_a_folder_is_that_of_its_repository(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "deep" / "down").mkdir(parents=True)

    assert root_of(tmp_path / "deep" / "down") == tmp_path


def test_a_folder_that_is_in_no_repository_is_its_own_root(tmp_path):
    assert root_of(tmp_path) == tmp_path
    assert root_of(tmp_path / "absent") == tmp_path / "absent"
