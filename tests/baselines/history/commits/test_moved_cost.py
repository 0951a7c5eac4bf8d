import math

import pytest

from perfledger.metrics import family_metric
from perfledger_baselines.history.commits.attribution import (
    AttributedChange,
    CommitRange,
    Series,
)
from perfledger_baselines.history.commits.moved_cost import moved_changes
from perfledger_baselines.history.detection.changes import ChangePoint


def attributed_change(family, before, after, *, at=10, half_width=0.02):
    """Return a change of a kernel family; the width of its interval is relative."""
    change = after / before - 1 if before > 0 else math.nan
    point = ChangePoint(
        index=at,
        earliest=at,
        latest=at,
        before=before,
        after=after,
        change=change,
        low=change - half_width,
        high=change + half_width,
        confidence=0.999,
    )
    commits = CommitRange(at, at)
    return AttributedChange(
        series=Series("gpt:step", family_metric(family), "cpu:Test CPU:1"),
        change=point,
        commits=commits,
        likely=commits,
        has_new_environment=False,
    )


@pytest.mark.parametrize(
    "changes",
    [
        (attributed_change("attention", 10, 4), attributed_change("bmm", 2, 8.1)),
        (
            attributed_change("addmm", 5, 0),
            attributed_change("mm", 0, 4),
            attributed_change("add", 0, 1.02),
        ),
        (
            attributed_change("a", 10, 8, half_width=0.1),
            attributed_change("b", 10, 12.4, half_width=0.1),
        ),
    ],
    ids=["renamed", "split", "a net within its error"],
)
def test_changes_that_cancel_are_moved_work(changes):
    assert moved_changes(changes) == set(changes)


@pytest.mark.parametrize(
    "changes",
    [
        (attributed_change("bmm", 2, 8),),
        (attributed_change("bmm", 2, 8), attributed_change("gelu", 1, 1.5)),
        (attributed_change("attention", 10, 9), attributed_change("bmm", 2, 8)),
        (
            attributed_change("a", 10, 9, half_width=0.001),
            attributed_change("b", 10, 11.2, half_width=0.001),
        ),
        (
            attributed_change("a", 10, 9, half_width=0.9),
            attributed_change("b", 10, 12, half_width=0.9),
        ),
        (attributed_change("attention", 10, 4), attributed_change("bmm", 2, 8, at=20)),
        (attributed_change("attention", 10, 4), attributed_change("gelu", 8, 4)),
    ],
    ids=[
        "alone",
        "both slower",
        "mostly added",
        "a net beyond its error",
        "a large net, however uncertain",
        "at other commits",
        "both faster",
    ],
)
def test_other_changes_are_not(changes):
    assert moved_changes(changes) == frozenset()


def test_each_place_is_judged_by_itself():
    renamed = attributed_change("attention", 10, 4), attributed_change("bmm", 2, 8)
    slower = attributed_change("bmm", 8, 12, at=30)

    assert moved_changes([*renamed, slower]) == set(renamed)
