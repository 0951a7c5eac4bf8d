"""`perfledger check --upload-url` against a real service: the second check knows the first."""

import json
import os
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfledger.bundle import StartOptions
from perfledger_runners.bundles.option_checks import MAX_OPTIONS
from perfledger_service.cli.app import app
from perfledger_service.settings.check import CheckSettings
from perfledger_service.store.database import read_session
from perfledger_service.store.uploads import verdicts_of
from perfledger_service.usecases.check.check import may_be_stored, start_options
from perfledger_service.usecases.check.measurement import CheckRequest
from perfledger_service.usecases.check.revisions import CheckConfiguration
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

TOKEN = "pl_0123abcd_" + "s" * 43
# Only changes so large are reported: no neighbour on the machine makes or hides one.
CONFIG = """
paths = ["bench"]
margin = 0.9
floor = 0.8
max_pairs = 5
"""
WORKLOAD = """
import perfledger

@perfledger.workload()
def add():
    numbers = list(range(20_000))
    return lambda: [sum(numbers) for _ in range({times})]
"""


@pytest.mark.parametrize(
    ("request_values", "history", "environment", "is_stored"),
    [
        ({}, None, {}, False),
        ({}, None, {"CI": ""}, False),
        ({}, None, {"CI": "true"}, True),
        ({}, Path("spreads.json"), {}, True),
        ({"repository": "octo/models"}, None, {}, True),
        ({"pull_request": 7}, None, {}, True),
    ],
)
def test_a_result_may_be_stored_unless_somebody_checks_by_hand(
    request_values, history, environment, is_stored
):
    request = CheckRequest(**request_values)

    assert may_be_stored(request, None, history, environment) is is_stored


def test_what_is_uploaded_is_stored():
    target = UploadTarget(url="http://127.0.0.1:1", token=TOKEN)

    assert may_be_stored(CheckRequest(), target, None, {})


def test_a_bundle_records_how_its_check_was_started_and_names_what_it_must_not_hold():
    configuration = CheckConfiguration(
        settings=CheckSettings(),
        base_file="",
        notes=(),
        start_settings={
            "margin": "0.05",
            "build": "pip install -i https://u:canary@index/simple .",
        },
    )
    choice = WorkloadChoice(globs=("b:*",), expression="gpt  and not slow")

    options = start_options(CheckRequest(choice=choice), configuration, history=Path("s.json"))

    assert options == StartOptions(
        workloads=("b:*",),
        expression="gpt and not slow",
        spreads="s.json",
        settings={"margin": "0.05"},
        unshown=("PERFLEDGER_BUILD",),
    )
    many = CheckRequest(choice=WorkloadChoice(globs=("b:*",) * (MAX_OPTIONS + 1)))
    unshown = start_options(many, configuration, history=Path("a\nb")).unshown
    assert unshown == ("PERFLEDGER_BUILD", "--workload", "--spreads")


def test_a_repeated_check_measures_on_the_gpu_that_the_option_named():
    """The setting has the kind of device alone, because the GPU is chosen by what is visible."""
    configuration = CheckConfiguration(
        settings=CheckSettings(device="cuda"),
        base_file="",
        notes=(),
        start_settings={"device": "cuda"},
    )

    options = start_options(CheckRequest(device="cuda:1"), configuration, history=None)

    assert options.settings == {"device": "cuda:1"}


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    (root / "bench").mkdir(parents=True)
    (root / "perfledger.toml").write_text(CONFIG)
    (root / "bench" / "sums.py").write_text(WORKLOAD.format(times=1))
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True)
    return root


@pytest.fixture
def check(repository, site):
    """Check the repository's uncommitted changes, upload, judge; return the local report."""

    def run(text, *, codes=(0, 3)):
        (repository / "bench" / "sums.py").write_text(text)
        unset: dict[str, str | None] = {
            name: None for name in os.environ if name.startswith("GITHUB_")
        }
        own = {
            "XDG_STATE_HOME": str(repository.parent / "state"),
            "PERFLEDGER_UPLOAD_TOKEN": TOKEN,
        }
        words = ("--repository", "octo/models", "--upload-url", site.url)
        with chdir(repository):
            done = CliRunner().invoke(app, ["check", "--format", "json", *words], env=unset | own)
        assert done.exit_code in codes, done.stderr
        site.judge(site.jobs.works[-1].upload_id)
        return json.loads(done.stdout)

    return run


def step_time(report):
    return next(one for one in report["verdicts"] if one["metric"]["name"] == "step_time_p50")


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("short_runs")
def test_the_second_check_looks_after_fewer_pairs_and_the_service_agrees(check, site):
    first = check(WORKLOAD.format(times=1) + "IS_THE_SAME = True\n")
    # So much slower that no neighbour on the machine hides it.
    second = check(WORKLOAD.format(times=20), codes=(1,))

    assert first["plan"]["looks"][0] == 5
    assert step_time(first)["prior"] is None
    assert second["plan"]["looks"][0] == 2
    found_verdict = step_time(second)
    assert found_verdict["outcome"] == "regressed"
    assert found_verdict["prior"]["values"] == step_time(first)["estimate"]["pairs"]
    with read_session(site.engine) as session:
        verdicts = verdicts_of(session, site.jobs.works[-1].upload_id)
    assert [verdict.reason for verdict in verdicts] == [one["reason"] for one in second["verdicts"]]
