"""The picture of a bisection, in characters and as SVG."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Revision
from perfledger_baselines.history.commits.search import SearchStatus
from perfledger_service.rendering.history.bisect_plot import WIDTH, bisection_svg, bisection_text
from perfledger_service.values.commit_bisection import (
    BisectedCommit,
    CommitBisection,
    CommitState,
)


@pytest.fixture
def bisection():
    """Return five commits of which the fourth changed the workload, and the third is skipped."""
    states = [CommitState.GOOD, CommitState.BEFORE, CommitState.SKIPPED]
    states += [CommitState.AFTER, CommitState.BAD]
    commits = tuple(
        BisectedCommit(
            position=at,
            revision=Revision(sha=f"{at:x}" * 40, subject="<b>&"),
            state=state,
            pairs=4,
            chance=0.0,
            change=change,
            low=None if change is None else change - 0.05,
            high=None if change is None else change + 0.05,
            reason="<i>" if state is CommitState.SKIPPED else "",
        )
        for at, (state, change) in enumerate(
            zip(states, (None, 0.01, None, 0.3, 0.32), strict=True)
        )
    )
    return CommitBisection(
        workload="m:f<script>",
        metric=STEP_TIME,
        status=SearchStatus.FOUND,
        first=3,
        last=3,
        chance=0.99,
        commits=commits,
        ends=None,
        builds=4,
        pairs=16,
        seconds=1.0,
        budget_s=600.0,
    )


def test_each_measured_commit_is_a_line_with_its_interval(bisection):
    lines = bisection_text(bisection).splitlines()

    assert [line[:12] for line in lines[:3]] == ["1" * 12, "3" * 12, "4" * 12]
    assert all(line.count("●") == 1 for line in lines[:3])
    assert lines[0].index("●") < lines[1].index("├") < lines[2].index("●")
    assert "+37.0" in lines[3]
    assert "-4.0" in lines[3]
    assert max(map(len, lines)) <= WIDTH


def test_there_is_no_picture_of_a_single_commit_or_of_no_finite_interval(bisection):
    one = replace(bisection, commits=(*bisection.commits[:1], bisection.commits[-1]))
    endless = replace(bisection.commits[1], high=float("inf"))

    assert bisection_text(one) == ""
    assert bisection_text(replace(bisection, commits=(endless, *bisection.commits[2:]))) == ""


def test_the_svg_has_the_commits_and_no_foreign_markup(bisection):
    text = bisection_svg(bisection)

    ElementTree.fromstring(text)
    assert "<b>" not in text
    assert "<script>" not in text
    assert "+30.0" in text
    assert "skipped" in text


def test_the_svg_of_a_range_that_was_not_measured_is_a_picture_too(bisection):
    commits = tuple(replace(each, change=None) for each in bisection.commits)

    ElementTree.fromstring(bisection_svg(replace(bisection, commits=commits)))


def test_a_bisection_is_drawn_as_agreed(bisection, matches_golden):
    matches_golden("bisection.svg", bisection_svg(bisection))
    matches_golden("bisection.txt", bisection_text(bisection))
