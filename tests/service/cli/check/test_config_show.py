import json

import pytest

from perfledger_service.errors import UsageError


def test_every_setting_is_shown_with_its_origin(run, tmp_path):
    (tmp_path / "perfledger.toml").write_text("margin = 0.02\n")

    output = run("config", "show", tmp_path, "--json", PERFLEDGER_MAX_PAIRS="6")
    rows = {row["name"]: row for row in json.loads(output)["settings"]}

    assert (rows["margin"]["value"], rows["margin"]["origin"]) == ("0.02", "perfledger.toml")
    assert rows["max_pairs"]["value"] == "6"
    assert "PERFLEDGER_MAX_PAIRS" in rows["max_pairs"]["origin"]


def test_a_secret_is_hidden(run, tmp_path):
    output = run("config", "show", tmp_path, PERFLEDGER_UPLOAD_TOKEN="pl_0123abcd_secret")

    assert "pl_0123abcd_secret" not in output
    assert "upload_token" in output.lower()


def test_foreign_text_is_no_markup(run, tmp_path):
    (tmp_path / "perfledger.toml").write_text('python = "[red]python[/red]"\n')

    assert "[red]python[/red]" in " ".join(run("config", "show", tmp_path).split())


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_not_a_folder_has_no_settings(run, tmp_path, name):
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match=f"{name} is not a folder: give the folder of a repo"):
        run("config", "show", tmp_path / name)
