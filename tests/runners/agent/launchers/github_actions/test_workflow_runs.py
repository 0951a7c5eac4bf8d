"""Tests the parts of GitHub's answers about workflows."""

import msgspec
import pytest

from perfledger_runners.launchers.github_actions.workflow_runs import (
    MAX_SHOWN_TEXT,
    WorkflowRun,
    shown_text,
)


@pytest.mark.parametrize(
    ("fields", "is_named"),
    [
        ({"display_title": "perfledger-1"}, True),
        ({"display_title": "a job: perfledger-1 (nightly)"}, True),
        ({"name": "perfledger-1", "display_title": None}, True),  # of older servers
        ({"name": "perfledger job", "display_title": "perfledger-2"}, False),
        ({}, False),
    ],
)
def test_a_run_is_known_by_its_title(fields, is_named):
    document = {"id": 5, "created_at": "2026-11-28T12:00:00Z"} | fields

    assert msgspec.convert(document, WorkflowRun).is_named("perfledger-1") == is_named


def test_what_github_says_is_shown_on_one_clean_short_line():
    assert shown_text("a\n\tb\x1b[2J") == "a b\ufffd[2J"
    assert len(shown_text("x" * 10_000)) == MAX_SHOWN_TEXT
    assert shown_text(None) == ""
