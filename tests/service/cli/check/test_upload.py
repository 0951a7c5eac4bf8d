import json

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, UsageError

TOKEN = "pl_0123abcd_" + "s" * 43


def test_an_upload_prints_its_page_and_may_be_repeated(run, site, make_bundle, tmp_path):
    path = tmp_path / "bundle.json"
    path.write_text(make_bundle().to_json())
    words = ("upload", path, "--upload-url", site.url)

    first = run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN)
    second = run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN)

    assert first == second
    assert first.startswith("http")
    assert len(first.splitlines()) == 1


def test_an_upload_in_json_is_the_address_of_its_page(run, site, make_bundle, tmp_path):
    path = tmp_path / "bundle.json"
    path.write_text(make_bundle().to_json())
    words = ("upload", path, "--upload-url", site.url)

    document = json.loads(run(*words, "--json", PERFLEDGER_UPLOAD_TOKEN=TOKEN))

    assert document["url"] == run(*words, PERFLEDGER_UPLOAD_TOKEN=TOKEN).strip()


def test_without_a_service_the_command_says_what_to_set(run, tmp_path, monkeypatch):
    monkeypatch.delenv("PERFLEDGER_UPLOAD_URL", raising=False)

    with pytest.raises(UsageError, match="--upload-url or set PERFLEDGER_UPLOAD_URL"):
        run("upload", tmp_path / "bundle.json")


def test_a_bundle_that_is_not_there_is_named(run, site, tmp_path):
    with pytest.raises(NotFoundError, match=r"gone\.json"):
        run(
            *("upload", tmp_path / "gone.json", "--upload-url", site.url),
            PERFLEDGER_UPLOAD_TOKEN=TOKEN,
        )


def test_a_bundle_has_to_be_named():
    assert CliRunner().invoke(app, ["upload"]).exit_code == 2
