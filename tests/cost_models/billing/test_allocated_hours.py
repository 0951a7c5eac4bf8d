"""Whose hours usage files tell of, in all and by week; all of them are made here."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.billing.allocated_hours import (
    DEVICES,
    MAX_COLUMNS,
    DayRange,
    LabelNames,
    days_of,
    heat_map,
    label_names,
    pool_usages,
)
from perfledger_cost_models.billing.cost_allocation import CostOwner
from perfledger_cost_models.usage.device_spans import (
    DeviceSpan,
    DeviceUsage,
    UsageFileError,
    usage_of,
)

TEAM = LabelNames("team")
QUARTER = DayRange(date(2026, 7, 1), date(2026, 10, 1))


def at(day, hour=0):
    return datetime(2026, 7, day, hour, tzinfo=UTC).timestamp()


def usage(*spans):
    return usage_of("made.csv", "Kubernetes", [DeviceSpan(*span) for span in spans])


def test_the_label_that_is_about_teams_is_found():
    spans = usage(({"namespace": "a", "user": "b"}, at(1), at(2), 1.0))

    assert label_names([spans]) == LabelNames("namespace")


def test_one_label_names_the_team_of_all_jobs():
    spans = usage(
        ({"team": "a"}, at(1), at(2), 1.0),
        ({"namespace": "b"}, at(1), at(2), 2.0),
    )

    labels = label_names([spans])
    claims = pool_usages([spans], labels, days_of([spans]), [DEVICES])
    assert claims is not None
    assert [(each.owner.team, each.used_hours) for each in claims] == [
        ("", Decimal(48)),
        ("a", Decimal(24)),
    ]


@pytest.mark.parametrize(
    ("labels", "team", "project", "says"),
    [
        ({"job": "x"}, "", "", "no label names.*: job"),
        ({"job": "x"}, "owner", "", "no job has the label 'owner'.*: job"),
        ({"team": "x"}, "", "epic", "no job has the label 'epic'"),
        ({}, "", "", "none at all"),
    ],
)
def test_a_label_that_no_job_has_is_an_error_that_names_those_there_are(
    labels, team, project, says
):
    with pytest.raises(UsageFileError, match=says):
        label_names([usage((labels, at(1), at(2), 1.0))], team=team, project=project)


def test_no_file_has_no_days():
    with pytest.raises(UsageFileError, match="at least one"):
        days_of([])


def test_a_period_is_of_whole_days():
    assert days_of([usage(({}, at(3, 5), at(4, 1), 1.0))]) == DayRange(
        date(2026, 7, 3), date(2026, 7, 5)
    )
    assert days_of([usage(({}, at(3), at(4), 1.0))]) == DayRange(date(2026, 7, 3), date(2026, 7, 4))
    assert days_of([usage(({}, at(3), at(3), 1.0))]) == DayRange(date(2026, 7, 3), date(2026, 7, 4))


def test_what_lies_outside_of_the_period_is_cut_off():
    spans = usage(({"team": "a"}, at(1), at(9), 2.0), ({"team": "b"}, at(8), at(9), 1.0))

    (claim,) = (
        pool_usages([spans], TEAM, DayRange(date(2026, 7, 2), date(2026, 7, 4)), [DEVICES]) or ()
    )
    assert (claim.owner, claim.used_hours) == (CostOwner("a"), Decimal(96))


def test_hours_are_of_the_accelerator_that_a_job_names():
    spans = usage(
        ({"team": "a", "accelerator": "A100-80GB"}, at(1), at(2), 1.0),
        ({"team": "a", "modelName": "NVIDIA H100 80GB HBM3"}, at(1), at(2), 2.0),
    )

    claims = pool_usages([spans], TEAM, QUARTER, ["H100-80GB", "A100-80GB"])
    assert claims is not None
    assert [(each.pool, each.used_hours) for each in claims] == [
        ("A100-80GB", Decimal(24)),
        ("H100-80GB", Decimal(48)),
    ]


def test_one_job_without_a_known_accelerator_leaves_all_unknown():
    spans = usage(
        ({"team": "a", "accelerator": "A100-80GB"}, at(1), at(2), 1.0),
        ({"team": "a", "gpu": "a card"}, at(1), at(2), 1.0),
    )

    assert pool_usages([spans], TEAM, QUARTER, ["A100-80GB"]) is None


def test_columns_begin_on_mondays_and_the_first_with_the_period():
    found_heat_map = heat_map([usage(({"team": "a"}, at(1), at(8), 1.0))], TEAM, QUARTER)

    assert found_heat_map.starts[:3] == (date(2026, 7, 1), date(2026, 7, 6), date(2026, 7, 13))
    assert len(found_heat_map.starts) == 14
    assert found_heat_map.rows[0].hours[:3] == (5 * 24, 2 * 24, 0)


def test_a_long_period_has_columns_of_several_weeks():
    decade = DayRange(date(2016, 1, 1), date(2026, 1, 1))

    found_heat_map = heat_map([usage(({"team": "a"}, at(1), at(8), 1.0))], TEAM, decade)
    assert len(found_heat_map.starts) <= MAX_COLUMNS + 1
    assert all(day.weekday() == 0 for day in found_heat_map.starts[1:])
    assert found_heat_map.rows == ()


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", ""]),
            st.integers(0, 2000),
            st.integers(0, 500),
            st.integers(0, 64),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_weeks_and_claims_tell_the_same_hours(spans):
    device_usage: DeviceUsage = usage(
        *(
            ({"team": team}, at(1) + start * 3600, at(1) + (start + long) * 3600, float(devices))
            for team, start, long, devices in spans
        )
    )

    claims = pool_usages([device_usage], TEAM, QUARTER, [DEVICES])
    weeks = heat_map([device_usage], TEAM, QUARTER)
    assert claims is not None
    assert {row.team: pytest.approx(sum(row.hours)) for row in weeks.rows} == {
        each.owner.team: float(each.used_hours) for each in claims
    }


def test_usage_without_held_devices_accepts_every_label():
    idle = usage_of("made.csv", "Kubernetes", [], idle_moments=(at(1), at(2)))

    assert label_names([idle]) == LabelNames("team")
    assert label_names([idle], team="owner", project="epic") == LabelNames("owner", "epic")


def test_an_error_shows_twenty_labels_and_forty_letters_of_each():
    many = {f"label{number:02}" + "x" * 40: "a" for number in range(21)}

    with pytest.raises(UsageFileError) as raised:
        label_names([usage((many, at(1), at(2), 1.0))])

    parts = str(raised.value).rpartition(": ")[2].split(", ")
    assert (len(parts), {len(label) for label in parts}) == (20, {40})


def test_hours_have_six_decimals():
    spans = usage(({"team": "a"}, at(1), at(1) + 3600 / 7, 1.0))

    claims = pool_usages([spans], TEAM, QUARTER, [DEVICES])

    assert claims is not None
    (claim,) = claims
    assert claim.used_hours == Decimal("0.142857")


def test_a_span_that_only_touches_the_period_is_no_use_of_it():
    before = usage(({"team": "a"}, datetime(2026, 6, 30, tzinfo=UTC).timestamp(), at(1), 1.0))

    assert pool_usages([before], TEAM, QUARTER, [DEVICES]) == ()
