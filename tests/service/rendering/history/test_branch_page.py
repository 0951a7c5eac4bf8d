from dataclasses import replace
from datetime import UTC, datetime

from perfledger_baselines.history.commits.grouping import GroupedChanges
from perfledger_service.rendering.history.branch_page import EVENTS_PER_PAGE, branch_page
from perfledger_service.values.branch_views import (
    AbRequestView,
    AlertView,
    BranchSearch,
    BranchView,
)
from tests.service.suspects import a_candidate, a_request, an_alert

HOSTILE = "gpt:<script>alert(1)</script>[x='$(reboot)']"
SHAS = tuple(f"{place + 10:x}" * 40 for place in range(7))
QUIET = BranchView(
    repository="octo/models",
    search=BranchSearch(
        commits=SHAS,
        grouped_changes=GroupedChanges(events=(), environment_changes=()),
        watched=2,
    ),
    is_search_due=False,
    alerts=(),
    requests=(),
    gates=(),
)


def branch(workload, grouped_changes):
    alert = AlertView(
        alert=an_alert(workload),
        upload_id="1" * 32,
        after_sha="a" * 40,
        last_sha="b" * 40,
        created_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
    )
    request = AbRequestView(
        request=a_request(workload),
        base_sha=SHAS[0],
        head_sha=SHAS[1],
        suspects=(a_candidate(workload),),
    )
    search = replace(QUIET.search, grouped_changes=grouped_changes)
    return replace(QUIET, alerts=(alert,), requests=(request,), search=search)


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

    assert "No commit needs an A/B run" in page
    assert "No significant change among all series." in page
    assert "No check has been judged yet." in page


def test_a_page_says_that_another_search_is_due():
    due = branch_page(replace(QUIET, is_search_due=True), url="https://perf.example")

    assert "the next search is due within half a minute" in due
    assert "the next search" not in branch_page(QUIET, url="https://perf.example")


def test_a_name_of_others_is_text_of_the_page(grouped_changes, make_events):
    event = make_events.event_of(make_events.attributed(HOSTILE))
    view = replace(
        branch(HOSTILE, replace(grouped_changes, events=(event,))), repository="octo/<script>x"
    )

    page = branch_page(view, url="https://perf.example/<script>")

    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_page_has_some_events_and_leads_to_the_others(make_events):
    events = tuple(
        make_events.event_of(make_events.attributed(f"m:f{number}"))
        for number in range(EVENTS_PER_PAGE + 1)
    )

    many = GroupedChanges(events=events, environment_changes=())

    page = branch_page(replace(QUIET, search=replace(QUIET.search, grouped_changes=many)), url="u")

    assert page.count("1 of 120 series") == EVENTS_PER_PAGE
    assert 'href="/octo/models?page=2"' in page


def test_a_project_without_commits_says_how_to_measure_the_first():
    page = branch_page(replace(QUIET, search=replace(QUIET.search, commits=())), url="u")

    assert "on each push" in page
