"""`perfledger history suspects`, its route and the project's page: what is suspected."""

import json

import pytest
from typer.testing import CliRunner

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import CommitRange, Series
from perfledger_baselines.history.commits.confirmation_state import (
    AbCandidate,
    AbPurpose,
    AbRequest,
    Alert,
    BisectionStatus,
    ConfirmationState,
    ConfirmedChange,
    PendingConfirmation,
)
from perfledger_baselines.judging.verdict import EffectEstimate
from perfledger_service.cli.app import app
from perfledger_service.store.confirmation_state import add_alerts, save_confirmation_state
from perfledger_service.store.database import write_session
from perfledger_service.store.default_branch import add_to_branch
from perfledger_service.store.observations import add_observations
from perfledger_service.usecases.pull_requests.uploads import observations_in

TOKEN = "pl_0123abcd_" + "s" * 43
MACHINE = "cpu:Test CPU:1"
HOSTILE = "gpt:<script>alert(1)</script>[x='$(reboot)']"


def request(workload):
    return AbRequest(
        workload=workload,
        machine_class=MACHINE,
        base=0,
        head=1,
        max_pairs=8,
        purpose=AbPurpose.CONFIRM,
        priority=1.0,
        window="2026-11-20",
    )


def suspicion(workload, devices=()):
    return AbCandidate(
        series=Series(workload, STEP_TIME, MACHINE),
        good=0,
        bad=1,
        newest=1,
        change=0.05,
        strength=5.0,
        pair_seconds=1.0,
        devices=devices,
    )


def alert(workload, narrowing=BisectionStatus.ONE_COMMIT):
    estimate = EffectEstimate(
        base=1.0,
        head=1.05,
        change=0.05,
        low=0.04,
        high=0.06,
        narrow_low=0.04,
        narrow_high=0.06,
        pairs=8,
        p_value=0.001,
        smallest_detectable=float("inf"),
    )
    return Alert(
        workload=workload,
        machine_class=MACHINE,
        suspected_range=CommitRange(1, 1),
        commits=CommitRange(1, 1),
        changes=(ConfirmedChange(suspicion(workload), estimate),),
        narrowing=narrowing,
        pairs=8,
    )


@pytest.fixture
def suspect(site, make_bundle):
    """Store a suspicion and alerts of a workload, as judging an upload would."""

    def store(workload, alerts=(), devices=()):
        bundle = make_bundle(pull_request=None)
        upload = site.upload(bundle).json()["id"]
        with write_session(site.engine) as session:
            add_observations(session, observations_in(bundle), project_id=1, upload_id=upload)
            add_to_branch(session, 1, ("a" * 40, "b" * 40))
            trial = PendingConfirmation(request(workload), (suspicion(workload, devices),))
            save_confirmation_state(
                session, 1, ConfirmationState(pending_confirmations=(trial,), window="2026-11-20")
            )
            add_alerts(session, alerts, project_id=1, upload_id=upload)
            session.commit()
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

    [asked] = json.loads(done.stdout)["requests"]
    assert asked["base_sha"] == "a" * 40
    assert asked["suspicions"] == [{"metric": "step_time_p50", "change": 0.05}]
    assert asked["command"].endswith(f"--workload gpt:step --upload-url {site.url}")


def test_the_device_of_a_suspicion_is_shown_for_another_device_to_confirm_it(site, suspect):
    suspect("gpt:step", devices=("GPU-1\nreboot", "GPU-2"))
    done = CliRunner().invoke(
        app,
        ["history", "suspects", "--upload-url", site.url],
        env={"PERFLEDGER_UPLOAD_TOKEN": TOKEN},
    )

    why, command = done.stdout.splitlines()
    assert why.endswith("reboot, GPU-2, another device can confirm it")
    assert command.startswith("PERFLEDGER_MAX_PAIRS=8 ")


def test_no_suspicion_is_a_comment(site):
    done = CliRunner().invoke(
        app,
        ["history", "suspects", "--upload-url", site.url],
        env={"PERFLEDGER_UPLOAD_TOKEN": TOKEN},
    )

    assert done.stdout == "# nothing is suspected of octo/models\n"


def test_without_a_service_the_command_says_what_to_set():
    done = CliRunner().invoke(app, ["history", "suspects"], env={})

    assert "PERFLEDGER_UPLOAD_URL" in str(done.exception)


def test_the_route_needs_a_token(site):
    assert site.get("/api/v1/ab-requests").status_code == 401


def test_another_project_sees_nothing_of_it(site, suspect):
    suspect("gpt:step")

    answer = site.get("/api/v1/ab-requests", token="pl_4567cdef_" + "t" * 43)

    assert answer.json() == {"repository": "octo/other", "requests": []}


def test_the_page_shows_requested_and_confirmed_suspicions(site, suspect):
    upload = suspect("gpt:step", alerts=(alert("gpt:step"),))

    page = site.get("/octo/models").text

    assert "--base aaaaaaaaaaaa --head bbbbbbbbbbbb --workload gpt:step" in page
    assert f'href="/runs/{upload}"' in page
    assert "aaaaaaaaaa..bbbbbbbbbb" in page
    assert "one commit is left" in page
    assert "is not known: no check compared a commit with itself yet" in page


def test_an_alert_that_a_later_one_has_narrowed_down_is_not_shown(site, suspect):
    suspect("gpt:step", alerts=(alert("gpt:step", BisectionStatus.UNDER_WAY), alert("gpt:step")))

    page = site.get("/octo/models").text

    assert page.count("one commit is left") == 1
    assert "being narrowed down" not in page


def test_the_page_holds_nothing_hostile(site, suspect):
    suspect(HOSTILE, alerts=(alert(HOSTILE),))

    page = site.get("/octo/models").text

    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_a_project_without_a_commit_has_a_page_and_an_unknown_one_has_none(site):
    assert "0 measured commits" in site.get("/octo/other").text
    assert site.get("/octo/unknown").status_code == 404
