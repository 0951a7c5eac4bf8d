import json
import shlex
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_baselines.history.commits.confirmation_state import AbPurpose, BisectionStatus
from perfledger_runners.bundles.service_ab_requests import (
    RequestedAbRun,
    ServiceAbRequests,
    SuspectedMetric,
)
from perfledger_service.rendering.history.suspects import (
    ab_request_rows,
    alert_rows,
    command_of,
    suspects_document,
    suspects_script,
)
from perfledger_service.rendering.layout.writers import to_json
from perfledger_service.values.branch_views import (
    AbRequestView,
    AlertView,
)
from tests.service.suspects import MACHINE, SHAS, a_candidate, a_request, an_alert

URL = "https://perf.example"
HOSTILE = "gpt:<script>alert(1)</script>[x='$(reboot)']"
RUN = RequestedAbRun(
    workload="gpt:step[batch=8]",
    machine_class=MACHINE,
    base_sha=SHAS[0],
    head_sha=SHAS[1],
    max_pairs=8,
    suspects=(SuspectedMetric("step_time_p50", 0.05), SuspectedMetric("loss\x1b", -0.5)),
)


def alert_view(device="", **values):
    return AlertView(
        alert=an_alert(**values),
        upload_id="1" * 32,
        after_sha="a" * 40,
        last_sha="b" * 40,
        created_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
        device=device,
    )


@pytest.mark.parametrize("workload", ["gpt:step", "gpt:step[batch=8]", HOSTILE, "a b; reboot #"])
def test_a_workload_is_one_word_of_the_command(workload):
    command = command_of(
        workload, base_sha=SHAS[0], head_sha=SHAS[1], max_pairs=8, url="https://x/?a=1&b=2"
    )

    assert shlex.split(command) == [
        "PERFLEDGER_MAX_PAIRS=8",
        *("perfledger", "check", "--base", "aaaaaaaaaaaa", "--head", "bbbbbbbbbbbb"),
        *("--workload", workload, "--upload-url", "https://x/?a=1&b=2"),
    ]


@pytest.mark.parametrize("workload", ["m:f\nreboot", "m:f\u202e", "m:" + "f" * 300, ""])
def test_a_name_that_cannot_be_shown_whole_chooses_nothing(workload):
    command = command_of(workload, base_sha="a;b", head_sha="b", max_pairs=8, url=URL)

    assert "--workload" not in command
    assert len(command.splitlines()) == 1
    assert "--base ab --head b --upload-url" in command


def test_a_script_has_a_comment_with_the_reason_above_each_command():
    script = suspects_script(ServiceAbRequests("octo/models", (RUN, RUN)), url=URL)

    why, command, *_ = script.splitlines()
    assert why.replace("\xa0", " ") == (
        "# gpt:step[batch=8] on Test CPU (cpu): step time +5.0 %, loss -50.0 %"
    )
    assert command.startswith("PERFLEDGER_MAX_PAIRS=8 perfledger check ")
    assert len(script.splitlines()) == 4
    assert script.endswith("\n")


def test_no_foreign_name_begins_a_line_of_the_script():
    evil = "x\nreboot #\r\u2028reboot"
    run = replace(
        RUN,
        workload=evil,
        machine_class=evil,
        devices=(evil,),
        suspects=(SuspectedMetric(evil, 1.0),),
    )

    script = suspects_script(ServiceAbRequests(evil, (run,)), url=URL)
    quiet = suspects_script(ServiceAbRequests(evil, ()), url=URL)

    assert [line.split()[0] for line in script.splitlines()] == ["#", "PERFLEDGER_MAX_PAIRS=8"]
    assert quiet.startswith("# no suspects in x reboot #")
    assert len(quiet.splitlines()) == 1


def test_devices_are_named_so_that_another_can_confirm_it():
    run = replace(RUN, devices=("GPU-1", "GPU-2"))

    why, _ = suspects_script(ServiceAbRequests("octo/models", (run,)), url=URL).splitlines()

    assert why.endswith("; seen on GPU-1, GPU-2, another device can confirm it")


def test_json_has_every_request_with_its_command():
    document = json.loads(
        to_json(suspects_document(ServiceAbRequests("octo/models", (RUN,)), url=URL))
    )

    assert (document["format"], document["repository"]) == ("perfledger-ab-requests", "octo/models")
    (request,) = document["requests"]
    assert request["suspects"][0] == {"metric": "step_time_p50", "change": 0.05}
    assert request["command"].endswith(f"--workload 'gpt:step[batch=8]' --upload-url {URL}")
    assert (request["base_sha"], request["max_pairs"]) == (SHAS[0], 8)


@pytest.mark.parametrize(
    ("purpose", "why"),
    [
        (AbPurpose.CONFIRM, "suspected change: step time +5.0 %"),
        (AbPurpose.BISECT, "bisection of a confirmed change: step time +5.0 %"),
    ],
)
def test_a_request_says_why_it_is_made_where_and_since_when(purpose, why):
    view = AbRequestView(
        request=a_request(purpose=purpose),
        base_sha=SHAS[0],
        head_sha=SHAS[1],
        suspects=(a_candidate(),),
    )

    (row,) = ab_request_rows((view,), url=URL)

    assert row.why.replace("\xa0", " ") == why
    assert (row.workload, row.device, row.since) == ("gpt:step", "Test CPU (cpu)", "2026-11-20")
    assert row.command.endswith(f"--workload gpt:step --upload-url {URL}")


def test_an_alert_says_what_changed_between_which_commits():
    (row,) = alert_rows((alert_view(narrowing=BisectionStatus.UNDER_WAY),))

    assert row.commits == "aaaaaaaaaaaa..bbbbbbbbbbbb"
    assert row.narrowing == "being narrowed down"
    assert row.changes == (("step time", "+5.0\xa0%", "+4.0\xa0to\xa0+6.0", "regressed"),)
    assert (row.workload, row.device, row.upload_id) == ("gpt:step", "Test CPU (cpu)", "1" * 32)
    assert row.moment == "2026-11-20 12:00 UTC"


@pytest.mark.parametrize(
    ("device", "devices", "other_device"),
    [
        ("", ("GPU-1",), ""),
        ("GPU-1", (), ""),
        ("GPU-1", ("GPU-1", "GPU-2"), "confirmed on a device where it was seen"),
        ("GPU-2", ("GPU-1", "GPU-2"), "confirmed on a device where it was seen"),
        ("GPU-3", ("GPU-1", "GPU-2"), "confirmed on another device of the class"),
    ],
)
def test_an_alert_says_whether_another_device_confirmed_it_where_that_is_known(
    device, devices, other_device
):
    (row,) = alert_rows((alert_view(device, devices=devices),))

    assert row.other_device == other_device
