"""How acceptances and the command for them are shown."""

from dataclasses import replace
from datetime import UTC, date, datetime

from perfledger_service.rendering.check.acceptance_rows import (
    MAX_COMMAND,
    acceptance_command,
    acceptance_rows,
    acceptance_terms,
)
from perfledger_service.rendering.layout.verdict_rows import verdict_rows
from perfledger_service.values.acceptance import Acceptance

ACCEPTANCE = Acceptance(
    pull_request=7,
    head_sha="b" * 40,
    login="alice",
    workload="gpt:step",
    reason="worth it",
    accepted_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
    until=date(2026, 12, 31),
)


def command_of(report):
    return acceptance_command(report, verdict_rows(report))


def test_an_acceptance_says_until_when_or_for_what_it_counts():
    assert acceptance_terms(ACCEPTANCE) == "until 2026-12-31"
    assert acceptance_terms(replace(ACCEPTANCE, until=None)) == "as measured by 2026-11-20"
    assert acceptance_terms(replace(ACCEPTANCE, until=None, workload="")) == "on 2026-11-20"


def test_a_row_is_accepted_or_ignored():
    rows = acceptance_rows((ACCEPTANCE, replace(ACCEPTANCE, workload="")))

    assert [(row.verb, row.login, row.workload) for row in rows] == [
        ("Accepted", "alice", "gpt:step"),
        ("Ignored", "alice", ""),
    ]


def test_the_command_is_for_a_regression_where_comments_are_read(reports):
    regressed = replace(reports["regressed"], takes_commands=True)

    command = command_of(regressed)
    assert command.startswith("/perfledger accept ")
    assert command.endswith(" --reason …")
    for other in (
        replace(regressed, takes_commands=False),
        replace(reports["unchanged"], takes_commands=True),
    ):
        assert command_of(other) == ""


def test_a_command_that_could_not_be_copied_whole_is_not_shown(reports):
    regressed = replace(reports["regressed"], takes_commands=True)
    verdicts = tuple(replace(verdict, workload="x" * MAX_COMMAND) for verdict in regressed.verdicts)

    assert command_of(replace(regressed, verdicts=verdicts)) == ""
