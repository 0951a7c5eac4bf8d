"""Tests `perfledger history suspects` and the page of a project: what is suspected."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from tests.service.suspects import an_alert, store_suspect

TOKEN = "pl_0123abcd_" + "s" * 43
HOSTILE = "gpt:<script>alert(1)</script>[x='$(reboot)']"


@pytest.fixture
def suspect(site, make_bundle):
    """Store a suspect and alerts of a workload, as judging an upload would."""

    def store(workload, **values):
        bundle = make_bundle(pull_request=None)
        upload = site.upload(bundle).json()["id"]
        store_suspect(site.engine, upload, bundle, workload=workload, **values)
        return upload

    return store


def test_the_command_prints_a_shell_script(site, suspect):
    suspect("gpt:step[batch=8]")
    done = CliRunner().invoke(
        app,
        ["history", "suspects", "--upload-url", site.url],
        env={"PERFLEDGER_UPLOAD_TOKEN": TOKEN},
    )

    why, command = done.stdout.replace("\N{NO-BREAK SPACE}", " ").splitlines()
    assert why.startswith("# gpt:step[batch=8] on ")
    assert why.endswith("step time +5.0 %")
    assert command == (
        "PERFLEDGER_MAX_PAIRS=8 perfledger check --base aaaaaaaaaaaa --head bbbbbbbbbbbb "
        f"--workload 'gpt:step[batch=8]' --upload-url {site.url}"
    )


def test_a_hostile_name_is_one_quoted_word_of_the_command(site, suspect):
    suspect(HOSTILE)
    done = CliRunner().invoke(
        app,
        ["history", "suspects", "--upload-url", site.url],
        env={"PERFLEDGER_UPLOAD_TOKEN": TOKEN},
    )

    assert "--workload 'gpt:<script>alert(1)</script>[x='\"'\"'$(reboot)'\"'\"']'" in done.stdout


def test_no_name_begins_a_line_of_its_own_in_the_script(site, suspect):
    suspect("gpt:step\nreboot #\r\u2028reboot")
    done = CliRunner().invoke(
        app,
        ["history", "suspects", "--upload-url", site.url],
        env={"PERFLEDGER_UPLOAD_TOKEN": TOKEN},
    )

    why, command = done.stdout.splitlines()
    assert why.startswith("# ")
    assert command.startswith("PERFLEDGER_MAX_PAIRS=8 perfledger check --base ")
    assert "reboot" not in command


def test_json_has_the_same_command(site, suspect):
    suspect("gpt:step")
    done = CliRunner().invoke(
        app,
        ["history", "suspects", "--upload-url", site.url, "--format", "json"],
        env={"PERFLEDGER_UPLOAD_TOKEN": TOKEN},
    )

    [asked_request] = json.loads(done.stdout)["requests"]
    assert asked_request["base_sha"] == "a" * 40
    assert asked_request["suspects"] == [{"metric": "step_time_p50", "change": 0.05}]
    assert asked_request["command"].endswith(f"--workload gpt:step --upload-url {site.url}")


def test_the_device_of_a_suspect_is_shown_for_another_device_to_confirm_it(site, suspect):
    suspect("gpt:step", devices=("GPU-1\nreboot", "GPU-2"))
    done = CliRunner().invoke(
        app,
        ["history", "suspects", "--upload-url", site.url],
        env={"PERFLEDGER_UPLOAD_TOKEN": TOKEN},
    )

    why, command = done.stdout.splitlines()
    assert why.endswith("reboot, GPU-2, another device can confirm it")
    assert command.startswith("PERFLEDGER_MAX_PAIRS=8 ")


def test_no_suspect_is_a_comment(site):
    done = CliRunner().invoke(
        app,
        ["history", "suspects", "--upload-url", site.url],
        env={"PERFLEDGER_UPLOAD_TOKEN": TOKEN},
    )

    assert done.stdout == "# no suspects in octo/models\n"


def test_without_a_service_the_command_says_what_to_set():
    done = CliRunner().invoke(app, ["history", "suspects"], env={})

    assert "PERFLEDGER_UPLOAD_URL" in str(done.exception)


def test_the_page_shows_requested_and_confirmed_suspects(site, suspect):
    upload = suspect("gpt:step", alerts=(an_alert("gpt:step"),))

    page = site.get("/octo/models").text

    assert "--base aaaaaaaaaaaa --head bbbbbbbbbbbb --workload gpt:step" in page
    assert f'href="/runs/{upload}"' in page
    assert "aaaaaaaaaaaa..bbbbbbbbbbbb" in page
    assert "one commit is left" in page
    assert "No check has been judged yet." in page


def test_the_page_holds_nothing_hostile(site, suspect):
    suspect(HOSTILE, alerts=(an_alert(HOSTILE),))

    page = site.get("/octo/models").text

    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_a_project_without_a_commit_has_a_page_and_an_unknown_one_has_none(site):
    assert "0 measured commits" in site.get("/octo/other").text
    assert site.get("/octo/unknown").status_code == 404
