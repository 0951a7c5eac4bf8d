import json
from dataclasses import replace
from datetime import UTC, date, datetime

from perfledger_service.rendering.layout.writers import to_csv, to_json, to_terminal
from perfledger_service.rendering.server.acceptances import accepted_document, accepted_page
from perfledger_service.values.acceptance import Acceptance
from tests.service.rendering.terminal_lines import lines_at

ACCEPTED = Acceptance(
    pull_request=7,
    head_sha="c" * 40,
    login="octocat",
    workload="m:f",
    reason="a new tokenizer",
    accepted_at=datetime(2026, 11, 22, 12, tzinfo=UTC),
    until=date(2026, 12, 31),
    merged_sha="0123456789abcdef",
)


def accepted(number, *, workload="gpt:step"):
    return replace(ACCEPTED, pull_request=number, workload=workload)


def test_an_acceptance_is_shown_with_its_end_and_the_beginning_of_its_commit():
    ignored = replace(ACCEPTED, workload="", until=None, merged_sha="")
    document = accepted_document("octo/models", [ACCEPTED, ignored])

    lines = lines_at(to_terminal(document), width=200)
    assert "0123456789ab" in lines
    assert "(ignored)" in lines
    first, second = json.loads(to_json(document))["accepted"]
    assert first == {
        "workload": "m:f",
        "pull_request": 7,
        "login": "octocat",
        "accepted_at": "2026-11-22T12:00:00+00:00",
        "until": "2026-12-31",
        "head_sha": "c" * 40,
        "merged_sha": "0123456789abcdef",
        "reason": "a new tokenizer",
    }
    assert (second["workload"], second["until"]) == (None, None)


def test_a_page_has_its_share_of_many_acceptances():
    many = tuple(accepted(number) for number in range(1, 61))

    first, last = (accepted_page("octo/models", many, page=number) for number in (1, 9))

    assert first.count(">#") == 25
    assert last.count(">#") == 10


def test_a_reason_is_no_markup():
    hostile = replace(ACCEPTED, reason="<script>alert(1)</script>")

    assert "<script>alert" not in accepted_page("octo/models", (hostile,))


def test_accepted_regressions_are_found_by_a_part_of_their_workload():
    many = (accepted(1), accepted(2, workload="resnet:step"))

    page = accepted_page("octo/models", many, text="RES")
    none = accepted_page("octo/models", many, text="bert")

    assert ">#2<" in page
    assert ">#1<" not in page
    assert 'href="/octo/models/accepted?text=RES&amp;format=csv"' in page
    assert "Nothing has been accepted for such a workload" in none
    assert len(to_csv(accepted_document("octo/models", many)).splitlines()) == 3
    assert len(to_csv(accepted_document("octo/models", many, text="RES")).splitlines()) == 2
