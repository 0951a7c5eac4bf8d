from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.change_price.fleet_hours import UsageMatcher, fleet_profile
from perfledger_cost_models.usage.device_spans import DeviceSpan, UsageFileError, usage_of

START = datetime(2026, 9, 1, tzinfo=UTC)
DAY = 86_400.0
TRAIN = UsageMatcher({"job": "train-*"}, "gpt:*", "p5.48xlarge/on_demand")
REST = UsageMatcher({"job": "*"}, "other:*", "p4d.24xlarge/on_demand")


def span(day, days=1.0, devices=8.0, **labels):
    start = START.timestamp() + day * DAY
    return DeviceSpan({"job": "train-a"} | labels, start, start + days * DAY, devices)


def profile(*spans, claims=(TRAIN,), period=None):
    return fleet_profile([usage_of("a.txt", "Slurm accounting", spans)], claims, period=period)


def test_a_steady_month_is_a_twelfth_of_a_year_without_a_range():
    found_fleet_profile = profile(*(span(day) for day in range(30)))

    (use,) = found_fleet_profile.uses
    assert use.counted_hours == pytest.approx(30 * 24 * 8)
    assert (use.low, use.mode, use.high) == pytest.approx((8 * 8760,) * 3)
    assert use.jobs == 30
    assert (found_fleet_profile.start, found_fleet_profile.end) == (
        START,
        START + timedelta(days=30),
    )
    assert (
        found_fleet_profile.source == "Slurm accounting, 2026-09-01 to 2026-10-01, scaled to a year"
    )


def test_days_that_differ_give_a_range_around_the_hours():
    found_fleet_profile = profile(*(span(day, devices=day % 3) for day in range(30)))
    (use,) = found_fleet_profile.uses

    assert use.workload == "gpt:*"
    assert use.low < use.mode < use.high
    assert found_fleet_profile.source.endswith("scaled to a year")


def test_a_job_counts_for_the_first_claim_that_matches_it():
    spans = (span(0, 10), span(0, 10, job="eval", devices=2.0))

    train, rest = profile(*spans, claims=(TRAIN, REST)).uses

    assert (train.counted_hours, rest.counted_hours) == (10 * 24 * 8, 10 * 24 * 2)


def test_every_label_of_a_claim_has_to_match():
    claim = UsageMatcher({"job": "train-*", "account": "nlp"}, "gpt:*", "x")

    found_fleet_profile = profile(
        span(0, 10, account="nlp"), span(0, 10, account="cv"), claims=(claim,)
    )

    assert (
        found_fleet_profile.uses[0].counted_hours
        == found_fleet_profile.unmatched_hours
        == 10 * 24 * 8
    )


def test_what_nobody_claims_is_counted_by_name_the_largest_first():
    spans = (span(0, 10), span(0, 10, job="b", devices=1.0), span(0, 10, job="c", devices=3.0))

    found_fleet_profile = profile(*spans)

    assert found_fleet_profile.unmatched == (("job=c", 720.0), ("job=b", 240.0))
    assert found_fleet_profile.unmatched_hours == 960.0


def test_a_claim_without_jobs_is_left_out_and_is_not_zero_hours():
    silent = UsageMatcher({"job": "none"}, "x", "y")

    found_fleet_profile = profile(span(0, 10), claims=(silent, TRAIN))

    assert [use.workload for use in found_fleet_profile.uses] == ["gpt:*"]
    assert found_fleet_profile.unused_matchers == (silent,)


def test_a_period_cuts_off_what_lies_outside():
    period = (START + timedelta(days=5), START + timedelta(days=15))

    found_fleet_profile = profile(span(0, 20), span(30), period=period)

    assert found_fleet_profile.uses[0].counted_hours == pytest.approx(10 * 24 * 8)
    assert found_fleet_profile.uses[0].mode == pytest.approx(8 * 8760)
    assert found_fleet_profile.days == 10


@pytest.mark.parametrize("days", [0.5, 6.9])
def test_less_than_a_week_cannot_stand_for_a_year(days):
    with pytest.raises(UsageFileError, match="export at least a week"):
        profile(span(0, days))


def test_a_period_that_ends_before_it_begins_is_refused():
    with pytest.raises(UsageFileError, match=r"0\.0 days"):
        profile(span(0, 20), period=(START, START - timedelta(days=9)))


def test_no_files_are_no_fleet():
    with pytest.raises(UsageFileError, match="at least one"):
        fleet_profile([], (TRAIN,))


def test_nothing_used_at_all_is_no_file():
    with pytest.raises(UsageFileError, match="no entries"):
        usage_of("a.txt", "Slurm accounting", [])


def test_the_range_is_students_prediction_interval_of_99_percent():
    (use,) = profile(*(span(day, devices=6.0 + 4 * (day % 2)) for day in range(14))).uses

    # Fourteen days of 144 or 240 hours: t(0.995, 13) = 3.01228, s = 49.8120.
    reach = 365 * 3.01228 * 49.8120 * (1 / 14 + 1 / 365) ** 0.5
    assert use.mode == pytest.approx(365 * 192)
    assert use.high - use.mode == pytest.approx(reach, rel=1e-5)
    assert use.mode - use.low == pytest.approx(reach, rel=1e-5)


def test_a_range_does_not_go_below_zero_hours():
    (use,) = profile(span(0, 1), span(13, 1, job="other"), span(0, 14, job="other")).uses

    assert use.low == 0.0
    assert use.mode == pytest.approx(365 * 8 * 24 / 14)


@pytest.mark.parametrize(("days", "is_by_week"), [(55, False), (56, True), (63, True)])
def test_from_eight_weeks_on_weeks_are_compared_not_days(days, is_by_week):
    (use,) = profile(*(span(day, devices=8.0 - day % 7) for day in range(days))).uses

    # Every week is the same, and no two days of one are.
    assert (use.high == pytest.approx(use.low)) is is_by_week


def test_a_period_of_exactly_a_week_is_enough():
    assert profile(span(0, 7)).uses[0].mode == pytest.approx(8 * 8760)


def test_only_the_ten_largest_jobs_that_nobody_claims_are_named():
    jobs = [span(0, 10, job=f"job{count}", devices=float(count)) for count in range(1, 12)]

    unmatched = profile(*jobs).unmatched

    assert [name for name, _ in unmatched] == [f"job=job{count}" for count in range(11, 1, -1)]


@pytest.mark.slow
@pytest.mark.parametrize("days", [14, 70])
def test_the_range_holds_the_coming_year_about_as_often_as_it_says(days):
    generator = np.random.default_rng(7)
    hits = 0
    for _ in range(200):
        used = generator.gamma(4.0, 2.0, days + 365)
        (use,) = profile(*(span(day, devices=used[day]) for day in range(days))).uses
        hits += use.low <= used[days:].sum() * 24 <= use.high

    assert 0.97 <= hits / 200 <= 1.0


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 20), st.floats(0.01, 5), st.integers(1, 64)), min_size=1),
    st.floats(0.5, 8),
)
def test_hours_are_linear_in_devices_and_none_is_lost(jobs, factor):
    frame = span(0, 25, job="frame", devices=1.0)
    spans = [span(day, days, devices) for day, days, devices in jobs]
    more = [DeviceSpan(one.labels, one.start, one.end, one.devices * factor) for one in spans]

    once, scaled = profile(frame, *spans), profile(frame, *more)

    total = sum(one.device_hours for one in (frame, *spans))
    assert once.uses[0].counted_hours + once.unmatched_hours == pytest.approx(total)
    assert scaled.uses[0].mode == pytest.approx(factor * once.uses[0].mode)
    assert scaled.uses[0].high == pytest.approx(factor * once.uses[0].high)


def test_files_with_a_time_between_them_are_refused():
    usages = [usage_of(f"{at}.txt", "Slurm accounting", [span(at, 10)]) for at in (0, 15)]

    with pytest.raises(UsageFileError, match="no data from 2026-09-11 to 2026-09-16: add the"):
        fleet_profile(usages, (TRAIN,))


def test_a_period_that_no_file_covers_to_its_end_is_refused():
    period = (START, START + timedelta(days=30))

    with pytest.raises(UsageFileError, match="no data from 2026-09-21 to 2026-10-01"):
        profile(span(0, 20), period=period)


def hourly_spans(days, *, without=range(0)):
    return [span(hour / 24, 1 / 24) for hour in range(days * 24) if hour // 24 not in without]


def test_missing_days_within_a_file_are_refused():
    with pytest.raises(UsageFileError, match="from 2026-09-30 23:00 to 2026-10-06 01:00 UTC"):
        profile(*hourly_spans(90, without=range(30, 35)))


def test_a_few_missing_days_are_named():
    fleet_profile = profile(*hourly_spans(90, without=range(30, 32)))

    (gap,) = fleet_profile.gaps
    assert gap.start_s == pytest.approx(START.timestamp() + (30 - 1 / 24) * DAY)
    assert profile(*hourly_spans(90)).gaps == ()
