from datetime import UTC, datetime, timedelta

import pytest

from perfledger.records import Side
from perfledger_service.values.upload_views import SeriesPoint, commits_of

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
POINT = SeriesPoint(
    position=0,
    sha="a" * 40,
    side=Side.BASE,
    pull_request=7,
    upload_id="1" * 32,
    processes=6,
    center=1.0,
    low=0.9,
    high=1.1,
    created_at=NOON,
    distance=1,
)
AGAIN = POINT._replace(
    side=Side.HEAD,
    pull_request=None,
    upload_id="2" * 32,
    processes=2,
    center=1.4,
    low=1.3,
    high=1.5,
    created_at=NOON + timedelta(hours=1),
)


def test_checks_of_one_commit_are_one_point_whichever_side_they_measured():
    (commit,) = commits_of((POINT, AGAIN))

    assert (commit.checks, commit.processes) == (2, 8)
    assert commit.center == pytest.approx(1.1)
    assert (commit.low, commit.high) == (0.9, 1.5)
    assert commit.upload_id == AGAIN.upload_id
    assert commit.is_on_branch
    assert commit.pull_request is None


def test_twenty_measurements_of_a_commit_are_one_point():
    points = tuple(POINT._replace(upload_id=f"{number:032x}") for number in range(20))

    assert [one.checks for one in commits_of(points)] == [20]


def test_a_head_off_the_branch_belongs_to_its_pull_request():
    (commit,) = commits_of((POINT._replace(side=Side.HEAD, distance=None),))

    assert not commit.is_on_branch
    assert commit.pull_request == 7


def test_what_is_in_no_baseline_stays_apart():
    commits = commits_of((POINT, AGAIN._replace(is_unattested=True)))

    assert [(one.center, one.is_unattested) for one in commits] == [(1.0, False), (1.4, True)]


def test_the_order_is_that_of_the_points():
    later = POINT._replace(sha="b" * 40)

    assert [one.sha[0] for one in commits_of((POINT, later, AGAIN))] == ["a", "b"]
