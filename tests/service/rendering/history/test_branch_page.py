from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_baselines.history.commits.grouping import GroupedChanges
from perfledger_baselines.judging.false_alarms import FalseAlarmRate, false_alarm_rate
from perfledger_service.rendering.history.branch_page import (
    MAX_EVENTS,
    branch_page,
    false_alarm_sentence,
)
from perfledger_service.values.branch_views import AbRequestView, AlertView, BranchView
from tests.service.suspects import a_candidate, a_request, an_alert

HOSTILE = "gpt:<script>alert(1)</script>[x='$(reboot)']"
SHAS = tuple(f"{place + 10:x}" * 40 for place in range(7))
QUIET = BranchView(
    repository="octo/models",
    commits=SHAS,
    alerts=(),
    requests=(),
    grouped_changes=GroupedChanges(events=(), environment_changes=()),
    watched=2,
    false_alarm_rate=None,
)


def branch(workload, grouped_changes):
    alert = AlertView(
        alert=an_alert(workload),
        upload_id="1" * 32,
        created_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
    )
    request = AbRequestView(
        request=a_request(workload),
        base_sha=SHAS[0],
        head_sha=SHAS[1],
        suspects=(a_candidate(workload),),
    )
    return replace(QUIET, alerts=(alert,), requests=(request,), grouped_changes=grouped_changes)


def test_a_page_shows_alerts_requests_and_what_happened(grouped_changes):
    page = branch_page(branch("gpt:step", grouped_changes), url="https://perf.example")

    assert 'href="/runs/11111111111111111111111111111111"' in page
    assert "aaaaaaaaaa..bbbbbbbbbb" in page
    assert "--workload gpt:step --upload-url https://perf.example" in page
    assert "2 of 120 series" in page
    assert "1 other change of single series may be due to chance" in page
    assert "no commit is responsible" in page


def test_a_quiet_branch_says_so():
    page = branch_page(QUIET, url="https://perf.example")

    assert "No confirmed regressions." in page
    assert "No commit needs an A/B run" in page
    assert "No significant change among all series." in page
    assert "is unknown: no check has compared a commit with itself yet" in page


def test_a_name_of_others_is_text_of_the_page(grouped_changes, make_events):
    event = make_events.event_of(make_events.attributed(HOSTILE))
    view = replace(
        branch(HOSTILE, replace(grouped_changes, events=(event,))), repository="octo/<script>x"
    )

    page = branch_page(view, url="https://perf.example/<script>")

    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_page_has_the_newest_events_only(make_events):
    events = tuple(
        make_events.event_of(make_events.attributed(f"m:f{number}"))
        for number in range(MAX_EVENTS + 1)
    )

    page = branch_page(
        replace(QUIET, grouped_changes=GroupedChanges(events=events, environment_changes=())),
        url="u",
    )

    assert page.count("1 of 120 series") == MAX_EVENTS


@pytest.mark.parametrize(
    ("rate", "sentence"),
    [
        (
            FalseAlarmRate(checks=1, false=0, low=0.0, high=0.975),
            "0 of 1 check of unchanged code failed: the false-alarm rate is at most 97.5 %",
        ),
        (
            FalseAlarmRate(checks=2000, false=1500, low=0.73, high=0.77),
            "1,500 of 2,000 checks of unchanged code failed: the false-alarm rate is 73.0 % to ",
        ),
    ],
)
def test_false_alarms_have_their_rate_with_its_interval(rate, sentence):
    assert sentence in false_alarm_sentence(rate).replace("\N{NO-BREAK SPACE}", " ")


def test_the_bound_is_said_in_words():
    said = false_alarm_sentence(false_alarm_rate(false=0, checks=60)).replace(
        "\N{NO-BREAK SPACE}", " "
    )

    assert "0 of 60 checks of unchanged code failed" in said
    assert "at most 6.0 % with 95 % confidence" in said
    assert "is unknown" in false_alarm_sentence(None)
