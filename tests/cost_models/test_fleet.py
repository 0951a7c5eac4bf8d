from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.fleet import Claim, fleet_profile
from perfledger_cost_models.usage import Span, UsageFileError, usage_of

START = datetime(2026, 9, 1, tzinfo=UTC)
DAY = 86_400.0
TRAIN = Claim({"job": "train-*"}, "gpt:*", "p5.48xlarge/on_demand")
REST = Claim({"job": "*"}, "other:*", "p4d.24xlarge/on_demand")


def span(day, days=1.0, devices=8.0, **labels):
    start = START.timestamp() + day * DAY
    return Span({"job": "train-a"} | labels, start, start + days * DAY, devices)


def profile(*spans, claims=(TRAIN,), period=None):
    return fleet_profile([usage_of("a.txt", "Slurm accounting", spans)], claims, period=period)


def test_a_steady_month_is_a_twelfth_of_a_year_without_a_range():
    found = profile(*(span(day) for day in range(30)))

    (use,) = found.uses
    assert use.counted_hours == pytest.approx(30 * 24 * 8)
    assert (use.low, use.mode, use.high) == pytest.approx((8 * 8760,) * 3)
    assert use.jobs == 30
    assert (found.start, found.end) == (START, START + timedelta(days=30))
    assert found.source == "Slurm accounting, 2026-09-01 to 2026-10-01, scaled to a year"


def test_the_entries_are_those_of_the_configuration():
    (entry,) = profile(*(span(day, devices=day % 3) for day in range(30))).entries()

    assert entry.workload == "gpt:*"
    assert entry.low < entry.device_hours_per_year < entry.high
    assert entry.source.endswith("scaled to a year")


def test_a_job_counts_for_the_first_claim_that_matches_it():
    spans = (span(0, 10), span(0, 10, job="eval", devices=2.0))

    train, rest = profile(*spans, claims=(TRAIN, REST)).uses

    assert (train.counted_hours, rest.counted_hours) == (10 * 24 * 8, 10 * 24 * 2)


def test_every_label_of_a_claim_has_to_match():
    claim = Claim({"job": "train-*", "account": "nlp"}, "gpt:*", "x")

    found = profile(span(0, 10, account="nlp"), span(0, 10, account="cv"), claims=(claim,))

    assert found.uses[0].counted_hours == found.unclaimed_hours == 10 * 24 * 8


def test_what_nobody_claims_is_counted_by_name_the_largest_first():
    spans = (span(0, 10), span(0, 10, job="b", devices=1.0), span(0, 10, job="c", devices=3.0))

    found = profile(*spans)

    assert found.unclaimed == (("job=c", 720.0), ("job=b", 240.0))
    assert found.unclaimed_hours == 960.0


def test_a_claim_without_jobs_is_left_out_and_is_not_zero_hours():
    silent = Claim({"job": "none"}, "x", "y")

    found = profile(span(0, 10), claims=(silent, TRAIN))

    assert [use.workload for use in found.uses] == ["gpt:*"]
    assert found.unmatched == (silent,)
    assert len(found.entries()) == 1


def test_a_period_cuts_off_what_lies_outside():
    period = (START + timedelta(days=5), START + timedelta(days=15))

    found = profile(span(0, 20), span(30), period=period)

    assert found.uses[0].counted_hours == pytest.approx(10 * 24 * 8)
    assert found.uses[0].mode == pytest.approx(8 * 8760)
    assert found.days == 10


@pytest.mark.parametrize("days", [0.5, 6.9])
def test_less_than_a_week_cannot_stand_for_a_year(days):
    with pytest.raises(UsageFileError, match="export a week at least"):
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
    more = [Span(one.labels, one.start, one.end, one.devices * factor) for one in spans]

    once, scaled = profile(frame, *spans), profile(frame, *more)

    total = sum(one.device_hours for one in (frame, *spans))
    assert once.uses[0].counted_hours + once.unclaimed_hours == pytest.approx(total)
    assert scaled.uses[0].mode == pytest.approx(factor * once.uses[0].mode)
    assert scaled.uses[0].high == pytest.approx(factor * once.uses[0].high)
